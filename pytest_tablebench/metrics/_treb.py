"""TReB's metrics: EM, BLEU, ROUGE-L and a judge's score (spec: treb.md section 5).

The judge is asked last, so that without it an answer keeps its other scores.

If the answer has a Chinese character, both sides are split into Chinese words first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isclose, isnan
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics._base import Judgement, Processed, Score, judged_with, needs
from pytest_tablebench.metrics._bleu import sentence_bleu
from pytest_tablebench.metrics._realhit import UNREADABLE
from pytest_tablebench.metrics._rouge import common_length, rouge_l
from pytest_tablebench.metrics._rouge_package import MAX_LETTERS, f_measures, is_affordable
from pytest_tablebench.metrics.chinese import chinese_words, is_chinese
from pytest_tablebench.metrics.judge_reply import (
    HIGHEST,
    published_judgement,
    read_judgement,
    reference_score,
)
from pytest_tablebench.metrics.replies import oddities
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers.content import Message


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


def _near(prediction: str, reference: str | float, tolerance: float | None) -> bool:
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


JUDGED = "llm_score"
SCORES = ("em", "em_letters", "bleu", "rougeL", JUDGED)

TOLERANCE = 0.005
"""Largest difference of a number from a sample's `number_answer`: half of the second decimal."""

JUDGE = (
    "You mark a student's answer to a question, with the true answer beside it. Give marks by what "
    "the answer means and whether it is correct, not by how it is worded; a number that differs "
    "from the true one in its last decimals alone loses nothing. Give 0 for an answer that is "
    "wrong throughout, 10 for one that is wholly right, and a whole number between them for one "
    "that is right in part. Say in a few sentences why, and end with the marks alone in \\boxed{}."
)


def em_letters(prediction: Processed, references: Sequence[Processed], **_: Any) -> Score:
    """Return 1 if each letter from A to Z occurs equally often in both: the published code's EM.

    It is meant for options such as `B, D`; texts without capitals are all equal.
    """
    share = treb_em(prediction, references, compat="reference").value
    return Score(share, {"em_letters": share}, "em_letters")


@needs("jieba", "sacrebleu")
@judged_with(temperature=0.2, max_tokens=4096)
def treb(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    question: str = "",
    scores: Sequence[str] = SCORES,
    main: str = "em",
    number: float | None = None,
    **_: Any,
) -> Judgement:
    """Score an answer in each way that its subtask names.

    The score is `llm_score`, a tenth of the judge's marks. Without a judge, or for an empty answer,
    it is the part `main`. If a judge gives no marks, the answer keeps its other parts, the flags
    say why, and `llm_score_or_0` has the 0 of the published code. `reference` reads the judge's
    reply as the published code does.

    `scores` are some of `SCORES`. `number` is the answer as a number; a prediction that is a number
    may equal it instead. The judge receives the `question` as the model did.
    """
    text = str(prediction)
    parts: dict[str, float] = {}
    for name in scores:
        if name != JUDGED:
            parts[name] = _PLAIN[name](prediction, references, compat="fixed").value
    if "em" in parts and number is not None and _near(text.replace(",", ""), number, TOLERANCE):
        parts["em"] = 1.0
    # For such answers the published code silently counts 0, or reads the model's thinking.
    flags = [*oddities(text)] if text.strip() else ["empty_prediction"]
    if JUDGED in scores:
        if not text.strip():
            parts[f"{JUDGED}_or_0"] = 0.0
        else:
            try:
                reply = yield Ask(judge_messages(question, str(references[0]), text))
            except NotJudgedError as error:
                if not error.no_judge:
                    raise NotJudgedError(str(error), parts=parts, flags=flags) from None
            else:
                flags += _add_marks(parts, reply.text, text, compat)
                main = JUDGED
    if main not in parts:
        raise NotJudgedError(
            "the judge's reply has no marks from 0 to 10",
            reason=UNREADABLE,
            parts=parts,
            flags=flags,
        )
    return Score(parts[main], parts, main, tuple(flags))


_PLAIN: Mapping[str, Callable[..., Score]] = {
    "em": treb_em,
    "em_letters": em_letters,
    "bleu": treb_bleu,
    "rougeL": treb_rouge,
}


def _add_marks(
    parts: dict[str, float], reply: str, prediction: str, compat: Compat
) -> tuple[str, ...]:
    """Add the judge's marks to the parts; return flags of the reply, with why marks are missing."""
    read = published_judgement if compat == "reference" else read_judgement
    judgement = read(reply, prediction)
    marks = judgement.score
    if compat == "reference":
        marks = reference_score(reply, prediction)
        if isnan(marks):  # the mean over answers must not be NaN
            marks = None
    parts[f"{JUDGED}_or_0"] = (marks or 0.0) / HIGHEST
    if marks is not None:
        parts[JUDGED] = marks / HIGHEST
    status = () if judgement.status == "ok" else (judgement.status,)
    return tuple(f"judge_{flag}" for flag in (*oddities(reply), *status))


def judge_messages(question: str, answer: str, prediction: str) -> tuple[Message, ...]:
    """Return the messages to the judge."""
    return (
        Message("system", JUDGE),
        Message(
            "user",
            f"Question:\n{question}\n\nTrue answer:\n{answer}\n\nStudent's answer:\n{prediction}",
        ),
    )
