"""One model's part of a run that is being written: its rows and costs so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from pytest_tablebench.results.figures import newest, sum_of_known
from pytest_tablebench.results.folder import RunFolder
from pytest_tablebench.results.message import CaseMessage, JoinedCase
from pytest_tablebench.results.record import ScoreRow, row_values
from pytest_tablebench.results.texts import TEXTS, TextWriter

MAPPINGS = 1024
"""The number of small mappings that rows may share at a time."""

_PLAIN = {bool, int, float, str, type(None)}


_NO_CALLS = {"calls_paid": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0}


def _sum(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sums of two costs; a sum with an unknown part is None."""
    if not first["calls_paid"]:
        return dict(second)
    pairs = ((name, (first[name], second[name])) for name in first)
    return {name: None if None in pair else sum(pair) for name, pair in pairs}


def _paid(totals: Mapping[str, Any] | None, summed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the engine's totals, or without them the sums over records."""
    if totals is None:
        return {**summed, "calls_repeated": None}
    return {name: totals[name] for name in summed} | {"calls_repeated": totals["retries"]}


def keep_answer(case: JoinedCase, message: CaseMessage) -> None:
    """Keep what is counted of the answer in a message."""
    case.from_store, case.stored_at = message.from_store, message.stored_at
    case.reasoning_tokens, case.is_extended = message.reasoning_tokens, message.is_extended
    case.served = message.served and intern(message.served)


@dataclass
class ModelRun:
    """One model's part of a run.

    If the engine makes the calls, its `totals` are the cost, which include calls that no case
    used. Otherwise the cost is the sum over the records.
    """

    model: str
    path: Path
    folder: RunFolder | None = None
    rows: dict[str, ScoreRow] = field(default_factory=dict)
    cases: dict[str, JoinedCase] = field(default_factory=dict)
    totals: Mapping[str, Any] | None = None
    judge_totals: Mapping[str, Any] | None = None
    paid: Mapping[str, Any] = field(default_factory=lambda: _NO_CALLS)
    judge: Mapping[str, Any] = field(default_factory=lambda: _NO_CALLS)
    written: int = 0
    claimed: bool = False
    inapplicable: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By case id: the dataset, and the reason why the perturbation does not apply."""
    inapplicable_items: int = 0
    _mappings: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.move(self.path)

    def move(self, path: Path) -> None:
        """Use another folder, before anything is written."""
        self.path = path
        self.texts = TextWriter(path / TEXTS)

    @property
    def hits(self) -> int:
        """The number of cases answered from the store alone."""
        return sum(case.from_store for case in self.cases.values())

    @property
    def newest_stored(self) -> str | None:
        """When the newest stored answer was written; None without any."""
        return newest(case.stored_at for case in self.cases.values() if case.from_store)

    def about_replies(self) -> dict[str, Any]:
        """Return the thinking tokens (None if unknown), the extended cases, and what answered."""
        cases = self.cases.values()
        served = Counter(case.served for case in cases if case.served is not None)
        return {
            "thinking_tokens": sum_of_known([case.reasoning_tokens for case in cases]),
            "cases_extended": sum(case.is_extended for case in cases),
            **({"served": dict(served.most_common())} if served else {}),
        }

    def shared(self, row: ScoreRow) -> ScoreRow:
        """Return an equal row that shares its texts and small mappings with other rows.

        Each worker message is decoded into new objects, although most of them are equal.
        """
        return ScoreRow(*map(self._share, row_values(row)))

    def _share(self, value: Any) -> Any:
        if type(value) is str:
            return intern(value)
        if not isinstance(value, dict):
            return value
        kinds = tuple(map(type, value.values()))  # keeps True and 1 apart
        if not _PLAIN.issuperset(kinds):
            return value
        if len(self._mappings) >= MAPPINGS:  # so many differ that keeping them is useless
            self._mappings.clear()
        return self._mappings.setdefault((kinds, tuple(value.items())), value)

    def add(self, message: CaseMessage) -> None:
        """Add the cost of an item."""
        if message.calls and message.spent is not None:
            spent = {"calls_paid": message.calls, **message.spent._asdict()}
            self.paid = _sum(self.paid, spent)
        for judged in message.judged:
            self.judge = _sum(self.judge, {"calls_paid": 1, **judged._asdict()})

    def spent(self) -> dict[str, Any]:
        """Return the costs so far; a sum with an unknown part is None."""
        totals = _paid(self.totals, self.paid)
        if self.totals is None or self.judge_totals is not self.totals:
            judged = _paid(self.judge_totals, self.judge)
            if judged["calls_paid"]:
                totals = _sum(totals, judged)
        if not totals["calls_paid"]:
            # Without calls it is unknown whether they would have a price.
            totals |= {"prompt_tokens": None, "completion_tokens": None, "cost_usd": None}
        return totals
