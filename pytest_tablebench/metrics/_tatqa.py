"""TAT-QA's scores (spec: other_benchmarks.md): exact match and F1 of texts, numbers and scales."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import partial
from math import isnan
from typing import Any, NamedTuple

from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._f1 import f_measure

SCALES = ("thousand", "million", "billion", "percent")

_FACTORS = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
    "percent": 0.01,
}
_REMOVED = str.maketrans("", "", "'\"\\$€£¥%(),[]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?|[+-]?\.\d+")
_WORD_AFTER = re.compile(r"[\d.]\s?([A-Za-z]+)")
_BRACKETS = re.compile(r"\([\d.\s]+\)")
_PERCENT = re.compile(r"\d+\s*%|\d+\.\d+\s*%")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)

_ANSWER = re.compile(r"^\W*(?:final )?answer\W*:\s*(.*)$", re.IGNORECASE | re.MULTILINE)
_SCALE = re.compile(r"^\W*scale\W*:\s*(.*)$", re.IGNORECASE | re.MULTILINE)


class ScaledAnswer(NamedTuple):
    """A model's answer: its texts, and the scale it named or ""."""

    texts: Sequence[str]
    scale: str


def tatqa(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    answer_type: str = "span",
    scale: str = "",
    **_: Any,
) -> Score:
    """Return exact match (the score) and F1 of a reply with the lines `Answer:` and `Scale:`.

    Items of an answer are separated by ` | `. `answer_type` is span, multi-span, count or
    arithmetic. `scale` is the expected scale, "" for none; the part `scale` is 1 if the reply's
    scale equals it.
    """
    reply = read_reply(str(prediction))
    em, f1 = em_and_f1(list(map(str, references)), scale, answer_type, reply)
    return Score(em, {"em": em, "f1": f1, "scale": float(reply.scale == scale)}, "em")


def read_reply(text: str) -> ScaledAnswer:
    """Return answer and scale of a reply: the last line with each marker.

    Without the marker `Answer:` the first line that is not blank is the answer.
    """
    answers, scales = _ANSWER.findall(text), _SCALE.findall(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    answer = answers[-1] if answers else (lines[0] if lines else "")
    words = re.findall(r"[a-z]+", scales[-1].lower()) if scales else []
    named = [scale for scale in SCALES if scale in words or f"{scale}s" in words]
    items = [item.strip() for item in answer.strip().strip("*`").split(" | ")]
    return ScaledAnswer([item for item in items if item], named[0] if named else "")


def em_and_f1(
    expected: Sequence[str], scale: str, answer_type: str, reply: ScaledAnswer
) -> tuple[float, float]:
    """Return exact match and F1 of one question, as the official evaluator does.

    F1 compares sets of tokens and is rounded to two decimals.
    """
    if not reply.texts:
        return 0.0, 0.0
    gold = _normalized(_joined(expected, scale))
    candidates = [_joined(reply.texts, reply.scale)]
    if len(reply.texts) == 1 and not reply.scale and "%" not in reply.texts[0]:
        value = _value(reply.texts[0]) if _is_number(reply.texts[0]) else None
        if value is not None:
            candidates.append(f"{value:.4f}")
    scores = []
    for candidate in candidates:
        text = _normalized(candidate)
        em = float(text == gold)
        scores.append((em, _f1(text, gold) if answer_type in {"span", "multi-span"} else em))
    return max(scores)


def _joined(texts: Sequence[str], scale: str) -> str:
    """Return the texts of one side as one string (rule 2 of the spec)."""
    return " ".join(map(partial(_with_scale, scale=scale), sorted(texts)))


def _with_scale(text: str, scale: str) -> str:
    suffix = f" {scale}" if scale else ""
    if not _is_number(text):
        return text + suffix
    value = _value(text)
    if value is None:
        return text + suffix
    if "%" in text:
        return f"{value:.4f}"
    return f"{round(value, 2) * _FACTORS.get(scale, 1.0):.4f}"


def _is_number(text: str) -> bool:
    words = text.translate(_REMOVED).split()
    if not words:
        return False
    try:
        number = float(words[0])
    except ValueError:
        return False
    return not isnan(number) and (len(words) < 2 or words[1] in _FACTORS)


def _value(text: str) -> float | None:
    """Return the value of a text with a number; None if the number does not begin with a digit.

    It is an int without a decimal point, because the texts 2018 and 2018.0 differ.
    """
    bare = text.translate(_REMOVED)
    match = _NUMBER.search(bare)
    if match is None or match[0].lstrip("+-").startswith("."):
        return None
    number = float(match[0]) if "." in match[0] else int(match[0])
    word = _WORD_AFTER.search(text)
    factor = _FACTORS.get(word[1].lower(), 1) if word else 1
    sign = -1 if _BRACKETS.search(text) else 1
    share = 0.01 if _PERCENT.search(text) else 1
    return round(number * factor * sign * share, 4)


def _normalized(text: str) -> str:
    """Return a text with its tokens in the form that is compared (rule 4 of the spec)."""
    tokens = map(_normalized_token, text.lower().split(" "))
    return " ".join(token for token in tokens if token)


def _normalized_token(token: str) -> str:
    if _is_number(token):
        value = _value(token)
        compared = token if value is None else str(value)
    else:
        compared = token.translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", compared).split())


def _f1(prediction: str, gold: str) -> float:
    predicted, expected = set(prediction.split()), set(gold.split())
    return round(f_measure(len(predicted & expected), len(expected), len(predicted)), 2)
