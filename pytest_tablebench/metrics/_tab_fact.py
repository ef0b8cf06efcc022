"""Accuracy and F1 of TabFact (spec: torr.md section 8.4 and 9, row 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score


def tab_fact(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Accuracy and F1 of one verdict; the score is accuracy in `fixed`, micro F1 in `reference`.

    On a single example the two agree; they part in `tab_fact_batch`.
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

    The label set holds only labels that occur among the references: a prediction outside it
    costs recall and not precision, so micro F1 can exceed accuracy. Without a denominator a
    label's F1 is 0.
    """
    given = [str(prediction) for prediction in predictions]
    wanted = [[str(reference) for reference in accepted] for accepted in references]
    gold = [accepted[0] if accepted else "" for accepted in wanted]
    correct = sum(text in accepted for text, accepted in zip(given, wanted, strict=True))
    parts: dict[str, float] = {}
    hits = misses = false_alarms = 0
    labels = sorted(set(gold))
    for label in labels:
        pairs = list(zip(given, gold, strict=True))
        hit = sum(text == label and truth == label for text, truth in pairs)
        miss = sum(text != label and truth == label for text, truth in pairs)
        alarm = sum(text == label and truth != label for text, truth in pairs)
        parts[f"f1_{label}"] = _f1(hit, miss, alarm)
        hits, misses, false_alarms = hits + hit, misses + miss, false_alarms + alarm
    macro = sum(parts.values()) / len(parts) if parts else 0.0
    parts = {
        "accuracy": correct / len(given) if given else 0.0,
        "f1_micro": _f1(hits, misses, false_alarms),
        "f1_macro": macro,
    } | parts
    part = "f1_micro" if compat == "reference" else "accuracy"
    return Score(parts[part], parts, part)


def _f1(hit: int, miss: int, alarm: int) -> float:
    return 2 * hit / (2 * hit + miss + alarm) if hit else 0.0
