"""Accuracy and F1 of TabFact (spec: torr.md section 8.4 and 9, row 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._f1 import label_f1


def tab_fact(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return accuracy and F1 of one verdict; the score is accuracy, in `reference` micro F1.

    For a single example the two are equal; they differ in `tab_fact_batch`.
    """
    return tab_fact_batch([prediction], [references], compat=compat)


def tab_fact_batch(
    predictions: Sequence[Processed],
    references: Sequence[Sequence[Processed]],
    *,
    compat: Compat = "fixed",
    **_: Any,
) -> Score:
    """Return accuracy, micro and macro F1 and F1 per label over a batch of verdicts.

    The labels are those that occur among the references. A prediction outside them costs recall and
    not precision, so micro F1 can exceed accuracy. F1 with a zero denominator is 0.
    """
    texts = [str(prediction) for prediction in predictions]
    expected = [[str(reference) for reference in accepted] for accepted in references]
    gold = [accepted[0] if accepted else "" for accepted in expected]
    correct = sum(text in accepted for text, accepted in zip(texts, expected, strict=True))
    micro, by_label = label_f1(
        [{text} for text in texts], [{text} for text in gold], sorted(set(gold))
    )
    parts = {
        "accuracy": correct / len(texts) if texts else 0.0,
        "f1_micro": micro,
        "f1_macro": sum(by_label.values()) / len(by_label) if by_label else 0.0,
    } | {f"f1_{label}": value for label, value in by_label.items()}
    part = "f1_micro" if compat == "reference" else "accuracy"
    return Score(parts[part], parts, part)
