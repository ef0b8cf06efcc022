"""What a look of a canary depends on, apart from the model: to tell our changes from theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_tablebench.claims.differences import (
    Difference,
    compared_facts,
    differences_between,
    digest_of,
    sent_differences,
)
from pytest_tablebench.config.axes import NAMED, names_on
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.entries import mapping

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
