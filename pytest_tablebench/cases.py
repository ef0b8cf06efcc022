"""Cases: which question is asked in which format of which model. Ids only, nothing loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_tablebench.names import slug

__all__ = ["Case", "case_ids", "cross"]


@dataclass(frozen=True, slots=True)
class Case:
    """One item of the benchmark.

    `case_id` is `dataset/example/serializer/perturbation`, with the model behind it only where
    a run has several; `node_id` is the part between the brackets of pytest's node id.
    """

    dataset: str
    example_id: str
    serializer: str
    perturbation: str
    model: str
    case_id: str


def cross(
    dataset: str,
    example_ids: Sequence[str],
    serializers: Sequence[str],
    perturbations: Sequence[str],
    models: Sequence[str],
) -> tuple[list[Case], list[str]]:
    """Return the cases of a dataset and their node ids, in an order every process repeats.

    All configurations of an example follow each other, those of one perturbation together:
    its table is then read and perturbed once.
    """
    examples = case_ids(example_ids, 34)
    # The parts are spelled out once and shared by all cases, not built for each.
    formats = case_ids(serializers, 18)
    changes = case_ids(perturbations, 24)
    names = case_ids(models, 20, digest=False) if len(models) > 1 else {models[0]: ""}
    cases, node_ids = [], []
    for example_id, example in examples.items():
        for perturbation, change in changes.items():
            for serializer, written in formats.items():
                for model, name in names.items():
                    tail = f"/{name}" if name else ""
                    case_id = f"{dataset}/{example}/{written}/{change}{tail}"
                    cases.append(
                        Case(dataset, example_id, serializer, perturbation, model, case_id)
                    )
                    node_ids.append(f"{example}-{written}-{change}{'-' + name if name else ''}")
    return cases, node_ids


def case_ids(texts: Iterable[str], limit: int, *, digest: bool = True) -> dict[str, str]:
    """Return a short, unique ASCII id for each text, in order."""
    ids = {text: slug(text, limit, digest=digest) for text in texts}
    if len(set(ids.values())) != len(ids):
        # Only possible where a text looks like another one's slug: number the later ones.
        taken: set[str] = set()
        for text, short in ids.items():
            number, unique = 2, short
            while unique in taken:
                end = f".{number}"
                unique, number = f"{short[: limit - len(end)]}{end}", number + 1
            taken.add(unique)
            ids[text] = unique
    return ids
