"""Cases: which question is asked in which format of which model. Ids only, nothing loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, repeat

from pytest_tablebench.util.names import slug
from pytest_tablebench.util.seeds import seeded_random

DIRECT, TEXT = "direct", "text"
"""The strategy and the modality of a case that names none."""

IMAGE, IMAGE_TEXT = "image", "image_text"
"""The modalities of pictures: in place of a text, and beside it."""

NO_TABLE = "none"
"""The format of a question without a table; of one with a table, it shows nothing of it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One item of the benchmark.

    `case_id` is `dataset/example/serializer/perturbation`, with strategy, modality and model behind
    it, each only where a run has several, and `r2`, `r3`, ... behind that for the second time it
    is asked, the third, and so on.
    """

    dataset: str
    example_id: str
    serializer: str
    perturbation: str
    model: str
    case_id: str
    repeat: int = 1
    strategy: str = DIRECT
    modality: str = TEXT


def cross(
    dataset: str,
    example_ids: Sequence[str],
    serializers: Sequence[str],
    perturbations: Sequence[str],
    models: Sequence[str],
    *,
    strategies: Sequence[str] = (DIRECT,),
    modalities: Sequence[str] = (TEXT,),
    shown: Mapping[str, Sequence[str]] | None = None,
    by_strategy: Mapping[str, Sequence[str]] | None = None,
    per_example: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    only: Collection[str] | None = None,
) -> tuple[list[Case], list[str]]:
    """Return the cases of a dataset and their node ids, in an order every process repeats.

    All configurations of an example follow each other, those of one perturbation together:
    its table is then read and perturbed once. With `per_example` each example has so many of
    them, drawn by `draw_configurations`; all strategies and models are asked the same ones. The
    `repeats` of a case follow each other. `shown` gives the modalities of each serializer, all
    of them without it; `by_strategy` the serializers of each strategy, where they differ. With
    `only` no cases of other examples are made; those of these are what they are without it.
    """
    # The parts are spelled out once and shared by all cases, not built for each.
    written = _Names(strategies, modalities, models)
    examples = case_ids(example_ids, 34)
    formats = case_ids(serializers, 18)
    changes = case_ids(perturbations, 24)
    short = (examples, formats, changes)
    if written.more:  # a node id has no more room than before
        short = (case_ids(example_ids, 24), case_ids(serializers, 12), case_ids(perturbations, 16))
    endings = {
        name: written.endings(
            modalities if shown is None else shown[name],
            repeats,
            [
                strategy
                for strategy in strategies
                if by_strategy is None or name in by_strategy[strategy]
            ],
        )
        for name in serializers
    }
    grid = [(change, form) for change in perturbations for form in serializers]
    drawn: Iterable[frozenset[tuple[str, str]] | None] = repeat(None)
    if per_example is not None:
        drawn = draw_configurations(dataset, len(examples), grid, per_example, seed=seed)
    cases, node_ids = [], []
    for (example_id, example), chosen in zip(examples.items(), drawn, strict=False):
        if only is not None and example_id not in only:
            continue
        for (perturbation, change), (serializer, form) in product(changes.items(), formats.items()):
            if chosen is not None and (perturbation, serializer) not in chosen:
                continue
            case_id = f"{dataset}/{example}/{form}/{change}"
            node_id = f"{short[0][example_id]}-{short[1][serializer]}-{short[2][perturbation]}"
            for ending in endings[serializer]:
                cases.append(
                    Case(
                        dataset,
                        example_id,
                        serializer,
                        perturbation,
                        ending.model,
                        case_id + ending.case_tail,
                        ending.repeat,
                        ending.strategy,
                        ending.modality,
                    )
                )
                node_ids.append(node_id + ending.node_tail)
    return cases, node_ids


@dataclass(frozen=True)
class _Ending:
    """What the ids of cases end in that differ in strategy, modality, model or repeat alone."""

    strategy: str
    modality: str
    model: str
    repeat: int
    case_tail: str
    node_tail: str


class _Names:
    """The short names of strategies, modalities and models: none where there is only one."""

    def __init__(
        self, strategies: Sequence[str], modalities: Sequence[str], models: Sequence[str]
    ) -> None:
        self.more = len(strategies) > 1 or len(modalities) > 1
        most = 14 if self.more else 20
        # With a digest: of other parameters another one, in whatever run they come.
        self._strategies = _several(strategies, 14, digest=True)
        self._modalities = _several(modalities, 10)
        self._models = _several(models, 20)
        self._in_nodes = _several(models, most)

    def endings(
        self, modalities: Sequence[str], repeats: int, strategies: Sequence[str]
    ) -> list[_Ending]:
        """Return the endings of a serializer in these modalities and strategies, in order."""
        combinations = []
        for strategy, modality, model in product(strategies, modalities, self._models):
            parts = [self._strategies[strategy], self._modalities.get(modality, "")]
            for number in range(1, repeats + 1):
                last = f"r{number}" if number > 1 else ""
                cases = filter(None, [*parts, self._models[model], last])
                nodes = filter(None, [*parts, self._in_nodes[model], last])
                tails = ("".join(f"/{part}" for part in cases), "".join(f"-{p}" for p in nodes))
                combinations.append(_Ending(strategy, modality, model, number, *tails))
        return combinations


def _several(names: Sequence[str], limit: int, *, digest: bool = False) -> dict[str, str]:
    return case_ids(names, limit, digest=digest) if len(names) > 1 else {names[0]: ""}


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
