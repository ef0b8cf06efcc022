"""Make the prompt of a case: load, perturb, draw demonstrations, serialize. Makes no call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Generic, TypeVar

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import (
    AnswerPlace,
    AskedDataset,
    Example,
    PromptParts,
    Source,
    asked_dataset,
    cluster_of,
)
from pytest_tablebench.datasets.case import IMAGE, IMAGE_TEXT, Case
from pytest_tablebench.errors import TableError
from pytest_tablebench.registry import Registry
from pytest_tablebench.running.answer import shown_by
from pytest_tablebench.running.perturbing import PerturbedPool, example_perturber, table_perturber
from pytest_tablebench.running.scorer import asked_by
from pytest_tablebench.serializers.content import (
    Content,
    Marks,
    Message,
    images_of,
    joined,
    text_of,
)
from pytest_tablebench.serializers.program_tables import MOST_CELLS
from pytest_tablebench.strategies import (
    Demonstration,
    DemonstrationPool,
    Task,
    assemble,
    named_strategy,
    published_turns,
)
from pytest_tablebench.strategies.base import Show
from pytest_tablebench.tables.perturbations import parse_perturbation
from pytest_tablebench.tables.table import Table

Made = TypeVar("Made")


class _ByTable(Generic[Made]):
    """A cache by table object and a word, not by the table's value.

    Equal tables may differ when printed (1 and True).
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[tuple[int, str], tuple[Table, Made]] = OrderedDict()

    def get(self, table: Table, word: str, make: Callable[[], Made]) -> Made:
        key = id(table), word
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key][1]
        made = make()
        # Keep the table too: its id may be reused once it is deleted.
        self._made[key] = table, made
        if len(self._made) > self._most:
            self._made.popitem(last=False)
        return made


