"""Cases: examples in each configuration of serializer, strategy, effort and so on, by ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, repeat
from typing import Any, NamedTuple

from pytest_tablebench.util.names import slug
from pytest_tablebench.util.seeds import seeded_random

DIRECT, TEXT = "direct", "text"
"""The default strategy and modality of a case."""

IMAGE, IMAGE_TEXT = "image", "image_text"
"""The modalities of pictures: the picture alone, and picture and text."""

NO_TABLE = "none"
"""The serializer of questions without a table."""


class CaseExample(NamedTuple):
    """The example of a case, and the start of the case's id; shared by all its cases."""

    dataset: str
    example_id: str
    id_start: str


class Configuration(NamedTuple):
    """How a case asks its example, and the end of the case's id; shared by all examples."""

    serializer: str
    perturbation: str
    model: str
    repeat: int
    strategy: str
    modality: str
    id_end: str
    effort: str | None = None


class Case:
    """One item of a run.

    `case_id` is `dataset/example/serializer/perturbation`. Strategy, modality, effort and model
    follow, each only if a run has several. The second and later repeats end in `r2`, `r3`, ....

    A run may have half a million cases, so each consists of two references.
    """

    __slots__ = ("_configuration", "_example")

    FIELDS = (
        *("dataset", "example_id", "serializer", "perturbation", "model", "case_id"),
        *("repeat", "strategy", "modality", "effort"),
    )
    """The names of its values, in the order of the arguments."""

    def __init__(  # noqa: PLR0917 - the order of `FIELDS`
        self,
        dataset: str,
        example_id: str,
        serializer: str,
        perturbation: str,
        model: str,
        case_id: str,
        repeat: int = 1,
        strategy: str = DIRECT,
        modality: str = TEXT,
        effort: str | None = None,
    ) -> None:
        self._example = CaseExample(dataset, example_id, case_id)
        self._configuration = Configuration(
            serializer, perturbation, model, repeat, strategy, modality, "", effort
        )

    @classmethod
    def of(cls, example: CaseExample, configuration: Configuration) -> Case:
        """Return the case of an example and a configuration."""
        case = cls.__new__(cls)
        case._example, case._configuration = example, configuration
        return case

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return self._example.dataset

    @property
    def example_id(self) -> str:
        """The id of the example in its dataset."""
        return self._example.example_id

    @property
    def serializer(self) -> str:
        """The name of the serializer."""
        return self._configuration.serializer

    @property
    def perturbation(self) -> str:
        """The name of the perturbation."""
        return self._configuration.perturbation

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._configuration.model

    @property
    def case_id(self) -> str:
        """The id of the case."""
        return self._example.id_start + self._configuration.id_end

    @property
    def repeat(self) -> int:
        """1 for the first time that the case is asked."""
        return self._configuration.repeat

    @property
    def strategy(self) -> str:
        """The name of the strategy."""
        return self._configuration.strategy

    @property
    def modality(self) -> str:
        """The name of the modality."""
        return self._configuration.modality

    @property
    def effort(self) -> str | None:
        """The thinking effort that the request names; None for the provider's default."""
        return self._configuration.effort

    def values(self) -> tuple[Any, ...]:
        """Return the values of `FIELDS`; `Case(*values)` is equal."""
        return tuple(getattr(self, name) for name in self.FIELDS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Case) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash(self.case_id)

    def __repr__(self) -> str:
        return f"Case{self.values()!r}"


def cross(
    dataset: str,
    example_ids: Sequence[str],
    serializers: Sequence[str],
    perturbations: Sequence[str],
    models: Sequence[str],
    *,
    strategies: Sequence[str] = (DIRECT,),
    modalities: Sequence[str] = (TEXT,),
    efforts: Sequence[str | None] = (None,),
    shown: Mapping[str, Sequence[str]] | None = None,
    by_strategy: Mapping[str, Sequence[str]] | None = None,
    per_example: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    only: Collection[str] | None = None,
) -> tuple[list[Case], list[str]]:
    """Return the cases of a dataset and their node ids, in the same order in every process.

    An example's configurations are consecutive and grouped by perturbation, so that its table is
    read and perturbed once. The repeats of a case are consecutive.

    `shown` contains the modalities of each serializer, `by_strategy` the serializers of each
    strategy; None means all. `per_example` is the number of configurations of each example, drawn
    by `draw_configurations`; all strategies and models get the same ones. With `only`, the cases of
    other examples are left out, and the remaining cases are the same as without it.
    """
    # Names are computed once and shared by all cases.
    names = _Names(strategies, modalities, models, efforts)
    examples = case_ids(example_ids, 34)
    formats = case_ids(serializers, 18)
    changes = case_ids(perturbations, 24)
    short = (examples, formats, changes)
    if names.has_several:  # node ids stay under 100 characters
        short = (case_ids(example_ids, 24), case_ids(serializers, 12), case_ids(perturbations, 16))
    endings = {
        serializer: names.endings(
            modalities if shown is None else shown[serializer],
            repeats,
            [
                strategy
                for strategy in strategies
                if by_strategy is None or serializer in by_strategy[strategy]
            ],
        )
        for serializer in serializers
    }
    grid = [(change, form) for change in perturbations for form in serializers]
    drawn: Iterable[frozenset[tuple[str, str]] | None] = repeat(None)
    if per_example is not None:
        drawn = draw_configurations(dataset, len(examples), grid, per_example, seed=seed)
    configurations = [
        (
            (perturbation, serializer),
            Configuration(
                serializer,
                perturbation,
                ending.model,
                ending.repeat,
                ending.strategy,
                ending.modality,
                f"/{form}/{change}{ending.case_tail}",
                ending.effort,
            ),
            f"-{short[1][serializer]}-{short[2][perturbation]}{ending.node_tail}",
        )
        for (perturbation, change), (serializer, form) in product(changes.items(), formats.items())
        for ending in endings[serializer]
    ]
    cases, node_ids = [], []
    for (example_id, example), chosen in zip(examples.items(), drawn, strict=False):
        if only is not None and example_id not in only:
            continue
        shared = CaseExample(dataset, example_id, f"{dataset}/{example}")
        start = short[0][example_id]
        for place, configuration, node_end in configurations:
            if chosen is None or place in chosen:
                cases.append(Case.of(shared, configuration))
                node_ids.append(start + node_end)
    return cases, node_ids


