"""Score the stored replies of a run again."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.compat import COMPAT_MODES, Compat, check_compat
from pytest_tablebench.config.secrets import redact
from pytest_tablebench.datasets import asked_dataset, cluster_of, open_dataset
from pytest_tablebench.errors import (
    CUT_OFF,
    EMPTY,
    THOUGHTS_ALONE,
    DataError,
    NotJudgedError,
    SettingsError,
)
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.unclear import BY_JUDGE
from pytest_tablebench.models import Reply
from pytest_tablebench.registry import Registry
from pytest_tablebench.results.judged_cases import BY_PEOPLE
from pytest_tablebench.results.record import (
    ASSERTION,
    UNCLEAR,
    Record,
    outcome_of_score,
    reaches,
)
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.running.answer import TRUNCATED
from pytest_tablebench.running.perturbing import example_perturber, table_perturber
from pytest_tablebench.running.rejudge._judge import StoredJudge, with_judge_steps
from pytest_tablebench.running.scoring import judge_example, score_by
from pytest_tablebench.strategies import PARSED, answer_place, texts_of
from pytest_tablebench.tables.table_file import TableFile
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.datasets import AskedDataset, Dataset, Example, Source

SAME = 1e-9

_EMPTY_REPLIES = frozenset({CUT_OFF, EMPTY, THOUGHTS_ALONE})
"""The reasons of complete records without an answer that `reference` scores."""


def rescorable(record: Record) -> bool:
    """Return whether the record contains a reply that a metric scored, or without an answer."""
    has_end = record.score is not None or record.reason in _EMPTY_REPLIES
    return has_end and record.raw is not None and record.metric != ASSERTION


def under(record: Record, threshold: float | None) -> Record:
    """Return the record with the verdict of a threshold; unchanged without score or threshold."""
    passed = reaches(record.score, threshold)
    if passed is None or record.metric == ASSERTION:
        return record
    corrected = record.corrected
    if corrected is not None and corrected.get("score") is not None:
        corrected = {**corrected, "passed": reaches(corrected["score"], threshold)}
    outcome = outcome_of_score(record.score, passed)
    return replace(record, threshold=threshold, passed=passed, outcome=outcome, corrected=corrected)


def parts_of_answer(record: Record, registry: Registry) -> dict[str, float]:
    """Return the parts of a score that come from the strategy, not from the metric."""
    strategy = registry.strategies.get(record.strategy.partition("[")[0])
    names = (PARSED, *getattr(strategy, "measures", ()))
    return {name: record.parts[name] for name in names if name in record.parts}


@dataclass
class Opener:
    """Opens the datasets of a run, and checks that their data is the run's."""

    path: Path
    run: RunFacts
    compat: Compat
    data: Path
    registry: Registry
    thresholds: Collection[str] = ()
    """The datasets whose thresholds an option sets."""
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seed = self.run.seed or 0
        self.old = check_compat(self.run.compat or COMPAT_MODES[0])
        if self.old != self.compat:
            self.notes.append(
                f"compat {self.compat} judges replies to prompts that were made in compat "
                f"{self.old}"
            )

    def open(self, name: str) -> tuple[Dataset, Source]:
        """Open a dataset. Raises `DataMissing`, or `DataError` for a file that differs."""
        if name not in self.registry.datasets:
            raise SettingsError(
                f"dataset {name!r} is neither built in nor a folder of "
                f"{self.data}, so its answers cannot be scored again: name the conftest.py that "
                f"registers it with --plugin FILE, or leave out --bench-compat to change only "
                f"thresholds and gates"
            )
        dataset = self.registry.datasets[name]
        folder = self.data / dataset.folder
        source = open_dataset(dataset, folder, compat=self.old, settings=self.run.entries)
        self._check_digests(name, folder, source.facts.files)
        if self.old != self.compat:
            source = open_dataset(dataset, folder, compat=self.compat, settings=self.run.entries)
        return dataset, source

    def _check_digests(self, name: str, folder: Path, files: Mapping[str, str]) -> None:
        recorded = self.run.files(name)
        if recorded is None:
            raise SettingsError(
                f"{self.path / 'run.json'} does not list the files of {name} that the run used, "
                f"so its answers cannot be scored again"
            )
        for file, digest in recorded.items():
            if files.get(file) != digest:
                raise DataError(
                    f"{name}: {file} in {folder} is not the file that the run "
                    f"used (SHA-256 {str(files.get(file, 'none'))[:12]}, the run had "
                    f"{shortened(str(digest), 12)}); name the folder with that data: "
                    f"--bench-data=DIR"
                )


