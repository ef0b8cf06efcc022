"""Made-up scores for the analyses, and the figures in their results."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from pytest_tablebench import analyse

SERIALIZERS = ("csv", "html", "json")
PERTURBATIONS = ("none", "shuffle_rows", "transpose")
RESAMPLES = 30


def record(score, *, model="m", dataset="d", example="e", serializer="csv", perturbation="none"):
    return {
        "model": model,
        "dataset": dataset,
        "example_id": example,
        "serializer": serializer,
        "perturbation": perturbation,
        "score": score,
    }


def row(scores, serializers=("csv", "html", "json", "markdown"), **names):
    """Return one example's records under several serializers."""
    return [
        record(score, serializer=serializer, **names)
        for serializer, score in zip(serializers, scores, strict=False)
    ]


def models(**scores):
    """Return records of one configuration: scores by model, one per example."""
    return [
        record(score, model=model, example=f"e{number}")
        for model, row in scores.items()
        for number, score in enumerate(row)
    ]


def few_draws(records, **more):
    """Return parameters with few draws, for tests of other parts."""
    draw = random.Random(1)
    examples: dict[str, set[str]] = {}
    for record in records:
        examples.setdefault(record["dataset"], set()).add(record["example_id"])
    order = {dataset: sorted(examples[dataset]) for dataset in sorted(examples)}
    everything = sum(map(len, order.values()))
    return {
        "example_order": order,
        "resamples": {
            dataset: [draw.choices(range(len(ids)), k=len(ids)) for _ in range(RESAMPLES)]
            for dataset, ids in order.items()
        },
        "resamples_pooled": [
            draw.choices(range(everything), k=everything) for _ in range(RESAMPLES)
        ],
        "growth": {dataset: {} for dataset in order},
        "points": [],
        **more,
    }


def quick(records, **params):
    return analyse(records, few_draws(records, **params))


TENTHS = st.integers(0, 10).map(lambda number: number / 10)


@st.composite
def grids(draw, scores=TENTHS, models=(1, 3), datasets=(1, 2), perturbations=(1, 3)):
    """Draw records of small full grids, cell by cell."""
    serializers = SERIALIZERS[: draw(st.integers(1, 3))]
    changes = PERTURBATIONS[: draw(st.integers(*perturbations))]
    count = draw(st.integers(*models))
    return [
        record(
            draw(scores),
            model=f"m{model}",
            dataset=f"d{dataset}",
            example=f"e{example}",
            serializer=serializer,
            perturbation=perturbation,
        )
        for dataset in range(draw(st.integers(*datasets)))
        for example in range(draw(st.integers(1, 4)))
        for model in range(count)
        for serializer in serializers
        for perturbation in changes
    ]


GAPS = st.none() | TENTHS


def figures(structure):
    """Yield every figure (a mapping with "value") inside a structure."""
    if isinstance(structure, dict):
        if "value" in structure:
            yield structure
        for inner in structure.values():
            yield from figures(inner)
    elif isinstance(structure, list):
        for inner in structure:
            yield from figures(inner)


def values(structure):
    return [figure["value"] for figure in figures(structure) if figure["value"] is not None]
