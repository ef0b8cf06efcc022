"""Metrics of labels: TabFact and TURL (spec: torr.md sections 8.4, 8.5 and 9)."""

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


def turl(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return micro F1 (the score), macro F1 and accuracy of one column's types.

    `prediction` and each reference are lists of types; the first reference has the gold types. It
    equals `turl_batch` on this column.
    """
    return turl_batch([prediction], [references], compat=compat)


def turl_batch(
    predictions: Sequence[Processed],
    references: Sequence[Sequence[Processed]],
    *,
    compat: Compat = "fixed",
    **_: Any,
) -> Score:
    """Return micro F1 (the score), macro F1 and accuracy of a batch of columns.

    `predictions` has shape (columns,) of lists of types, `references` shape (columns, accepted
    lists), of which the first is gold. A label counts once per column, even if named repeatedly.
    Micro F1 is `2 TP / (2 TP + FP + FN)` over all labels and columns, macro F1 the mean over labels
    of the same per label; 0 without a hit.

    `reference`: the labels are the batch's gold types; a predicted type outside them is ignored.
    `fixed`: every predicted type is a label, so wrong ones cost precision. Further types of a
    vocabulary have no F1 and do not count.

    Accuracy is the share of columns whose list equals an accepted one, including order and
    repetitions, in both modes.
    """
    predicted = [_labels(prediction) for prediction in predictions]
    expected = [[_labels(labels) for labels in accepted] for accepted in references]
    correct = sum(labels in accepted for labels, accepted in zip(predicted, expected, strict=True))
    gold = [set(accepted[0]) if accepted else set[str]() for accepted in expected]
    named = [set(labels) for labels in predicted]
    labels = set[str]().union(*gold)
    if compat == "fixed":
        # An empty reply, or two commas in a row, yields an empty text, which is no type.
        labels = labels.union(*named) - {""}
    micro, by_label = label_f1(named, gold, sorted(labels))
    parts = {
        "f1_micro": micro,
        "accuracy": correct / len(predicted) if predicted else 0.0,
        "f1_macro": sum(by_label.values()) / len(by_label) if by_label else 0.0,
    }
    return Score(parts["f1_micro"], parts, "f1_micro")


def _labels(value: Processed) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]
