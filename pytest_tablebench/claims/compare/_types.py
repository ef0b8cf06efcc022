"""The result of a comparison of two runs, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.differences import Difference
from pytest_tablebench.claims.paired import Measure, PairedEstimate
from pytest_tablebench.results.record import SCHEMA
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts


@dataclass(frozen=True)
class ScopeComparison:
    """All measures of one scope.

    `kind` is `benchmark`, `dataset`, an axis or `tag`, and `name` its name, for a tag `tag=value`.
    `dataset` is None for a benchmark. `n_cases` were answered on both sides; `better` and `worse`
    of them flipped. The shares without an answer are of all cases of that run in the scope.
    """

    kind: str
    benchmark: str
    dataset: str | None
    name: str
    measures: Mapping[Measure, PairedEstimate]
    no_answer_before: float | None
    no_answer_after: float | None
    n_cases: int
    better: int
    worse: int


@dataclass(frozen=True)
class ConfigurationFlips:
    """The flips in one configuration.

    `configuration` has a name by axis, "" on an axis of which the run has not several names. `test`
    is exact McNemar, or the sign-flip test over tables if examples share tables.
    """

    dataset: str
    configuration: Mapping[str, str]
    n_examples: int
    better: int
    worse: int
    p: float
    test: str


@dataclass(frozen=True)
class Answers:
    """The numbers of cases that both runs asked, by how their answers changed.

    `same_text`, `other_text` (another text, the same verdict) and `flipped` (another verdict)
    add up to the cases answered on both sides. `flipped_same_text` are flipped cases with the
    same text, which only other rules of scoring can cause.
    """

    same_text: int
    other_text: int
    flipped: int
    flipped_same_text: int
    gained: int
    lost: int
    neither: int


@dataclass(frozen=True)
class RunComparison:
    """The comparison of two runs; case ids are without the model.

    `better` are cases that changed from wrong to right, `worse` from right to wrong, `gained`
    from no answer to an answer, `lost` from an answer to none. `other_answer` are cases with
    different answers. `corrected` are the scopes by the corrected gold, if both runs have the same
    corrections and the comparison is by the published gold.
    """

    before: Run
    after: Run
    differences: tuple[Difference, ...]
    scopes: tuple[ScopeComparison, ...]
    configurations: tuple[ConfigurationFlips, ...]
    answers: Answers
    better: tuple[str, ...]
    worse: tuple[str, ...]
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    other_answer: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    remarks: tuple[str, ...]
    corrected: tuple[ScopeComparison, ...] = ()

    @property
    def unlike(self) -> tuple[Difference, ...]:
        """The differences that make the runs measure different things."""
        return tuple(difference for difference in self.differences if difference.unlike)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values, with its schema number."""
        no_run = Run(Path(), RunFacts())  # the records of the runs are left out
        plain = replace(self, before=no_run, after=no_run, scopes=(), corrected=())
        sides = {"before": _side(self.before), "after": _side(self.after)}
        values = {"schema": SCHEMA, **asdict(plain), **sides}
        for name in ("scopes", "corrected"):
            values[name] = [
                {**asdict(scope), "measures": {m: e.entry() for m, e in scope.measures.items()}}
                for scope in getattr(self, name)
            ]
        values["configurations"] = [
            {"dataset": entry.pop("dataset"), **entry.pop("configuration"), **entry}
            for entry in values["configurations"]
        ]
        if not self.corrected:
            del values["corrected"]
        return values


def _side(run: Run) -> dict[str, Any]:
    facts = run.facts
    return {
        "path": str(run.path),
        "model": facts.model,
        "status": facts.status,
        "planned": facts.cases_planned,
        "recorded": len(run.records),
        "unanswered": run.unanswered,
        "compat": facts.compat,
        "version": facts.version,
        "extended": run.extended,
    }
