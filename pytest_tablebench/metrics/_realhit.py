"""RealHiTBench's scores of answers in words and numbers (spec: realhitbench.md section 3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score, needs
from pytest_tablebench.metrics._bleu import corpus_bleu
from pytest_tablebench.metrics._normal import normalized, numbers_as_words
from pytest_tablebench.metrics._plain_words import dates_as_words
from pytest_tablebench.metrics._postprocess import plain_text, run_chain
from pytest_tablebench.metrics._rouge import rouge_l, rouge_l_of_texts
from pytest_tablebench.metrics.realhit_numbers import (
    Write,
    asks_percentage,
    near_words,
    plain_signs,
)

_DECIMAL = re.compile(r"\b\d+\.\d+\b")

# Chinese and Japanese have no blanks: each of their characters is a token.
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")

# `2014-12-06`, `2007/08`, `A-17`, `12:30`: parts joined by marks, with a digit in one of them.
_CODE = re.compile(
    r"(?<![\w.,])(?<![^\w\s][-/:])(?:[^\W_]++(?:[-/:\u2010-\u2013][^\W_]++)++"
    r"|[^\W_]++(?:\.[^\W_]++){2,}+)(?!\w|[.,][0-9]|%)"
)
_RANGE = re.compile(r"(?<=[0-9])\s{1,3}[-\u2010-\u2013]\s{1,3}(?=[0-9])")
_JOINTS = dict.fromkeys("-\u2010\u2011\u2012\u2013", "hyphen") | {
    "/": "slash",
    ":": "colon",
    ".": "dot",
}


@needs("sacrebleu")
def realhit(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    question: str = "",
    decimal_comma: bool = False,
    **_: Any,
) -> Score:
    """Return exact match (the score), word F1, ROUGE-L and, in `reference`, SacreBLEU of an answer.

    It scores fact checking, numerical reasoning and structure comprehending. Each part is from 0 to
    1; with several references, each part uses its best one.

    `reference`: decimals are rounded to one place, then case, marks and articles are removed, with
    signs, points and percent signs among them: `-3.2` equals `32`. Parts are rounded as published.

    `fixed`: each number becomes one word for its value, equal within the rounding that the
    reference shows, so signs, points and percent signs count. Dates and codes become one word, too.
    A percent sign may be missing if the `question` asks for a percentage. A comma separates words,
    unless the table has decimal commas (`decimal_comma`). A text keeps its characters if it would
    lose all of them. ROUGE-L uses the letters of all scripts.
    """
    answer = str(prediction)
    # Without a reference no answer is right, but the score still has its parts.
    texts = [str(text) for text in references or [""]]
    if compat == "reference":
        predicted = published_form(answer)
        parts_by_reference = [_reference_parts(published_form(text), predicted) for text in texts]
    else:
        any_sign = asks_percentage(question)
        answer = _marked(answer, decimal_comma=decimal_comma)
        parts_by_reference = []
        for text in texts:
            marked = _marked(text, decimal_comma=decimal_comma)
            write = near_words(marked, any_sign=any_sign)
            parts_by_reference.append(_fixed_parts(_words(marked, write), _words(answer, write)))
    best = {
        name: max(parts[name] for parts in parts_by_reference) for name in parts_by_reference[0]
    }
    return Score(best["em"], best, "em")


@needs("sacrebleu")
def realhit_analysis(
    prediction: Processed, references: Sequence[Processed], **context: Any
) -> Score:
    """Return the parts of `realhit`; ROUGE-L is the score, as for data analysis."""
    parts = realhit(prediction, references, **context).parts
    return Score(parts["rouge_l"], parts, "rouge_l")


def published_form(text: str) -> str:
    """Return the text that the published code compares."""
    return plain_text(_DECIMAL.sub(lambda match: str(round(float(match[0]), 1)), text))


def _marked(text: str, *, decimal_comma: bool) -> str:
    """Return a text in which each date and each code is one word."""
    text = plain_signs(normalized("NFC", text), decimal_comma=decimal_comma)
    text = _RANGE.sub("-", dates_as_words(text.lower()))
    return _CODE.sub(_code, text)


def _code(match: re.Match[str]) -> str:
    if not any(map(str.isdigit, match[0])):
        return match[0]
    return "".join(_JOINTS.get(character, character) for character in match[0])


def _words(text: str, write: Write) -> str:
    words = numbers_as_words(text, write).replace(",", " ")
    # The grade `A` is no article, and a single mark can be an answer.
    return plain_text(words) or str(run_chain(("lower_case", "fix_whitespace"), text))


def _reference_parts(reference: str, prediction: str) -> dict[str, float]:
    prediction = prediction or "#"  # an empty prediction must not equal an empty reference
    overlap = rouge_l_of_texts(reference, prediction, "reference")
    return {
        "em": float(reference == prediction),
        "f1": _percent(_word_f1(reference, prediction)),
        "rouge_l": _percent(overlap),
        "sacrebleu": _percent(corpus_bleu([prediction], [reference])),
    }


def _fixed_parts(reference: str, prediction: str) -> dict[str, float]:
    return {
        "em": float(reference == prediction != ""),
        "f1": _word_f1(reference, prediction),
        "rouge_l": rouge_l(_TOKEN.findall(reference), _TOKEN.findall(prediction)),
    }


def _percent(share: float) -> float:
    """Round a share so that its percentage has two decimals."""
    return round(100 * share, 2) / 100


def _word_f1(reference: str, prediction: str) -> float:
    reference_words, prediction_words = reference.split(), prediction.split()
    same = (Counter(reference_words) & Counter(prediction_words)).total()
    return 2 * same / (len(reference_words) + len(prediction_words)) if same else 0.0


def realhit_structure(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    structure: str = "both",
    **facts: Any,
) -> Score:
    """Score the answers about a plain table and about its rearranged twin, in this order.

    `structure` selects the score. `self`: the second answer equals the first, right or wrong (the
    published code). `gold`: the second equals the gold answer. `both`: each of them equals it. With
    a gold answer all three are parts. The other parts are those of `realhit` for the selected
    comparison; of two answers the lower counts.
    """
    answers = prediction if isinstance(prediction, list) else [prediction]
    first, second = answers[0], answers[-1]
    scored = {"self": [realhit(second, [first], compat=compat, **facts)]}
    if references:
        gold = [realhit(answer, references, compat=compat, **facts) for answer in (first, second)]
        scored |= {"gold": gold[1:], "both": gold}
    counted = scored[structure]
    parts = {name: min(score.parts[name] for score in counted) for name in counted[0].parts}
    parts |= {
        f"em_{name}": min(score.parts["em"] for score in scores) for name, scores in scored.items()
    }
    return Score(parts["em"], parts, "em")
