"""The verdict on a migration, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pytest_tablebench.claims.differences import Difference
from pytest_tablebench.claims.gates import GateResult
from pytest_tablebench.results.exit_codes import FAILS, HOLDS, UNDECIDED
from pytest_tablebench.results.record import SCHEMA

Verdict = Literal["yes", "no", "undecided"]

_CODES: Mapping[Verdict, int] = {"yes": HOLDS, "no": FAILS, "undecided": UNDECIDED}


@dataclass(frozen=True)
class Latency:
    """The seconds of a run's answers. `stored` is whether they were measured in earlier runs."""

    median: float
    p95: float
    answers: int
    stored: bool


@dataclass(frozen=True, kw_only=True)
class Side:
    """One model's run.

    Args:
        ended: why the run is incomplete; None for a complete run.
        cases: the recorded cases; `stored` of them have answers of earlier runs.
        no_answer, cut_off, truncated: shares of the cases, from 0 to 1.
        reasons: the numbers of cases without an answer, by reason.
        latency: None if no answer has a time.
        price: US dollars for 1,000 cases, at the prices of the calls; None if unknown.
        tokens: per case: `prompt_tokens`, `completion_tokens` and `reasoning_tokens`; None if
            unknown.
        paid_usd: what this run itself cost; None if unknown.
    """

    model: str
    path: str
    ended: str | None = None
    cases: int
    stored: int
    no_answer: float
    cut_off: float
    truncated: float
    reasons: Mapping[str, int]
    latency: Latency | None
    price: float | None
    tokens: Mapping[str, float | None]
    calls_paid: int | None
    paid_usd: float | None


@dataclass(frozen=True)
class JudgedScope:
    """The non-inferiority of one dataset or slice.

    `name` is the serializer or `tag=value`; for a dataset, its name. `before` and `after` are means
    over the same examples. `result` is the estimate of after minus before,
    `result.bound` is minus the margin.
    """

    kind: Literal["dataset", "serializer", "tag"]
    dataset: str
    name: str
    before: float | None
    after: float | None
    result: GateResult

    @property
    def label(self) -> str:
        """The dataset, with the name of a slice."""
        return self.dataset if self.kind == "dataset" else f"{self.dataset}, {self.name}"


@dataclass(frozen=True)
class Change:
    """A case whose verdict changed, with both answers."""

    case: str
    expected: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Migration:
    """The verdict on one candidate.

    Args:
        verdict: `yes` if every dataset is non-inferior and every gate holds; `no` if a dataset or
            slice is inferior, a gate fails, or answers are missing; otherwise `undecided`.
        reasons: sentences that explain the verdict, most important first.
        margin: the loss that is accepted, as a share of 1.
        scopes: each dataset, followed by its slices.
        answers: the no-answer shares, one result for each dataset.
        gates: the project's gates, as judged at the end of the new model's run.
        better, worse: examples of cases that became right or wrong.
        n_better, n_worse: the numbers of all such cases.
        same_text, other_text: the numbers of cases with the same answer text, and with another
            text but the same verdict.
        differences: what differs in addition to the model.
        remarks: limits of this comparison.
    """

    old: Side
    new: Side
    verdict: Verdict
    reasons: tuple[str, ...]
    margin: float
    scopes: tuple[JudgedScope, ...]
    answers: tuple[GateResult, ...] = ()
    gates: tuple[GateResult, ...] = ()
    better: tuple[Change, ...] = ()
    worse: tuple[Change, ...] = ()
    n_better: int = 0
    n_worse: int = 0
    same_text: int = 0
    other_text: int = 0
    differences: tuple[Difference, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def datasets(self) -> tuple[JudgedScope, ...]:
        """The whole datasets."""
        return tuple(scope for scope in self.scopes if scope.kind == "dataset")

    @property
    def further(self) -> int | None:
        """The largest number of further examples that an undecided dataset or gate needs.

        None if nothing is undecided, if the number of one of them cannot be computed, and for an
        incomplete run.
        """
        if self.old.ended is not None or self.new.ended is not None:
            return None
        results = [*(scope.result for scope in self.datasets), *self.gates]
        numbers = [result.further for result in results if result.state == "undecided"]
        present = [number for number in numbers if number is not None]
        return max(present) if present and len(present) == len(numbers) else None

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON values, with its schema number."""
        values = {"schema": SCHEMA, **asdict(self), "further_examples": self.further}
        values["scopes"] = [asdict(scope) | _entry(scope.result) for scope in self.scopes]
        values["answers"] = [result.entry() for result in self.answers]
        values["gates"] = [_entry(result) for result in self.gates]
        return values


def _entry(result: GateResult) -> dict[str, Any]:
    return {"result": result.entry(), "further": result.further}


def cheapest(migrations: Sequence[Migration]) -> Migration | None:
    """Return the cheapest candidate that may replace the old model; None without any.

    A single one needs no price. Of several, only those with a known price count.
    """
    passing = [migration for migration in migrations if migration.verdict == "yes"]
    if len(passing) == 1:
        return passing[0]
    priced = [migration for migration in passing if migration.new.price is not None]
    return min(priced, key=lambda migration: migration.new.price or 0.0) if priced else None


def exit_code_of(migrations: Sequence[Migration]) -> int:
    """Return 0 if a candidate may replace the old model, else 11 if one is undecided, else 10."""
    verdicts = {migration.verdict for migration in migrations}
    best: Verdict = "yes" if "yes" in verdicts else "undecided" if "undecided" in verdicts else "no"
    return _CODES[best]
