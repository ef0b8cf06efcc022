"""One model's part of a run that is being kept: its rows so far, and what its calls have cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from pytest_tablebench.results.checks import JoinedCase
from pytest_tablebench.results.figures import sum_of_known
from pytest_tablebench.results.folder import RunFolder
from pytest_tablebench.results.message import AnswerCost, CaseMessage
from pytest_tablebench.results.record import ScoreRow, row_values
from pytest_tablebench.results.texts import TEXTS, TextWriter

MAPPINGS = 1024
"""Small mappings of rows that are known at a time."""


_PLAIN = {bool, int, float, str, type(None)}


@dataclass
class _Paid:
    """What calls have cost, summed up; None where a part of it is unknown."""

    calls_paid: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0

    def add(self, calls: int, spent: AnswerCost) -> None:
        """Add what calls have cost together."""
        self.calls_paid += calls
        self.prompt_tokens = _plus(self.prompt_tokens, spent.prompt_tokens)
        self.completion_tokens = _plus(self.completion_tokens, spent.completion_tokens)
        self.cost_usd = _plus(self.cost_usd, spent.cost_usd)


def _paid(totals: Mapping[str, Any] | None, summed: _Paid) -> dict[str, Any]:
    """Return what the engine says was paid, else what the records add up to."""
    if totals is None:
        return {**vars(summed), "calls_repeated": None}
    return {name: totals[name] for name in vars(summed)} | {"calls_repeated": totals["retries"]}


def _sum(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    if not first["calls_paid"]:
        return dict(second)
    return {name: _plus(first[name], second[name]) for name in first}


@dataclass
class ModelRun:
    """One model's part of a run.

    What it cost is summed up over the records, unless the engine makes the calls: then the
    engine's own `totals` count, which hold calls that no case took in the end as well.
    """

    model: str
    path: Path
    folder: RunFolder | None = None
    rows: dict[str, ScoreRow] = field(default_factory=dict)
    cases: dict[str, JoinedCase] = field(default_factory=dict)
    totals: Mapping[str, Any] | None = None
    judge_totals: Mapping[str, Any] | None = None
    paid: _Paid = field(default_factory=_Paid)
    judge: _Paid = field(default_factory=_Paid)
    written: int = 0
    claimed: bool = False
    inapplicable: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Dataset of each case whose table a perturbation does not apply to, and why, by case id."""
    inapplicable_items: int = 0
    _mappings: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.move(self.path)

    def move(self, path: Path) -> None:
        """Take another folder, before anything is written."""
        self.path = path
        self.texts = TextWriter(path / TEXTS)

    @property
    def hits(self) -> int:
        """How many cases were answered from the store alone."""
        return sum(case.from_store for case in self.cases.values())

    def thinking(self) -> dict[str, int | None]:
        """Return the tokens of thinking of all answers, None when unknown, and extended cases."""
        tokens = [case.reasoning_tokens for case in self.cases.values()]
        return {
            "thinking_tokens": sum_of_known(tokens),
            "cases_extended": sum(case.is_extended for case in self.cases.values()),
        }

    def shared(self, row: ScoreRow) -> ScoreRow:
        """Return a row that has its names and its small mappings in common with others.

        What a worker tells is new with every message, though most of it is the same.
        """
        return ScoreRow(*map(self._share, row_values(row)))

    def _share(self, value: Any) -> Any:
        if type(value) is str:
            return intern(value)
        if not isinstance(value, dict):
            return value
        kinds = tuple(map(type, value.values()))  # True is 1 for a dict, and not for a reader
        if not _PLAIN.issuperset(kinds):
            return value
        if len(self._mappings) >= MAPPINGS:  # all differ: keeping them would share nothing
            self._mappings.clear()
        return self._mappings.setdefault((kinds, tuple(value.items())), value)

    def add(self, message: CaseMessage) -> None:
        """Count what an item has cost."""
        if message.calls and message.spent is not None:
            self.paid.add(message.calls, message.spent)
        for spent in message.judged:
            self.judge.add(1, spent)

    def spent(self) -> dict[str, Any]:
        """Return what has been paid so far: sums with an unknown part are None."""
        totals = _paid(self.totals, self.paid)
        if self.totals is None or self.judge_totals is not self.totals:
            judged = _paid(self.judge_totals, self.judge)
            if judged["calls_paid"]:
                totals = _sum(totals, judged)
        if not totals["calls_paid"]:
            # Nothing was asked: whether it would have had a price is not known.
            totals |= {"prompt_tokens": None, "completion_tokens": None, "cost_usd": None}
        return totals


def _plus(total: Any, part: Any) -> Any:
    return None if total is None or part is None else total + part
