"""The sides of a migration and the verdict on it, as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pytest_tablebench.claims.compare import RunComparison
from pytest_tablebench.claims.differences import Difference, sent_differences
from pytest_tablebench.claims.gates import GateResult
from pytest_tablebench.claims.summary import spent_on
from pytest_tablebench.results.exit_codes import FAILS, HOLDS, UNDECIDED
from pytest_tablebench.results.record import SCHEMA, Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import counted, out_of

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

    `kind` is `dataset`, `serializer` or `tag`. `name` is the name of the dataset or serializer, or
    `tag=value`. `before` and `after` are means over the same examples. `result` is the estimate of
    after minus before, `result.bound` is minus the margin.
    """

    kind: str
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


_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens")


def side_of(run: Run) -> Side:
    """Return the figures of a run. A run without records has shares of 0."""
    records = run.records
    facts, total = run.facts, max(1, len(records))
    answered = [record for record in records if record.raw is not None]
    spent = spent_on(answered)
    tallies = Counter(name for record in records for name in record.tallies)
    reasons = Counter(str(record.reason) for record in records if record.score is None)
    cost = spent["cost_usd"]
    tokens = {name: spent.get(name) for name in _TOKENS}
    each = max(1, len(answered))
    return Side(
        model=facts.model,
        path=str(run.path),
        ended=ended_of(run),
        cases=len(records),
        stored=sum(record.from_store for record in records),
        no_answer=sum(reasons.values()) / total,
        cut_off=tallies["cut_off"] / total,
        truncated=tallies["truncated"] / total,
        reasons=dict(reasons.most_common()),
        latency=_latency(answered),
        price=None if cost is None else 1000 * cost / each,
        tokens={name: None if count is None else count / each for name, count in tokens.items()},
        calls_paid=facts.calls_paid,
        paid_usd=facts.cost_usd,
    )


def ended_of(run: Run) -> str | None:
    """Return why a run lacks cases that it planned; None if it is complete."""
    facts, recorded = run.facts, len(run.records)
    if facts.ended:
        return facts.ended
    if not facts.is_complete or recorded != facts.cases_planned:
        return f"{out_of(recorded, facts.cases_planned, 'case')} recorded"
    return None


def _latency(answered: Sequence[Record]) -> Latency | None:
    """Return the times of this run's answers, or of the stored ones if it has no other."""
    for is_stored in (False, True):
        times = [
            record.latency_s
            for record in answered
            if record.latency_s is not None and record.from_store is is_stored
        ]
        if times:
            median, p95 = np.quantile(times, (0.5, 0.95)).tolist()
            return Latency(median, p95, len(times), is_stored)
    return None


def differences_of(
    old: Run,
    new: Run,
    comparison: RunComparison,
    plans: Mapping[str, Mapping[str, Any]],
) -> tuple[Difference, ...]:
    """Return what differs in addition to the model: parameters, limits, thinking, settings.

    `plans` are the fields of each model's `ModelPlan`, by model; a model without calls has none.
    """
    sides = old, new
    planned = [plans.get(run.facts.model, {}) for run in sides]
    rows = [
        _row("token limit of replies", [_limits(run.records) for run in sides]),
        _row("context", [_tokens(plan.get("context")) for plan in planned]),
        _row("longest reply", [_tokens(plan.get("longest_reply")) for plan in planned]),
        _row("room for thinking", [_tokens(plan.get("room")) for plan in planned]),
        _row("thinking", [_thinking(run.records) for run in sides]),
        _row("provider", [_text(plan.get("provider")) for plan in planned]),
        _row("transport", [_text(plan.get("transport")) for plan in planned]),
    ]
    further = [item for item in comparison.differences if item.kind != "model"]
    return (*sent_differences(old.facts, new.facts), *filter(None, rows), *further)


def _row(name: str, texts: Sequence[str]) -> Difference | None:
    old, new = texts
    # A fact that one side does not have cannot be compared.
    if old == new or not old or not new:
        return None
    return Difference(name, "parameter", (old, new))


def _limits(records: Iterable[Record]) -> str:
    limits = sorted({record.reply_limit for record in records if record.reply_limit is not None})
    if not limits:
        return ""
    return _tokens(limits[0]) if len(limits) == 1 else f"{limits[0]:,} to {_tokens(limits[-1])}"


def _thinking(records: Sequence[Record]) -> str:
    """Return the mean tokens of thinking per answer that has a count."""
    tokens = [record.reasoning_tokens for record in records if record.reasoning_tokens is not None]
    if not any(tokens):
        return "none counted" if any(record.raw is not None for record in records) else ""
    return f"{sum(tokens) / len(tokens):,.0f} tokens an answer"


def _tokens(number: Any) -> str:
    return counted(number, "token") if isinstance(number, int) else ""


def _text(value: Any) -> str:
    return "" if value is None else str(value)
