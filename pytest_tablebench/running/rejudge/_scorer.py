"""Scoring the stored replies of a run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.compat import COMPAT_MODES, Compat, check_compat
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.metrics import score
from pytest_tablebench.registry import Registry
from pytest_tablebench.results._joined import ASSERTION
from pytest_tablebench.results._record import Outcome, Record
from pytest_tablebench.running.scoring import Judged, judge_reply
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Dataset, Example, Source

__all__ = ["ASSERTION", "SAME", "Opener", "Scorer", "mapping", "rescorable", "under"]

SAME = 1e-9

_SAMPLE = 20
"""Replies by which it is found out whether a metric's main number was the score."""


def mapping(value: object) -> dict[str, Any]:
    """Return a mapping as a dict, an empty one for anything else."""
    return dict(value) if isinstance(value, Mapping) else {}


def rescorable(record: Record) -> bool:
    """Tell whether the record holds an answer that a metric scored."""
    return record.score is not None and record.raw is not None and record.metric != ASSERTION


def under(record: Record, threshold: float | None) -> Record:
    """Return the record judged by a threshold; None, and cases without a score, change nothing."""
    if threshold is None or record.score is None or record.metric == ASSERTION:
        return record
    passed = record.score >= threshold
    outcome: Outcome = "right" if passed else "wrong"
    return replace(record, passed=passed, outcome=outcome)


class Opener:
    """Opens the datasets of a run, and makes sure that they are the run's."""

    def __init__(
        self,
        path: Path,
        run: Mapping[str, Any],
        compat: Compat,
        data: Path,
        registry: Registry,
    ) -> None:
        self.compat: Compat = compat
        self.registry = registry
        self.notes: list[str] = []
        self._path = path
        self._run = run
        self._data = data
        found = run.get("compat", COMPAT_MODES[0])
        self.old = check_compat(str(found))
        if self.old != compat:
            self.notes.append(
                f"the prompts were made in compat {self.old}; what is judged in compat {compat} "
                f"are the replies to those"
            )

    def open(self, name: str) -> tuple[Dataset, Source]:
        """Open a dataset. Raises `DataMissing`, or `DataError` naming the file that differs."""
        if name not in self.registry.datasets:
            raise SettingsError(f"dataset {printable(name, 80)!r} is not built in")
        dataset = self.registry.datasets[name]
        folder = self._data / dataset.folder
        source = dataset.open(folder, compat=self.old)
        self._check_digests(name, folder, source.facts.files)
        if self.old != self.compat:
            source = dataset.open(folder, compat=self.compat)
        return dataset, source

    def _check_digests(self, name: str, folder: Path, files: Mapping[str, str]) -> None:
        facts = mapping(mapping(self._run.get("datasets")).get(name))
        recorded = facts.get("files")
        if not isinstance(recorded, Mapping):
            raise SettingsError(
                f"{self._path / 'run.json'} does not say which files of {name} the run used, so "
                f"its answers cannot be scored again"
            )
        for file, digest in recorded.items():
            if files.get(file) != digest:
                raise DataError(
                    f"{name}: {printable(str(file), 120)} in {folder} is not what the run used "
                    f"(SHA-256 {str(files.get(file, 'none'))[:12]}, the run had "
                    f"{printable(str(digest), 12)}); give the folder with that data: "
                    f"--bench-data DIR"
                )


class Scorer:
    """Scores the answers of a run by other rules, each different reply to a question once."""

    def __init__(
        self, opener: Opener, records: Sequence[Record], limits: Mapping[str, float]
    ) -> None:
        self._opener = opener
        self._limits = limits
        self._records = records
        self._opened: dict[str, tuple[Dataset, Source]] = {}
        self._counted: dict[tuple[str, str | None], str | None] = {}
        self._known: dict[tuple[str, str | None], Record] = {}
        self._example: Example | None = None
        self._of: tuple[str, str] | None = None

    def judge(self) -> list[Record]:
        """Return the records in the same order, judged again."""
        judged: dict[str, Record] = {}
        # One example after the other: each is loaded once, and none is kept.
        for record in sorted(self._records, key=lambda one: (one.dataset, one.example_id)):
            judged[record.case_id] = self._judge(record) if rescorable(record) else record
        return [judged[record.case_id] for record in self._records]

    def _judge(self, record: Record) -> Record:
        example = self._load(record.dataset, record.example_id)
        key = str(record.raw), record.metric
        if key not in self._known:
            self._known[key] = self._score(record, example)
        found = self._known[key]
        return replace(
            record,
            score=found.score,
            parts=found.parts,
            prediction=found.prediction,
            references=found.references,
            passed=found.passed,
            outcome=found.outcome,
        )

    def _load(self, dataset: str, example_id: str) -> Example:
        if dataset not in self._opened:
            self._opened[dataset] = self._opener.open(dataset)
            self._find_counted(dataset)
        if self._example is None or self._of != (dataset, example_id):
            self._example = self._opened[dataset][1].example(example_id)
            self._of = dataset, example_id
            self._known.clear()
        return self._example

    def _score(self, record: Record, example: Example) -> Record:
        dataset, compat = self._opened[record.dataset][0], self._opener.compat
        judged = self._chain(record, example, compat)
        scored, part = judged.score, self._counted[record.dataset, record.metric]
        if record.metric is not None and record.metric != dataset.metric:
            # The assertion named another metric than the dataset's.
            registry, part = self._opener.registry, record.metric
            scored = score(
                part,
                judged.prediction,
                judged.references,
                compat=compat,
                metrics=registry.metrics,
                **example.context,
            )
        if scored is None:
            raise SettingsError(f"dataset {printable(record.dataset, 80)!r} has no metric")
        new = replace(
            record,
            score=scored.parts.get(part, scored.value) if part else scored.value,
            parts=dict(scored.parts),
            prediction=judged.prediction,
            references=example.references,
        )
        return under(new, self._limits[record.dataset])

    def _chain(self, record: Record, example: Example, compat: Compat) -> Judged:
        return judge_reply(
            self._opener.registry,
            self._opened[record.dataset][0],
            str(record.raw),
            example.references,
            compat=compat,
            **example.context,
        )

    def _find_counted(self, dataset: str) -> None:
        """Find out which number of its metric was each score: None for the main one.

        Assertions may name a number of the metric, and records do not say which. The main one
        is taken unless it was not the score; then the one that equals the score in all records.
        """
        groups: dict[str | None, list[Record]] = {}
        for record in self._records:
            if record.dataset == dataset and rescorable(record):
                groups.setdefault(record.metric, []).append(record)
        for metric, records in groups.items():
            names = set.intersection(*(_equal_to_score(record) for record in records))
            if not names or self._main_counts(dataset, records):
                self._counted[dataset, metric] = None
            else:
                self._counted[dataset, metric] = min(names)

    def _main_counts(self, dataset: str, records: Sequence[Record]) -> bool:
        if records[0].metric != self._opened[dataset][0].metric:
            return True  # then the metric itself was named
        telling = [one for one in records if len(set(one.parts.values())) > 1][:_SAMPLE]
        source = self._opened[dataset][1]
        judged = [
            self._chain(one, source.example(one.example_id), self._opener.old).score
            for one in telling
        ]
        return all(
            found is not None and abs(found.value - (one.score or 0.0)) <= SAME
            for found, one in zip(judged, telling, strict=True)
        )


def _equal_to_score(record: Record) -> set[str]:
    """Return the names of the record's numbers that are its score."""
    return {
        name
        for name, value in record.parts.items()
        if isinstance(value, int | float) and abs(value - (record.score or 0.0)) <= SAME
    }
