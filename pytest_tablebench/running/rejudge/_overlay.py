"""Add, replace or remove the corrections of the gold of a finished run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pytest_tablebench.datasets import Source
from pytest_tablebench.results.corrected import corrected_cases, corrections_entry
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.running.correcting import (
    Correcting,
    check_corrections,
    load_corrections,
)
from pytest_tablebench.running.correction_files import option_file
from pytest_tablebench.running.rejudge._scorer import Opener, parts_of_answer


@dataclass(frozen=True)
class Overlay:
    """The corrections of a file, and the datasets of the run that they are about."""

    correcting: Correcting

    @classmethod
    def read(cls, path: Path, opener: Opener, records: Sequence[Record]) -> Overlay:
        """Read a file, and check it against the examples of a run.

        Raises `SettingsError` for a bad file and for a correction of an example that is missing or
        has changed, and what `Opener.open` raises.
        """
        file = option_file(path)
        corrections = load_corrections(file)

        @cache
        def source(dataset: str) -> Source:
            return opener.open(dataset)[1]

        examples: dict[str, set[str]] = {}
        for record in records:
            examples.setdefault(record.dataset, set()).add(record.example_id)
        check_corrections(corrections, examples, source)
        correcting = Correcting(
            corrections,
            opener.registry,
            lambda dataset, example_id: source(dataset).example(example_id),
            opener.compat,
            opener.seed,
            [file],
        )
        return cls(correcting)

    def apply(self, records: Sequence[Record]) -> list[Record]:
        """Return the records with their scores by the corrected gold."""
        registry = self.correcting.registry
        return [
            self.correcting.corrected(
                replace(record, corrected=None),
                record.raw if record.score is not None else None,
                parts_of_answer(record, registry),
            )
            for record in records
        ]

    def entry(self, records: Sequence[Record]) -> dict[str, Any]:
        """Return the entry `corrections` of `run.json`."""
        correcting = self.correcting
        digest = correcting.corrections.digest
        return corrections_entry(correcting.file_names, digest, corrected_cases(records))


REMOVED = (
    "the scores by the corrected gold are left out, since the answers were scored again: add "
    "--bench-corrections=FILE"
)
"""The note on a run that was scored again without its corrections."""


def without_overlay(run: RunFacts, records: Sequence[Record]) -> list[Record]:
    """Return the records without scores by the corrected gold, if the run has any."""
    if not run.corrections:
        return list(records)
    return [replace(record, corrected=None) for record in records]
