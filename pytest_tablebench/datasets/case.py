"""Cases: which question is asked in which format of which model. Ids only, nothing loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from pytest_tablebench.util.names import slug
from pytest_tablebench.util.seeds import seeded_random

__all__ = ["Case", "case_ids", "cross", "draw_configurations"]


@dataclass(frozen=True, slots=True)
class Case:
    """One item of the benchmark.

    `case_id` is `dataset/example/serializer/perturbation`, with the model behind it only where
    a run has several, and `r2`, `r3`, ... behind that for the second time it is asked, the third,
    and so on.
    """

    dataset: str
    example_id: str
    serializer: str
    perturbation: str
    model: str
    case_id: str
    repeat: int = 1


def cross(
    dataset: str,
    example_ids: Sequence[str],
    serializers: Sequence[str],
    perturbations: Sequence[str],
    models: Sequence[str],
    *,
    per_example: int | None = None,
    seed: int = 0,
    repeats: int = 1,
) -> tuple[list[Case], list[str]]:
    """Return the cases of a dataset and their node ids, in an order every process repeats.

    All configurations of an example follow each other, those of one perturbation together:
    its table is then read and perturbed once. With `per_example` each example has so many of
    them, drawn by `draw_configurations`; all models are asked the same ones. The `repeats` of a
    case follow each other.
    """
    examples = case_ids(example_ids, 34)
    # The parts are spelled out once and shared by all cases, not built for each.
    formats = case_ids(serializers, 18)
    changes = case_ids(perturbations, 24)
    names = case_ids(models, 20, digest=False) if len(models) > 1 else {models[0]: ""}
    endings = [
        (model, [name] + ["/".join(filter(None, (name, f"r{n}"))) for n in range(2, repeats + 1)])
        for model, name in names.items()
    ]
    grid = [(change, written) for change in perturbations for written in serializers]
    drawn: Iterable[frozenset[tuple[str, str]] | None] = repeat(None)
    if per_example is not None:
        drawn = draw_configurations(dataset, len(examples), grid, per_example, seed=seed)
    cases, node_ids = [], []
    for (example_id, example), chosen in zip(examples.items(), drawn, strict=False):
        for perturbation, change in changes.items():
            for serializer, written in formats.items():
                if chosen is not None and (perturbation, serializer) not in chosen:
                    continue
                for model, ending in endings:
                    case_id = f"{dataset}/{example}/{written}/{change}"
                    node_id = f"{example}-{written}-{change}"
                    for number, part in enumerate(ending, start=1):
                        tail = f"/{part}" if part else ""
                        cases.append(
                            Case(
                                dataset,
                                example_id,
                                serializer,
                                perturbation,
                                model,
                                case_id + tail,
                                number,
                            )
                        )
                        node_ids.append(node_id + tail.replace("/", "-"))
    return cases, node_ids


def draw_configurations(
    dataset: str,
    examples: int,
    grid: Sequence[tuple[str, str]],
    count: int,
    *,
    seed: int = 0,
) -> Iterator[frozenset[tuple[str, str]]]:
    """Yield, for each example in order, `count` different ones of the grid's configurations.

    The grid is dealt out like a pack of cards, shuffled anew when it is used up, so that all
    configurations are used equally often up to one. The draw is seeded by the dataset's name
    and `seed`; fewer examples get the same ones. `count` is at most the grid's size.
    """
    draw = seeded_random(f"configurations/{dataset}", seed=42 + seed)
    pack: list[tuple[str, str]] = []
    for _ in range(examples):
        hand, pack = pack[:count], pack[count:]
        if len(hand) < count:
            pack = list(grid)
            draw.shuffle(pack)
            # What the example holds from the old pack must not be dealt to it again.
            pack.sort(key=lambda configuration: configuration in hand)
            missing = count - len(hand)
            hand, pack = hand + pack[:missing], pack[missing:]
        yield frozenset(hand)


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
