"""F1 of counts, and of labels over a batch (spec: torr.md sections 8.1, 8.2, 8.4 and 8.5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def f_measure(hits: int, reference: int, prediction: int) -> float:
    """Return F1 from the number of shared items and the sizes of both sides; 0 without a hit."""
    if not hits:
        return 0.0
    # The published order of operations, so that results are equal to the last digit.
    precision, recall = hits / prediction, hits / reference
    return 2 * precision * recall / (precision + recall)


def label_f1(
    predicted: Sequence[Collection[str]], gold: Sequence[Collection[str]], labels: Iterable[str]
) -> tuple[float, dict[str, float]]:
    """Return micro F1, and F1 by label; both are 0 without a hit.

    The labels of each item, predicted and gold, have shape (items,). Only `labels` count:
    predicting another label costs recall, but no precision.
    """
    hits = sizes = 0
    scores = {}
    for label in labels:
        hit = sum(
            label in labels_of_item and label in other
            for labels_of_item, other in zip(predicted, gold, strict=True)
        )
        size = sum(label in labels_of_item for labels_of_item in (*predicted, *gold))
        scores[label] = 2 * hit / size if hit else 0.0
        hits, sizes = hits + hit, sizes + size
    return (2 * hits / sizes if hits else 0.0), scores