class Renderer:
    """Makes the prompts of one session in one process.

    Caches of fixed size keep what cases share: serialized tables, perturbed examples and
    demonstrations. `source` opens a dataset's files, and returns the same object every time.
    `shots` returns the number of demonstrations in a dataset's prompts.
    """

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        source: Callable[[str], Source],
        shots: Callable[[str], int],
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._texts = None if settings.prompts is None else settings.prompts.texts
        self._source = source
        self._shots = shots
        self._pools: dict[Hashable, DemonstrationPool] = {}
        # Cases of one example are consecutive; demonstrations recur during the whole run.
        self._perturbed = lru_cache(maxsize=64)(self._load_perturbed)
        self._demonstration = lru_cache(maxsize=4096)(self._load_demonstration)
        # Questions about one table are consecutive too, with all perturbations and serializers.
        self._changed: _ByTable[Table] = _ByTable(64)
        self._contents: _ByTable[Content] = _ByTable(256)

    def example(self, case: Case) -> Example:
        """Return the example after the perturbation. Raises `TableError` or `DataError`."""
        return self._perturbed(case.dataset, case.example_id, case.perturbation)[0]

    def task(self, case: Case) -> Task:
        """Return the task for the case's strategy. Raises `TableError` or `DataError`."""
        registry, compat = self._registry, self._settings.compat
        strategy, params = named_strategy(case.strategy, registry.strategies)
        if "turns" in getattr(strategy, "parameters", {}) and self._settings.turns is not None:
            params = {"turns": self._settings.turns, **params}
        dataset = asked_by(registry, case.dataset, case.strategy, self._texts)
        whole, chosen = self._perturbed(case.dataset, case.example_id, case.perturbation)
        shape = case.serializer, case.modality

        def show(table: Table) -> Content:
            def made() -> Content:
                return self._shows(case.dataset, case.perturbation, *shape)(table)

            return self._contents.get(table, "/".join(shape), made)

        def written(example: Example, show: Show) -> tuple[Content, tuple[Message, ...]]:
            return self._written(case, dataset, example, chosen, show)

        def task(example: Example) -> Task:
            prompt, turns = written(example, show)
            return Task(
                example,
                prompt,
                compat,
                params,
                dataset.form,
                show,
                lambda show: written(example, show)[0],
                serializer=case.serializer,
                turns=turns,
            )

        if not dataset.several:
            return task(whole)
        tasks = tuple(map(task, dataset.dataset.versions(whole)))
        prompts = joined([shown_by(version.messages) for version in tasks])
        return replace(tasks[0], example=whole, prompt=prompts, versions=tasks)

    def _written(
        self, case: Case, dataset: AskedDataset, example: Example, chosen: Sequence[int], show: Show
    ) -> tuple[Content, tuple[Message, ...]]:
        compat = self._settings.compat
        marks, demonstrations = Marks(), []
        parts = dataset.prompt(example, lambda table: marks.mark(show(table)))
        shape = case.perturbation, case.serializer, case.modality
        for index in chosen:
            demonstration, theirs = self._demonstration(case.dataset, index, shape, dataset.place)
            demonstrations.append(demonstration)
            marks.include(theirs)

        def whole(parts: PromptParts) -> Content:
            return marks.resolve(assemble(parts, demonstrations, compat=compat))

        prompt = whole(parts)
        if compat == "fixed" or dataset.place != "reply" or not parts.reference_reply:
            return prompt, ()
        return prompt, published_turns(parts, prompt, whole(replace(parts, instruction="")))

    def _shows(
        self, dataset: str, perturbation: str, serializer: str, modality: str
    ) -> Callable[[Table], Content]:
        """Return a function that serializes a table, with a picture if the modality asks for it.

        Unperturbed tables are shown as in the dataset's files, if these contain that format.
        """
        name = parse_perturbation(perturbation)[0]
        if getattr(self._registry.perturbations[name], "hides_tables", False):
            return lambda _: ""
        is_plain = name == "none"

        def content(table: Table, name: str) -> Content:
            cells = len(table.rows) * len(table.header)
            if cells > MOST_CELLS and name not in {"columns", "frame"}:
                raise TableError(
                    f"{table.label}: {cells:,} cells; more than {MOST_CELLS:,} are asked about "
                    "only with --bench-strategy=tools, pot or icot"
                )
            written = self._source(dataset).as_given(table, name) if is_plain else None
            return self._registry.serializers[name](table) if written is None else written

        def show(table: Table) -> Content:
            serialized = content(table, serializer)
            if modality != IMAGE_TEXT or images_of(serialized):
                return serialized
            return (text_of(serialized), *images_of(content(table, IMAGE)))

        return show

    def _example_perturber(self, perturbation: str) -> Callable[[Example], Example] | None:
        return example_perturber(self._registry.perturbations, perturbation, self._settings.seed)

    def _table_perturber(self, perturbation: str) -> Callable[[Table], Table]:
        registered, seed = self._registry.perturbations, self._settings.seed
        perturb = table_perturber(registered, perturbation, seed)
        return lambda table: self._changed.get(table, perturbation, lambda: perturb(table))

    def _pool(self, dataset: str, perturbation: str) -> DemonstrationPool:
        key = dataset, perturbation
        if key not in self._pools:
            pool, perturber = self._source(dataset).pool, self._example_perturber(perturbation)
            self._pools[key] = (
                DemonstrationPool(pool, self._table_perturber(perturbation))
                if perturber is None
                else DemonstrationPool(PerturbedPool(pool, perturber), lambda table: table)
            )
        return self._pools[key]

    def _load_perturbed(
        self, dataset: str, example_id: str, perturbation: str
    ) -> tuple[Example, list[int]]:
        plain = self._source(dataset).example(example_id)
        # Before the tables change: all cases of an example have one cluster.
        plain = replace(plain, cluster=cluster_of(plain))
        perturber = self._example_perturber(perturbation)
        example = (
            plain.with_tables(self._table_perturber(perturbation))
            if perturber is None
            else perturber(plain)
        )
        shots = self._shots(dataset)
        if not shots:
            return example, []
        if self._settings.demos == "fixed":
            # Drawn as for the plain table, and shown perturbed like the example.
            pool, drawn_for = self._pool(dataset, "none"), plain
        else:
            pool, drawn_for = self._pool(dataset, perturbation), example
        return example, pool.draw(drawn_for, shots, seed=self._settings.seed)

    def _load_demonstration(
        self, dataset: str, index: int, shape: tuple[str, str, str], answer_place: AnswerPlace
    ) -> tuple[Demonstration, Marks]:
        perturbation, serializer, modality = shape
        example = self._pool(dataset, perturbation)[index]
        show, marks = self._shows(dataset, perturbation, serializer, modality), Marks()
        parts = asked_dataset(self._registry.datasets[dataset], answer_place).prompt(
            example, lambda table: marks.mark(show(table))
        )
        return Demonstration(parts.source, example.target), marks
