"""BLEU, against values worked out by hand."""

from __future__ import annotations

import time
from math import exp

import pytest

from pytest_tablebench import score


@pytest.mark.parametrize(
    ("prediction", "references", "value"),
    [
        ("a b c d e", ["a b c d e"], 1.0),
        # 4 of 5 tokens, 3 of 4 pairs, 2 of 3 and 1 of 2 longer runs: the fourth root of 1/5.
        ("a b c d x", ["a b c d e"], 0.2**0.25),
        # Every token matches, and a fifth of the reference is missing.
        ("a b c d", ["a b c d e"], exp(1 - 5 / 4)),
        # A token counts no more often than a reference has it: 4/6, 3/5, 2/4, 1/3.
        ("a b c d d d", ["a b c d"], (4 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25),
        ("x y z w", ["a b c d", "x y z w"], 1.0),
        # Punctuation is a token, except points and commas inside numbers.
        ("3.5 (1,000) b c", ["3.5 ( 1,000 ) b c"], 1.0),
        ("A b c d", ["a b c d"], 0.0),
        ("a b c", ["a b c"], 0.0),  # no run of four
        ("a b c x", ["a b c d"], 0.0),
        ("", ["a b c d"], 0.0),
        ("a b c d", [""], 0.0),
        ("a b c d", [], 0.0),
    ],
)
def test_bleu_agrees_with_values_worked_out_by_hand(
    prediction: str, references: list[str], value: float
) -> None:
    result = score("bleu", prediction, references)
    assert result.value == pytest.approx(value, abs=1e-12)
    assert dict(result.parts) == {"bleu": result.value}


@pytest.mark.parametrize("text", ["a " * 50_000, "(" * 100_000, "1,." * 50_000])
def test_long_texts_are_scored_quickly(text: str) -> None:
    start = time.process_time()
    assert 0 <= score("bleu", text, ["a b c d e"]).value <= 1
    assert time.process_time() - start < 20