_UNSCORED: dict[str, Any] = {
    "score": None,
    "threshold": None,
    "passed": None,
    "outcome": "no_answer",
    "reason": "not_judged",
    "parts": {},
    "part": None,
    "metric": None,
}
"""The fields of a record without a score."""

_OF_VERDICTS = (UNCLEAR, BY_JUDGE, BY_PEOPLE)

_OF_JUDGES = re.compile("not_judged$|judge_")
"""Flags about a judge's reply, or about a missing one."""


@dataclass
class Scorer:
    """Scores the answers of a run by other rules, each different reply to a question once.

    `judged_alone`: for a new judge, score only the answers that a judge marks.
    """

    opener: Opener
    records: Sequence[Record]
    judges: StoredJudge
    judged_alone: bool = field(default=False, kw_only=True)
    _opened: dict[str, tuple[Dataset, Source]] = field(default_factory=dict)
    _known: dict[tuple[str | None, ...], dict[str, Any]] = field(default_factory=dict)
    _example: Example | None = None
    _of: tuple[str, str] | None = None

    def judge(self) -> list[Record]:
        """Return the records in the same order, scored again and judged by their thresholds."""
        judged: dict[str, Record] = {}
        # Sorted by example, so that each is loaded once and none is kept.
        for record in sorted(self.records, key=lambda record: (record.dataset, record.example_id)):
            judged[record.case_id] = (
                self._with_cluster(self._judge(record)) if self._is_scored(record) else record
            )
        return [judged[record.case_id] for record in self.records]

    def _with_cluster(self, record: Record) -> Record:
        if record.cluster is not None:
            return record
        example = self._load(record.dataset, record.example_id)
        return replace(record, cluster=cluster_of(example))

    def _is_scored(self, record: Record) -> bool:
        if not self.judged_alone:
            return rescorable(record)
        if record.raw is None or record.metric == ASSERTION or record.reason in _EMPTY_REPLIES:
            return False
        form = self._asked(record, self._load(record.dataset, record.example_id))
        if self.judges.decides_unclear(form) and not {UNCLEAR, BY_JUDGE}.intersection(record.flags):
            return False
        return record.metric in {None, form.metric} and self.judges.scores(form)

    def _asked(self, record: Record, example: Example) -> AskedDataset:
        place = answer_place(record.strategy, self.opener.registry.strategies)
        return asked_dataset(self._opened[record.dataset][0], place).about(example)

    def _judge(self, record: Record) -> Record:
        example, changed = self._load(record.dataset, record.example_id), None
        missing = self._missing(record, example) if self.opener.compat == "fixed" else None
        if missing is not None:
            kept = tuple(flag for flag in record.flags if flag != TRUNCATED)
            return replace(record, **{**_UNSCORED, "reason": missing, "flags": kept})
        changes = self.opener.registry.perturbations, record.perturbation, self.opener.seed
        perturb = example_perturber(*changes)
        if perturb is not None:  # it may change the answer
            example, changed = perturb(example), record.perturbation
        elif any(isinstance(value, TableFile) for value in example.context.values()):
            # The metric needs the table as the model saw it.
            example = example.with_tables(table_perturber(*changes))
            changed = record.perturbation
        # A judge is asked again at each repeat.
        key = record.raw, record.metric, record.part, str(record.repeat), record.strategy, changed
        if key not in self._known:
            self._known[key] = self._rescored(record, example)
        elif "judging" in self._known[key]:
            # The first case with this reply has paid for the judge.
            again = tuple(replace(step, from_store=True) for step in self._known[key]["judging"])
            self._known[key]["judging"] = again
        fields = self._known[key]
        return self._joined(record, fields) if fields else record

    def _rescored(self, record: Record, example: Example) -> dict[str, Any]:
        try:
            fields = self._score(record, example)
        except NotJudgedError as error:
            failure = {"reason": error.reason, "parts": error.parts, "flags": error.flags}
            fields = {**_UNSCORED, **failure}
        if not self.judged_alone:
            return fields
        return {**fields, "judging": tuple(self.judges.steps)} if self.judges.asked else {}

    def _missing(self, record: Record, example: Example) -> str | None:
        """Return the reason why a reply of a record contains no answer; None for an answer.

        Earlier versions scored such replies. A program's output does not show it.
        """
        form = self._asked(record, example)
        if record.reason in _EMPTY_REPLIES or form.place == "printed":
            return record.reason
        if record.steps and TRUNCATED not in record.flags:
            return None
        raw = str(record.raw)
        replies = texts_of(raw) if form.several else [raw]
        end = "length" if TRUNCATED in record.flags else "stop"
        return next((reason for text in replies if (reason := Reply(text, end).missing)), None)

    def _joined(self, record: Record, fields: Mapping[str, Any]) -> Record:
        parts = parts_of_answer(record, self.opener.registry)
        new = {**fields, "parts": {**fields["parts"], **parts}}
        flags, judging = new.pop("flags", ()), new.pop("judging", None)
        record = replace(record, flags=tuple(f for f in record.flags if f not in _OF_VERDICTS))
        if record.reason in _EMPTY_REPLIES:
            example = self._load(record.dataset, record.example_id)
            metric = self._asked(record, example).metric
            is_cut = (TRUNCATED,) if record.reason == CUT_OFF else ()
            flags = (*is_cut, *record.flags, *flags)
            new = {"metric": metric, "reason": None, **new, "flags": flags}
        elif self.judged_alone:
            kept = [flag for flag in record.flags if not _OF_JUDGES.match(flag)]
            new["flags"] = (*kept, *flags)
        else:
            new["flags"] = (*record.flags, *(flag for flag in flags if flag in _OF_VERDICTS))
        scored = replace(record, **new)
        if judging is not None:
            scored = with_judge_steps(scored, judging)
        return self._with_verdict(scored)

    def _with_verdict(self, record: Record) -> Record:
        """Return a scored record with the verdict of its threshold, else of the dataset's.

        Free text has no verdict without a named threshold, although earlier versions gave one.
        """
        dataset = self._opened[record.dataset][0]
        has_verdict = self._load(record.dataset, record.example_id).has_verdict
        is_named = record.dataset in self.opener.thresholds
        is_usual = record.threshold in {None, dataset.threshold}
        if is_usual and not (has_verdict or is_named):
            outcome = outcome_of_score(record.score, None)
            return replace(record, outcome=outcome, passed=None, threshold=None)
        return under(record, dataset.threshold if record.threshold is None else record.threshold)

    def _load(self, dataset: str, example_id: str) -> Example:
        if dataset not in self._opened:
            self._opened[dataset] = self.opener.open(dataset)
        if self._example is None or self._of != (dataset, example_id):
            self._example = self._opened[dataset][1].example(example_id)
            self._of = dataset, example_id
            self._known.clear()
        return self._example

    def _score(self, record: Record, example: Example) -> dict[str, Any]:
        prediction, scored = self._scored(record, example, self.opener.compat)
        part = scored.part if self.judged_alone else self._part(record, example, scored)
        flags = (*scored.flags, *([UNCLEAR] if scored.unclear else []))
        fields: dict[str, Any] = {"flags": flags, "why": redact(scored.why) or None}
        if self.judged_alone:
            fields |= {"metric": self._asked(record, example).metric, "reason": None}
        return fields | {
            "score": scored.parts.get(part, scored.value) if part else scored.value,
            "part": part,
            "parts": dict(scored.parts),
            "prediction": prediction,
            "references": example.references,
        }

    def _part(self, record: Record, example: Example, scored: Score) -> str | None:
        """Return the part that counts: the recorded one, if it was not the metric's main part.

        The main part may depend on the mode, so the run's own mode decides.
        """
        named, old = record.part, self.opener.old
        if named not in scored.parts or named == scored.part:
            return scored.part
        if old != self.opener.compat and self._scored(record, example, old)[1].part == named:
            return scored.part
        return named

    def _scored(self, record: Record, example: Example, compat: Compat) -> tuple[Any, Score]:
        registry = self.opener.registry
        dataset = self._asked(record, example)
        if self.judges.scores(dataset) and record.metric in {None, dataset.metric}:
            by_judge = self.judges.score(record, dataset, example, compat)
            if by_judge.score is not None:
                return by_judge.prediction, by_judge.score
        judged = judge_example(registry, dataset, str(record.raw), example, compat=compat)
        scored = judged.score
        if record.metric is not None and record.metric != dataset.metric:
            # The suite named another metric.
            texts = judged.prediction, judged.references
            scored = score_by(
                registry, record.metric, *texts, compat=compat, context=example.context
            )
        if scored is None:
            raise SettingsError(f"dataset {record.dataset!r} has no metric")
        return judged.prediction, scored