@dataclass(frozen=True)
class _Ending:
    """One strategy, modality, effort, model and repeat, with its part of the ids."""

    strategy: str
    modality: str
    model: str
    repeat: int
    case_tail: str
    node_tail: str
    effort: str | None


class _Names:
    """The short names of strategies, modalities, efforts and models; "" for the only one."""

    def __init__(
        self,
        strategies: Sequence[str],
        modalities: Sequence[str],
        models: Sequence[str],
        efforts: Sequence[str | None],
    ) -> None:
        self.has_several = max(len(strategies), len(modalities), len(efforts)) > 1
        self._efforts = {effort: effort or "" for effort in efforts}
        if len(efforts) == 1:
            self._efforts = {efforts[0]: ""}
        # Without a digest, strategies with different parameters could share a name across runs.
        self._strategies = _ids_if_several(strategies, 14, digest=True)
        self._modalities = _ids_if_several(modalities, 10)
        self._models = _ids_if_several(models, 20)
        self._node_models = _ids_if_several(models, 14 if self.has_several else 20)

    def endings(
        self, modalities: Sequence[str], repeats: int, strategies: Sequence[str]
    ) -> list[_Ending]:
        """Return the endings of a serializer's cases, in order."""
        combinations = []
        axes = product(strategies, modalities, self._efforts, self._models)
        for strategy, modality, effort, model in axes:
            parts = [self._strategies[strategy], self._modalities.get(modality, "")]
            parts.append(self._efforts[effort])
            for number in range(1, repeats + 1):
                last = f"r{number}" if number > 1 else ""
                cases = filter(None, [*parts, self._models[model], last])
                nodes = filter(None, [*parts, self._node_models[model], last])
                tails = ("".join(f"/{part}" for part in cases), "".join(f"-{p}" for p in nodes))
                combinations.append(_Ending(strategy, modality, model, number, *tails, effort))
        return combinations


def _ids_if_several(names: Sequence[str], limit: int, *, digest: bool = False) -> dict[str, str]:
    return case_ids(names, limit, digest=digest) if len(names) > 1 else {names[0]: ""}


def draw_configurations(
    dataset: str,
    examples: int,
    grid: Sequence[tuple[str, str]],
    count: int,
    *,
    seed: int = 0,
) -> Iterator[frozenset[tuple[str, str]]]:
    """Yield `count` different configurations of the grid for each example, in order.

    The grid is dealt like a pack of cards and shuffled again when it is used up, so the counts of
    configurations differ by at most one. The draw is seeded by the dataset's name and `seed`. With
    fewer examples, the first ones get the same configurations. `count` is at most the grid's size.
    """
    draw = seeded_random(f"configurations/{dataset}", seed=42 + seed)
    pack: list[tuple[str, str]] = []
    for _ in range(examples):
        hand, pack = pack[:count], pack[count:]
        if len(hand) < count:
            pack = list(grid)
            draw.shuffle(pack)
            # The example must not get a configuration a second time that it has from the old pack.
            pack.sort(key=lambda configuration: configuration in hand)
            missing = count - len(hand)
            hand, pack = hand + pack[:missing], pack[missing:]
        yield frozenset(hand)


def case_ids(texts: Iterable[str], limit: int, *, digest: bool = True) -> dict[str, str]:
    """Return a short, unique ASCII id for each text, in order."""
    ids = {text: slug(text, limit, digest=digest) for text in texts}
    if len(set(ids.values())) != len(ids):
        # A text may equal the slug of another text: number the later ones.
        taken: set[str] = set()
        for text, short in ids.items():
            number, unique = 2, short
            while unique in taken:
                end = f".{number}"
                unique, number = f"{short[: limit - len(end)]}{end}", number + 1
            taken.add(unique)
            ids[text] = unique
    return ids
