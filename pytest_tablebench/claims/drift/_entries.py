"""Make the entries of a history from the records of runs, and tell our changes from theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.differences import (
    Difference,
    compared_facts,
    differences_between,
    digest_of,
    sent_differences,
)
from pytest_tablebench.claims.drift._history import HistoryEntry
from pytest_tablebench.claims.drift._watch import MOST_MISSING
from pytest_tablebench.config.axes import NAMED, names_on
from pytest_tablebench.errors import DataError
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.names import out_of

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
