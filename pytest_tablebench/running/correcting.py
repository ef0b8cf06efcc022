"""Score answers by corrected gold, in addition to the score by the published gold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import AskedDataset, Dataset, Example, Source, row_digest
from pytest_tablebench.datasets.answers import NotCorrectableError, with_answers
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import (
    DataError,
    SettingsError,
    TableBenchError,
    TableError,
    errors_of,
)
from pytest_tablebench.metrics import Score
from pytest_tablebench.registry import Registry
from pytest_tablebench.results.corrections import Correction, Corrections, read_corrections
from pytest_tablebench.results.record import ASSERTION, Record, reaches
from pytest_tablebench.running.perturbing import scored_example
from pytest_tablebench.running.scorer import Scorer, converses
from pytest_tablebench.strategies import PARSED
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import shortened

FLAG = "--bench-corrections"


@dataclass(frozen=True)
class CorrectionFile:
    """A file of corrections: of the option, or of a dataset's folder.

    Arguments:
        path: the file.
        name: its name in `run.json` and on reports.
        origin: the option, or the settings file that names it, for messages.
        dataset: the only dataset whose corrections are used; None for all datasets.
    """

    path: Path
    name: str
    origin: str = FLAG
    dataset: str | None = None

    def read(self) -> Corrections:
        """Read the file. Raises `SettingsError` that names the option or the folder."""
        with errors_of(self.origin):
            corrections = read_corrections(self.path)
        if self.dataset is None:
            return corrections
        items = [item for item in corrections.by_example.values() if item.dataset == self.dataset]
        if not items:
            raise SettingsError(
                f"{self.origin}: {self.name} contains no correction of {self.dataset}; "
                f"its column dataset must have this name"
            )
        return Corrections.of(items)


def folder_file(dataset: Dataset, folder: Path) -> CorrectionFile | None:
    """Return the file that the settings of a dataset's folder name; None without one.

    Raises `SettingsError` for a file that is missing or outside the folder.
    """
    if not dataset.corrections:
        return None
    from pytest_tablebench.datasets.folder.tables import FolderTables

    prefix = "" if dataset.folder == "." else f"{dataset.folder}/"
    location = f"{prefix}tablebench.toml, corrections"
    with errors_of(location, DataError):
        path = FolderTables(folder).path(dataset.corrections)
    return CorrectionFile(path, f"{prefix}{dataset.corrections}", location, dataset.name)


def correction_files(
    settings: Settings, registry: Registry, datasets: Iterable[str]
) -> list[CorrectionFile]:
    """Return the files of corrections of a run over some datasets.

    The option replaces the files of the folders. Raises `SettingsError` as `folder_file` does.
    """
    if settings.corrections is not None:
        return [CorrectionFile(settings.corrections, settings.corrections.name)]
    files = (
        folder_file(dataset, settings.data_folder() / dataset.folder)
        for name in sorted(set(datasets))
        if (dataset := registry.datasets.get(name)) is not None and dataset.corrections
    )
    return [file for file in files if file is not None]


def has_corrections(settings: Settings, registry: Registry, datasets: Iterable[str]) -> bool:
    """Return whether a run over some datasets has corrections, without reading their files."""
    return settings.corrections is not None or any(
        registry.datasets[name].corrections for name in datasets if name in registry.datasets
    )


def correction_problems(
    corrections: Corrections,
    examples: Mapping[str, Collection[str]],
    source: Callable[[str], Source],
) -> Iterator[tuple[str, str]]:
    """Yield (dataset, message) for each correction of an example that is missing or has changed.

    `examples` are the ids of the examples of the run, by dataset. Corrections of other datasets, of
    examples that exist and are not asked, and for any version of an example are ignored.
    """
    all_ids = cache(lambda dataset: frozenset(source(dataset).example_ids(None)))
    for (dataset, example_id), correction in corrections.by_example.items():
        if dataset not in examples or correction.is_for_any_version:
            continue
        name = f"{dataset}/{example_id}"
        if example_id not in examples[dataset]:
            if example_id not in all_ids(dataset):
                yield dataset, f"{name} does not exist in this data; remove its correction"
            continue
        try:
            digest = row_digest(source(dataset).example(example_id))
        except TableBenchError:  # its cases report that it cannot be used
            continue
        if digest != correction.digest:
            yield (
                dataset,
                f"{name}: the row changed since this correction was made (digest "
                f"{shortened(correction.digest, 20)}, now {digest}); look at it again",
            )


def parts_of_answer(record: Record, registry: Registry) -> dict[str, float]:
    """Return the parts of a score that come from the strategy, not from the metric."""
    strategy = registry.strategies.get(record.strategy.partition("[")[0])
    names = (PARSED, *getattr(strategy, "measures", ()))
    return {name: record.parts[name] for name in names if name in record.parts}


@dataclass
class Correcting:
    """Scores the answers of a run by an overlay of corrections.

    `source` opens a dataset, and `seed` is the seed of perturbations. Raises `SettingsError` for a
    file that cannot be read.
    """

    files: Sequence[CorrectionFile]
    scorer: Scorer
    source: Callable[[str], Source]
    seed: int = 0

    def __post_init__(self) -> None:
        # No two files are about the same dataset.
        items = chain.from_iterable(file.read().by_example.values() for file in self.files)
        self.corrections = Corrections.of(items)
        # The cases of an example are consecutive.
        self._example = lru_cache(maxsize=8)(
            lambda name, example: self.source(name).example(example)
        )

    @property
    def file_names(self) -> str:
        """The names of the files, joined."""
        return ", ".join(file.name for file in self.files)

    def check(self, cases: Iterable[Case | Record]) -> None:
        """Raise `SettingsError` for a correction of an example that is missing or has changed."""
        examples: dict[str, set[str]] = {}
        for case in cases:
            examples.setdefault(case.dataset, set()).add(case.example_id)
        origins = {file.dataset: file.origin for file in self.files}
        for dataset, message in correction_problems(self.corrections, examples, self.source):
            raise SettingsError(f"{origins.get(dataset, FLAG)}: {message}")

    def corrected(self, record: Record) -> Record:
        """Return a record with its score by the corrected gold; unchanged without a correction."""
        correction = self.corrections.by_example.get((record.dataset, record.example_id))
        if correction is None:
            return record
        entry: dict[str, Any] = {"verdict": correction.verdict}
        try:
            entry |= self._scored(correction, record)
        except NotCorrectableError as error:
            entry["left_out"] = str(error)
        return replace(record, corrected=entry)

    def _scored(self, correction: Correction, record: Record) -> dict[str, Any]:
        if correction.is_left_out:
            raise NotCorrectableError(_LEFT_OUT[correction.verdict])
        if correction.verdict == "right":
            if record.score is None:
                return {}
            return {"score": record.score, "passed": record.passed, "parts": dict(record.parts)}
        try:
            plain = self._example(record.dataset, record.example_id)
        except TableBenchError:  # the record says why it has no answer
            return {}
        form = self.scorer.form(record, plain)
        if form.metric is None or record.metric == ASSERTION:
            raise NotCorrectableError("only tests judge it")
        if converses(self.scorer.registry.metrics.get(form.metric)):
            raise NotCorrectableError("its metric asks a judge or runs programs")
        if record.metric not in {None, form.metric}:
            raise NotCorrectableError("another metric scored it")
        alternatives = [correction.answers]
        if correction.verdict == "several":  # each is right alone
            alternatives = [(answer,) for answer in correction.answers]
        examples = [with_answers(form, plain, answers) for answers in alternatives]
        if record.raw is None or record.score is None:
            return {}
        examples = [self._perturbed(record.perturbation, other, plain) for other in examples]
        scores = [self._score(form, record.raw, example) for example in examples]
        values = [score.parts.get(record.part or "", score.value) for score in scores]
        best = values.index(max(values))
        return {
            "score": values[best],
            "passed": reaches(values[best], record.threshold),
            "parts": {**scores[best].parts, **parts_of_answer(record, self.scorer.registry)},
        }

    def _perturbed(self, perturbation: str, example: Example, plain: Example) -> Example:
        """Return the corrected example after its perturbation; `plain` has the published gold.

        A perturbation may choose cells by the answer. Then the model has seen another table.
        """
        changes = self.scorer.registry.perturbations, perturbation, self.seed
        try:
            perturbed = scored_example(example, *changes)
        except TableError:
            raise NotCorrectableError("its perturbation depends on the gold") from None
        if _tables(perturbed) != _tables(scored_example(plain, *changes)):
            raise NotCorrectableError("its perturbation depends on the gold")
        return perturbed

    def _score(self, form: AskedDataset, text: str, example: Example) -> Score:
        try:
            scored = self.scorer.score(form, example, text).score
        except Exception:  # a user's metric may raise anything
            scored = None
        if scored is None:
            raise NotCorrectableError("its metric cannot score the corrected answer")
        return scored


_LEFT_OUT: Mapping[str, str] = {
    "wrong": "the gold is wrong, and no right answer is named",
    "several": "several answers are right, and none is named",
    "unclear": "the question is unclear",
    "broken": "the table is broken",
}


def _tables(example: Example) -> list[Table]:
    return [value for value in example.inputs.values() if isinstance(value, Table)]
