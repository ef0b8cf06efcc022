"""TReB's metrics without a judge: EM, BLEU and ROUGE-L (spec: treb.md section 5).

If the answer has a Chinese character, both sides are split into Chinese words first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import isclose
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score, needs
from pytest_tablebench.metrics._bleu import sentence_bleu
from pytest_tablebench.metrics._rouge import common_length, rouge_l
from pytest_tablebench.metrics._rouge_package import MAX_LETTERS, f_measures, is_affordable
from pytest_tablebench.metrics.chinese import chinese_words, is_chinese


def treb_em(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    tolerance: float | None = None,
    **_: Any,
) -> Score:
    """Return 1 if prediction and answer are the same, else 0.

    `reference` compares how often each letter from A to Z occurs, for options such as `B, D`; texts
    without capitals are all equal. `fixed` compares the stripped texts, and with a `tolerance` the
    values of two numbers.
    """

    def same(prediction: str, reference: str) -> float:
        if compat == "reference":
            return float(_capitals(prediction) == _capitals(reference))
        return float(
            prediction.strip() == reference.strip() or _near(prediction, reference, tolerance)
        )

    return _best("em", same, prediction, references)


@needs("jieba", "sacrebleu")
def treb_bleu(prediction: Processed, references: Sequence[Processed], **_: Any) -> Score:
    """Return sacrebleu's sentence BLEU, from 0 to 1."""
    return _best("bleu", _sentence_bleu, prediction, references)


@needs("jieba")
def treb_rouge(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return the F-measure of ROUGE-L: of Chinese words if the answer is Chinese, else of stems.

    For English, `reference` calls the rouge-score package; `fixed` computes the same number.
    """
    compare = _package_rouge_l if compat == "reference" else _rouge_l
    return _best("rougeL", compare, prediction, references)


def _best(
    part: str,
    compare: Callable[[str, str], float],
    prediction: Processed,
    references: Sequence[Processed],
) -> Score:
    text = str(prediction)
    value = max((compare(text, str(reference)) for reference in references), default=0.0)
    return Score(value, {part: value}, part)


def _capitals(text: str) -> Counter[str]:
    return Counter(re.findall("[A-Z]", text))


def _near(prediction: str, reference: str, tolerance: float | None) -> bool:
    if tolerance is None:
        return False
    try:
        return isclose(float(prediction), float(reference), rel_tol=0, abs_tol=tolerance)
    except ValueError:
        return False


def _sentence_bleu(prediction: str, answer: str) -> float:
    if is_chinese(answer):
        prediction, answer = (" ".join(chinese_words(text)) for text in (prediction, answer))
    return sentence_bleu(prediction, answer)


def _package_rouge_l(prediction: str, answer: str) -> float:
    if is_chinese(answer) or not is_affordable(answer, prediction):
        return _rouge_l(prediction, answer)
    return f_measures(("rougeL",), answer, prediction, stemmed=True)["rougeL"]


def _rouge_l(prediction: str, answer: str) -> float:
    if is_chinese(answer):
        prediction_tokens, answer_tokens = _chinese_tokens(prediction), _chinese_tokens(answer)
        if not prediction_tokens or not answer_tokens:
            return 0.0
        shared = common_length(answer_tokens, prediction_tokens)
        precision, recall = shared / len(prediction_tokens), shared / len(answer_tokens)
        # The published definition avoids a denominator of 0 in this way, and never reaches 1.
        return 2.0 * (precision * recall / (precision + recall + 1e-8))
    return rouge_l(_stems(answer), _stems(prediction))


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in re.findall("[a-z0-9]+", text.lower())]


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    """Return the stem; words of up to three or over `MAX_LETTERS` letters stay unchanged."""
    return _stemmer().stem(word) if 3 < len(word) <= MAX_LETTERS else word


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


# Ends of Chinese sentences. The published definition splits at them before it splits at blanks.
# A blank line therefore counts as a word.
_ENDS = (
    re.compile(r"([。！？?])([^”’])"),
    re.compile(r"(\.{6})([^”’])"),
    re.compile(r"(…{2})([^”’])"),
    re.compile(r"([。！？?][”’])([^，。！？?])"),
)


def _chinese_tokens(text: str) -> list[str]:
    text = " ".join(chinese_words(text))
    for pattern in _ENDS:
        text = pattern.sub("\\1\n\\2", text)
    lines = text.rstrip().split("\n")
    return [word for line in lines if line for word in " ".join(line.split()).split(" ")]
