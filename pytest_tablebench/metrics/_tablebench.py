"""TableBench's short answers (spec: torr.md sections 7.2, 8.1 and 9, row 22)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._numbers import canonical_number, numbers_as_words
from pytest_tablebench.metrics._postprocess import plain_text, run_chain
from pytest_tablebench.metrics._rouge import rouge

_WORD = re.compile(r"[a-z0-9]")


def tablebench(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return ROUGE-L of an answer, or whether it has the expected numbers.

    `reference`: ROUGE on the texts as they are. The dataset's chain has removed sign, point and
    percent sign from numbers, so `3.5%` and `35` are equal.

    `fixed`: if a reference is a number or a list of numbers (separated by comma and space), the
    answer scores 1 if it consists of equal numbers in the same order, else 0. `1,234.0` equals
    `1234`; signs, decimals and percent signs matter. Any other reference is compared by ROUGE-L
    after `plain_text`, where each number is one word that equals only the same number. A reference
    without a word for ROUGE (`A`, `–`, other scripts) must equal the answer except for case. The
    best reference counts. `numeric` is 1 if numbers were compared; the other parts are those of
    ROUGE for every answer.
    """
    if compat == "reference":
        return rouge(prediction, references, compat=compat)
    answer = str(prediction)
    reference_texts = [str(reference) for reference in references]
    shown, *plain = (plain_text(numbers_as_words(text)) for text in (answer, *reference_texts))
    overlap = rouge(shown, plain, compat=compat)
    values, texts, numeric = [0.0], [], 0.0
    for text, words in zip(reference_texts, plain, strict=True):
        numbers = _numbers(text)
        if numbers is not None:
            numeric = 1.0
            values.append(float(_same_numbers(answer, numbers)))
        elif _WORD.search(words):
            texts.append(words)
        else:
            values.append(float(_folded(answer) == _folded(text) != ""))
    if texts:
        overlap_score = overlap if texts == plain else rouge(shown, texts, compat=compat)
        values.append(overlap_score.value)
    return Score(max(values), {"numeric": numeric, **overlap.parts})


def _folded(text: str) -> str:
    return str(run_chain(("lower_case", "fix_whitespace"), text))


def _numbers(text: str) -> list[str] | None:
    """Return the numbers a text consists of, in canonical form, or None for other texts."""
    items = [_number(item) for item in text.split(", ")]
    return [item for item in items if item is not None] if None not in items else None


def _number(text: str) -> str | None:
    text = text.strip()
    number = canonical_number(text.removesuffix("%").rstrip())
    if number is None:
        return None
    return f"{number}%" if text.endswith("%") else number


def _same_numbers(answer: str, numbers: list[str]) -> bool:
    # "1952,1953" contains two numbers, "1,952" one: its comma separates thousands.
    answer_numbers = _numbers(answer)
    return numbers == (
        _numbers(answer.replace(",", ", ")) if answer_numbers is None else answer_numbers
    )
