"""Cases: examples in each configuration of serializer, strategy and so on, by ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product, repeat
from typing import Any, NamedTuple

from pytest_tablebench.config.axes import AXES, DIRECT, MODES, TEXT, Axis
from pytest_tablebench.util.names import slug
from pytest_tablebench.util.seeds import seeded_random

IMAGE, IMAGE_TEXT = "image", "image_text"
"""The modalities of pictures: the picture alone, and picture and text."""

NO_TABLE = "none"
"""The serializer of questions without a table."""


class CaseExample(NamedTuple):
    """The example of a case, and the start of the case's id; shared by all its cases."""

    dataset: str
    example_id: str
    id_start: str


class CaseEnd(NamedTuple):
    """How a case asks its example, and the end of the case's id; shared by all examples."""

    values: tuple[Any, ...]
    """The values of `AXES`."""
    model: str
    id_end: str


class Case:
    """One item of a run.

    `case_id` is `dataset/example/serializer/perturbation`. The names on the other axes and the
    model follow, each only if a run has several. The second and later repeats end in `r2`, ....

    A run may have half a million cases, so each consists of two references.
    """

    __slots__ = ("_end", "_example")

    serializer: str
    perturbation: str
    strategy: str
    modality: str
    effort: str | None
    """The thinking effort that the request names; None for the provider's default."""
    repeat: int
    """1 for the first time that the case is asked."""

    FIELDS = ("dataset", "example_id", "model", "case_id", *(axis.name for axis in AXES))
    """The names of its values."""

    def __init__(  # noqa: PLR0917 - the order of ids
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
        **further: str | None,
    ) -> None:
        values: dict[str, Any] = {"serializer": serializer, "perturbation": perturbation}
        values |= {"repeat": repeat, "strategy": strategy, "modality": modality, **further}
        self._example = CaseExample(dataset, example_id, case_id)
        names = tuple(values.pop(axis.name, axis.default) for axis in AXES)
        if values:
            raise TypeError(f"a case has no {', '.join(values)}")
        self._end = CaseEnd(names, model, "")

    @classmethod
    def of(cls, example: CaseExample, end: CaseEnd) -> Case:
        """Return the case of an example and an end."""
        case = cls.__new__(cls)
        case._example, case._end = example, end
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
    def model(self) -> str:
        """The name of the model."""
        return self._end.model

    @property
    def case_id(self) -> str:
        """The id of the case."""
        return self._example.id_start + self._end.id_end

    def values(self) -> dict[str, Any]:
        """Return the values of `FIELDS` by name; `Case(**values)` is equal."""
        return {name: getattr(self, name) for name in self.FIELDS}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Case) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash(self.case_id)

    def __repr__(self) -> str:
        return f"Case({self.values()!r})"


def _on_axis(position: int) -> property:
    return property(lambda case: case._end.values[position])


for _place, _axis in enumerate(AXES):
    setattr(Case, _axis.name, _on_axis(_place))


def cross(
    dataset: str,
    example_ids: Sequence[str],
    serializers: Sequence[str],
    perturbations: Sequence[str],
    models: Sequence[str],
    *,
    shown: Mapping[str, Sequence[str]] | None = None,
    by_strategy: Mapping[str, Sequence[str]] | None = None,
    per_example: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    only: Collection[str] | None = None,
    **modes: Sequence[str | None],
) -> tuple[list[Case], list[str]]:
    """Return the cases of a dataset and their node ids, in the same order in every process.

    An example's configurations are consecutive and grouped by perturbation, so that its table is
    read and perturbed once. The repeats of a case are consecutive.

    `modes` are the names on the further axes, by plural. `shown` contains the modalities of each
    serializer, `by_strategy` the serializers of each strategy; None means all. `per_example` is the
    number of configurations of each example, drawn by `draw_configurations`; all modes and models
    get the same ones. With `only`, the cases of other examples are left out, and the remaining
    cases are the same as without it.
    """
    named: dict[Axis, Sequence[Any]] = {
        axis: modes.pop(axis.plural, (axis.default,)) for axis in MODES
    }
    if modes:
        raise TypeError(f"there is no axis of {', '.join(modes)}")
    has_several = max(map(len, named.values())) > 1
    parts = {axis.name: _ids_if_several(axis, names) for axis, names in named.items()}
    by_axis = {axis.name: names for axis, names in named.items()}
    if shown is not None:  # a picture is asked as such, whatever the modalities are
        by_axis["modality"] = tuple(dict.fromkeys(chain.from_iterable(shown.values())))
    names_of_ids = (example_ids, serializers, perturbations)
    examples, formats, changes = short = [*map(case_ids, names_of_ids, (34, 18, 24))]
    if has_several:  # node ids stay under 100 characters
        short = [*map(case_ids, names_of_ids, (24, 12, 16))]
    case_models = node_models = dict.fromkeys(models, "")
    if len(models) > 1:
        case_models = case_ids(models, 20, digest=False)
        node_models = case_ids(models, 14 if has_several else 20, digest=False)

    def end_of(values: Mapping[str, Any], model: str) -> tuple[tuple[str, str], CaseEnd, str]:
        """Return the configuration with these values, and the ends of its two ids."""
        serializer, perturbation = values["serializer"], values["perturbation"]
        further = [parts[name].get(values[name], "") for name in by_axis]
        again = f"r{values['repeat']}" if values["repeat"] > 1 else ""
        case_end = (formats[serializer], changes[perturbation], *further, case_models[model], again)
        node_end = (
            short[1][serializer],
            short[2][perturbation],
            *further,
            node_models[model],
            again,
        )
        id_end = "".join(f"/{part}" for part in case_end if part)
        end = CaseEnd(tuple(values[axis.name] for axis in AXES), model, id_end)
        return (perturbation, serializer), end, "".join(f"-{part}" for part in node_end if part)

    # Names are computed once and shared by all cases.
    ends = []
    for perturbation, serializer in product(changes, formats):
        for *chosen, model in product(*by_axis.values(), models):
            names = dict(zip(by_axis, chosen, strict=True))
            is_shown = shown is None or names["modality"] in shown[serializer]
            if is_shown and (
                by_strategy is None or serializer in by_strategy[str(names["strategy"])]
            ):
                values = {**names, "serializer": serializer, "perturbation": perturbation}
                ends += [end_of({**values, "repeat": n}, model) for n in range(1, repeats + 1)]
    drawn: Iterable[frozenset[tuple[str, str]] | None] = repeat(None)
    if per_example is not None:
        grid = list(product(perturbations, serializers))
        drawn = draw_configurations(dataset, len(examples), grid, per_example, seed=seed)
    cases, node_ids = [], []
    for (example_id, example), configurations in zip(examples.items(), drawn, strict=False):
        if only is not None and example_id not in only:
            continue
        shared = CaseExample(dataset, example_id, f"{dataset}/{example}")
        start = short[0][example_id]
        for configuration, end, node_end in ends:
            if configurations is None or configuration in configurations:
                cases.append(Case.of(shared, end))
                node_ids.append(start + node_end)
    return cases, node_ids


def _ids_if_several(axis: Axis, names: Sequence[str | None]) -> dict[str | None, str]:
    # With a digest, as strategies with different parameters could share a name across runs.
    named = [name for name in names if name is not None]
    ids = case_ids(named, axis.id_length) if len(names) > 1 else {}
    return {name: "" if name is None else ids.get(name, "") for name in names}


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
