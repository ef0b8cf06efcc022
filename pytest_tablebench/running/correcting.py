"""Score answers by corrected gold, in addition to the score by the published gold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_tablebench.datasets import row_digest
from pytest_tablebench.datasets.answers import NotCorrectableError, with_answers
from pytest_tablebench.errors import SettingsError, TableBenchError, TableError
from pytest_tablebench.results.corrections import Corrections, read_corrections
from pytest_tablebench.results.record import ASSERTION, Record, reaches
from pytest_tablebench.running.correction_files import FLAG, CorrectionFile
from pytest_tablebench.running.perturbing import scored_example
from pytest_tablebench.running.scorer import converses
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.datasets import AskedDataset, Example, Source
    from pytest_tablebench.metrics import Score
    from pytest_tablebench.results.corrections import Correction
    from pytest_tablebench.running.scorer import Scorer


def load_corrections(file: CorrectionFile) -> Corrections:
    """Read a file of corrections. Raises `SettingsError` that names the option or the folder."""
    try:
        corrections = read_corrections(file.path)
    except SettingsError as error:
        raise SettingsError(f"{file.place}: {error}") from None
    if file.dataset is None:
        return corrections
    items = [item for item in corrections.by_example.values() if item.dataset == file.dataset]
    if not items:
        raise SettingsError(
            f"{file.place}: {file.name} contains no correction of {file.dataset}; "
            f"its column dataset must have this name"
        )
    return Corrections.of(items)


def join_corrections(files: Iterable[CorrectionFile]) -> Corrections:
    """Return the union of files, of which no two are about the same dataset.

    Raises `SettingsError` as `load_corrections` does.
    """
    return Corrections.of(
        chain.from_iterable(load_corrections(file).by_example.values() for file in files)
    )


def check_corrections(
    corrections: Corrections,
    examples: Mapping[str, Collection[str]],
    source: Callable[[str], Source],
    files: Sequence[CorrectionFile] = (),
) -> None:
    """Raise `SettingsError` for a correction of an example that is missing or has changed.

    Corrections of other datasets, of examples that exist and are not asked, and for any version of
    an example are ignored.

    Arguments:
        corrections: the overlay.
        examples: the ids of the examples of the run, by dataset.
        source: opens a dataset.
        files: the files of the overlay, which messages name.
    """
    places = {file.dataset: file.place for file in files}
    for dataset, message in correction_problems(corrections, examples, source):
        raise SettingsError(f"{places.get(dataset, FLAG)}: {message}")


def correction_problems(
    corrections: Corrections,
    examples: Mapping[str, Collection[str]],
    source: Callable[[str], Source],
) -> Iterator[tuple[str, str]]:
    """Yield (dataset, message) for each correction that `check_corrections` refuses."""
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


@dataclass
class Correcting:
    """Scores the answers of a run by an overlay of corrections.

    `plain` loads an example before its perturbation, and `seed` is the seed of perturbations.
    `files` are the files of the overlay.
    """

    corrections: Corrections
    scorer: Scorer
    plain: Callable[[str, str], Example]
    seed: int = 0
    files: Sequence[CorrectionFile] = ()
    _example: Callable[[str, str], Example] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._example = lru_cache(maxsize=8)(self.plain)  # the cases of an example are consecutive

    @property
    def file_names(self) -> str:
        """The names of the files, joined."""
        return ", ".join(file.name for file in self.files)

    def corrected(self, record: Record, text: str | None, parts: Mapping[str, float]) -> Record:
        """Return a record with its score by the corrected gold; unchanged without a correction.

        Arguments:
            record: the record by the published gold.
            text: the answer that the metric reads; None without an answer.
            parts: the parts of the score that come from the strategy, not from the metric.
        """
        correction = self.corrections.by_example.get((record.dataset, record.example_id))
        if correction is None:
            return record
        entry: dict[str, Any] = {"verdict": correction.verdict}
        try:
            entry |= self._scored(correction, record, text, parts)
        except NotCorrectableError as error:
            entry["left_out"] = str(error)
        return replace(record, corrected=entry)

    def _scored(
        self,
        correction: Correction,
        record: Record,
        text: str | None,
        parts: Mapping[str, float],
    ) -> dict[str, Any]:
        if correction.is_left_out:
            raise NotCorrectableError(_LEFT_OUT[correction.verdict])
        if correction.verdict == "right":
            if record.score is None:
                return {}
            return {
                "score": record.score,
                "passed": record.passed,
                "parts": dict(record.parts),
            }
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
        if text is None or record.score is None:
            return {}
        examples = [self._perturbed(record.perturbation, other, plain) for other in examples]
        scores = [self._score(form, text, example) for example in examples]
        values = [score.parts.get(record.part or "", score.value) for score in scores]
        best = values.index(max(values))
        return {
            "score": values[best],
            "passed": reaches(values[best], record.threshold),
            "parts": {**scores[best].parts, **parts},
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
