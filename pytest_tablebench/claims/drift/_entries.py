"""Make, write and read the entries of a history, and tell our changes from theirs.

    {"schema": 1, "kind": "reference", "id": "...", "time": "...", "project": "...", "model": "...",
     "setup": {...}, "fingerprints": {...}, "cases": [...], "clusters": [...],
     "scores": [[...], ...], "answers": [[...], ...]}
    {"schema": 1, "kind": "look", "id": "...", "time": "...", "project": "...", "model": "...",
     "setup": {...}, "fingerprints": {...}, "reference": "...", "scores": [...], "answers": [...]}

`scores` and `answers` (digests) of a look are in the order of the reference's `cases`; null is a
missing answer. Two files with the same reference can be joined line by line, in any order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.differences import (
    Difference,
    compared_facts,
    differences_between,
    digest_of,
    sent_differences,
)
from pytest_tablebench.claims.drift._watch import MOST_MISSING
from pytest_tablebench.config.axes import NAMED, names_on
from pytest_tablebench.errors import DataError, SettingsError, writing
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.entries import mapping, parsed_json
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import out_of, shortened
from pytest_tablebench.util.notices import notice

SCHEMA = 1

FINISHED = "\n"


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    """A reference or a look.

    Arguments:
        kind: `reference` or `look`.
        id: unique; the looks of a reference name it in `reference`.
        time: in ISO 8601, UTC.
        setup: see `setup_of`.
        fingerprints: how many answers name each fingerprint.
        served: how many cases each model, provider and version answered; empty if unknown.
        cases, clusters: of a reference, in order.
        scores: by case; of a reference the scores of all repeats. None without an answer.
        answers: digests of the answers, as `scores`.
        reference: the id of a look's reference.
    """

    kind: str
    id: str
    time: str
    project: str
    model: str
    setup: Mapping[str, Any]
    fingerprints: Mapping[str, int] = field(default_factory=dict)
    served: Mapping[str, int] = field(default_factory=dict)
    cases: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    scores: tuple[Any, ...] = ()
    answers: tuple[Any, ...] = ()
    reference: str | None = None

    def to_line(self) -> str:
        """Return the line in the file, with its line end."""
        fields = {name: value for name, value in asdict(self).items() if value not in ((), None)}
        return json.dumps({"schema": SCHEMA, **fields}) + FINISHED


@dataclass(frozen=True)
class History:
    """The last reference of a watch with its looks, by time. `entries` are all of the file."""

    path: Path
    entries: tuple[HistoryEntry, ...] = ()

    @property
    def reference(self) -> HistoryEntry | None:
        """The newest reference."""
        return next((e for e in reversed(self.entries) if e.kind == "reference"), None)

    @property
    def looks(self) -> list[HistoryEntry]:
        """The looks of the newest reference, by time."""
        reference = self.reference
        if reference is None:
            return []
        return [e for e in self.entries if e.kind == "look" and e.reference == reference.id]

    def with_entry(self, entry: HistoryEntry) -> History:
        """Return the history with one more entry, and write the file whole."""
        after = History(self.path, _ordered([*self.entries, entry]))
        with writing(f"cannot write the history {self.path}"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, [e.to_line() for e in after.entries], durable=True)
        return after

    def check(self, project: str) -> None:
        """Raise `SettingsError` if the file belongs to another project."""
        for entry in self.entries:
            if entry.project != project:
                raise SettingsError(
                    f"{self.path} is the history of the project {entry.project!r}, "
                    f"and this is {project!r}: name another --history, or the "
                    f"project with --name"
                )


def read_history(path: Path) -> History:
    """Read a history; a missing file is an empty one.

    An incomplete last line is left out with a notice. Duplicates of an id are left out, and the
    entries are sorted by time, so joined files need no care. Raises `SettingsError` for any other
    damaged line, naming it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return History(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the history {path} cannot be read: {error}") from None
    lines = text.split(FINISHED)
    entries = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entries.append(_entry(parsed_json(line)))
        except (ValueError, TypeError) as error:
            if number == len(lines):  # no line end follows
                notice(f"{path}: line {number} is incomplete and left out; its look is lost")
                continue
            raise SettingsError(
                f"{path}, line {number}: not a line of a watch ({shortened(str(error), 100)}); "
                f"remove the line"
            ) from None
    return History(path, _ordered(entries))


def _ordered(entries: list[HistoryEntry]) -> tuple[HistoryEntry, ...]:
    distinct = {entry.id: entry for entry in reversed(entries)}
    return tuple(sorted(distinct.values(), key=lambda entry: (entry.time, entry.id)))


def _entry(data: Any) -> HistoryEntry:
    """Return the entry of a line. Raises `ValueError` or `TypeError`."""
    if not isinstance(data, dict):
        raise TypeError("not an object")
    schema = data.pop("schema", None)
    if schema != SCHEMA:
        raise ValueError(f"schema {schema!r}; upgrade pytest-tablebench")
    lists = ("cases", "clusters", "scores", "answers")
    fields: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in data.items()}
    entry = HistoryEntry(**fields)
    texts = (entry.id, entry.time, entry.project, entry.model)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("id, time, project or model is not text")
    if not all(isinstance(x, dict) for x in (entry.setup, entry.fingerprints, entry.served)):
        raise TypeError("setup, fingerprints or served is not an object")
    rows = [entry.scores] if entry.kind == "look" else entry.scores
    for value in (value for row in rows for value in row):
        if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
            raise ValueError("a score is not between 0 and 1")
    if entry.kind == "reference":
        shape = {len(entry.cases), len(entry.clusters), len(entry.scores), len(entry.answers)}
        if len(shape) != 1 or len({len(row) for row in entry.scores}) != 1:
            raise ValueError("its lists have different lengths")
    return entry


FEWEST = 10
"""Clusters that a reference needs."""


def reference_entry(run: RunFacts, records: Sequence[Record], **facts: Any) -> HistoryEntry:
    """Return the reference: the cases that every repeat answered.

    `facts` are further fields of the entry. Raises `DataError`
    if there are fewer than two repeats, too few clusters, or too many cases without an answer.
    """
    repeats = run.repeats or max((record.repeat for record in records), default=0)
    if repeats < 2:
        raise DataError("a reference needs at least two repeats of each case (--repeats)")
    by_case: dict[str, list[Record]] = {}
    for name, record in cases_of(records):
        by_case.setdefault(name, []).append(record)
    whole = {
        case: sorted(rows, key=lambda record: record.repeat)
        for case, rows in sorted(by_case.items())
        if len(rows) == repeats and all(record.score is not None for record in rows)
    }
    # A run that stops early records only some of the planned cases.
    count = max(len(by_case), (run.cases_planned or 0) // repeats)
    if len(whole) < (1 - MOST_MISSING) * count or not whole:
        raise DataError(
            f"no reference: only {out_of(len(whole), count, 'case')} answered by every "
            f"repeat{_reason(records)}"
        )
    clusters = _clusters([rows[0] for rows in whole.values()])
    if len(set(clusters)) < FEWEST:
        raise DataError(
            f"no reference: the canary has {len(set(clusters))} clusters, and a watch needs "
            f"{FEWEST}; raise --canary"
        )
    return HistoryEntry(
        kind="reference",
        model=run.model,
        setup=setup_of(run, (rows[0] for rows in whole.values())),
        cases=tuple(whole),
        clusters=clusters,
        scores=tuple([record.score for record in rows] for rows in whole.values()),
        answers=tuple([_mark(record) for record in rows] for rows in whole.values()),
        **facts,
    )


def look_entry(
    run: RunFacts, records: Iterable[Record], reference: HistoryEntry, **facts: Any
) -> HistoryEntry:
    """Return a look over the reference's cases.

    Cases that a stopped run did not reach have no answer. Raises `DataError` for a whole run that
    lacks cases of the canary, or of another model.
    """
    if run.model != reference.model:
        raise DataError(
            f"the history watches {reference.model}, and this run asked "
            f"{run.model}: name another --history"
        )
    by_case = dict(cases_of(record for record in records if record.repeat == 1))
    missing = [case for case in reference.cases if case not in by_case]
    present = [by_case[case] for case in reference.cases if case in by_case]
    setup = setup_of(run, present)
    if missing and run.cases_recorded != run.cases_planned:
        setup[PROMPTS] = reference.setup.get(PROMPTS, "")
    elif missing:
        changes = our_changes(reference.setup, setup)
        data = [change.text for change in changes if change.kind == "data"]
        why = f", because we changed the {' and the '.join(data)}" if data else ""
        raise DataError(
            f"{out_of(len(missing), len(reference.cases), 'case')} of the canary (such as "
            f"{missing[0]}) did not run{why}; make a new one with --new-reference"
        )
    rows = [by_case.get(case) for case in reference.cases]
    return HistoryEntry(
        kind="look",
        model=reference.model,
        setup=setup,
        scores=tuple(None if row is None else row.score for row in rows),
        answers=tuple(None if row is None or row.score is None else _mark(row) for row in rows),
        reference=reference.id,
        **facts,
    )


def _clusters(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the cluster of each record; the examples of a dataset with one table are their own."""
    tables: dict[str, set[str | None]] = {}
    for record in records:
        tables.setdefault(record.dataset, set()).add(record.cluster)
    return tuple(
        record.cluster
        if record.cluster and len(tables[record.dataset]) > 1
        else f"{record.dataset}/{record.example_id}"
        for record in records
    )


def _mark(record: Record) -> str:
    return f"{(record.answer_mark or 0) & (2**64 - 1):016x}"


def _reason(records: Iterable[Record]) -> str:
    reasons = Counter(record.reason for record in records if record.reason)
    return f" ({reasons.most_common(1)[0][0] or ''})" if reasons else ""


PROMPTS = "prompts"

_RUN = "run"


def setup_of(run: RunFacts, records: Iterable[Record]) -> dict[str, Any]:
    """Return what to compare of a run: the facts of its `run.json`, and a digest of all prompts."""
    prompts = {name: record.prompt_digest for name, record in cases_of(records)}
    return {PROMPTS: digest_of(prompts), _RUN: compared_facts(run)}


def our_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Return the differences between two set-ups that are not the provider's.

    The number of repeats and of examples is none: a look has only the cases of the reference, and
    asks each once. The set-up of an earlier version has no facts, which is a difference.
    """
    if not (mapping(before, _RUN) and mapping(after, _RUN)):
        texts = tuple(
            "recorded" if mapping(setup, _RUN) else "unknown" for setup in (before, after)
        )
        return [Difference("settings of an earlier version", "setting", texts)]
    runs = [RunFacts.from_json(mapping(s, _RUN), "the history") for s in (before, after)]
    changes = [
        change
        for change in (*differences_between(*runs), *sent_differences(*runs))
        if change.category != "theirs" and change.kind != "selection"
    ]
    if before.get(PROMPTS) != after.get(PROMPTS):
        texts = tuple(str(setup.get(PROMPTS)) for setup in (before, after))
        changes.append(Difference("prompts of the canary", "prompt", texts))
    return changes


def cases_of(records: Iterable[Record]) -> Iterator[tuple[str, Record]]:
    """Yield each record with what identifies its case in every run of a canary.

    That is its id without model and repeat; names on axes that do not change the question are in
    it if the records have several.
    """
    rows = list(records)
    axes = [
        axis
        for axis in NAMED
        if axis.changes_the_question or len({names_on(record, (axis,)) for record in rows}) > 1
    ]
    for record in rows:
        yield "/".join((record.dataset, record.example_id, *names_on(record, axes))), record
