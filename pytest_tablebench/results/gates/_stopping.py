"""Stop a run when every gate is decided: the base of the three rules (statistics.md 10)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from pytest_tablebench.config.axes import MODES, names_on
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.gates._counts import evaluate_cost
from pytest_tablebench.results.gates._evaluation import (
    EvaluatedGate,
    correct,
    evaluate_gate,
    missing_result,
    unclear_result,
)
from pytest_tablebench.results.gates._grammar import Gate, baseline_needed, parse_gate
from pytest_tablebench.results.gates._planned_cells import PlannedCells
from pytest_tablebench.results.gates._result import GateResult, State
from pytest_tablebench.results.gates._scopes import Clusters, Scopes
from pytest_tablebench.results.gates._sides import Key, Sides, key_of, read_side
from pytest_tablebench.results.score_table import ScoreTable, raw_digests
from pytest_tablebench.results.sheets import align
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import counted, out_of, unknown_name
from pytest_tablebench.util.seeds import seeded_random

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Places

RuleName = Literal["passes", "anytime", "point"]
RULES: tuple[RuleName, ...] = get_args(RuleName)

CaseLike = TypeVar("CaseLike")


def order(cases: Iterable[CaseLike], rule: RuleName, seed: int = 0) -> list[CaseLike]:
    """Return the cases in the order that a stopping rule requires.

    `passes` takes one configuration of every example, then the next. `anytime` takes all
    configurations of one example, then another example of another dataset. `point` shuffles single
    cases. The order depends only on `seed` and on the names of datasets, examples, serializers
    and perturbations, so a model and its baseline have the same order.
    """
    unordered = list(cases)
    rank = ranks((key_of(case) for case in unordered), rule, seed)
    return sorted(unordered, key=lambda case: rank[key_of(case)])


def _mode(cases: Iterable[Any]) -> dict[str, str]:
    """Return the names that all cases have on the axes of no grid."""
    names = [{names_on(case, (axis,))[0] for case in cases} for axis in MODES]
    return {
        axis.name: name
        for axis, (name, *others) in zip(MODES, names, strict=True)
        if name and not others
    }


def ranks(keys: Iterable[Key], rule: RuleName, seed: int = 0) -> dict[Key, tuple[Any, ...]]:
    """Return the sort key of each case; its first entry is the pass, the round or the position."""
    if rule not in RULES:
        raise SettingsError(unknown_name("stopping rule", str(rule), RULES))
    sorted_keys = sorted(set(keys))
    if rule == "point":
        return {key: (place,) for place, key in enumerate(_shuffled("cases", sorted_keys, seed))}
    examples: dict[Key, list[Key]] = {}
    for key in sorted_keys:
        examples.setdefault(key[:2], []).append(key)
    if rule == "passes":
        return {
            key: (place, key[:2])
            for name, example_keys in examples.items()
            for place, key in enumerate(_shuffled("/".join(name), example_keys, seed), start=1)
        }
    datasets: dict[str, list[Key]] = {}
    for name in examples:
        datasets.setdefault(name[0], []).append(name)
    return {
        key: (place, dataset, key)
        for dataset, names in datasets.items()
        for place, name in enumerate(_shuffled(dataset, names, seed), start=1)
        for key in examples[name]
    }


def _shuffled(name: str, values: Sequence[Any], seed: int) -> list[Any]:
    shuffled = list(values)
    seeded_random(f"stopping/{name}", seed=42 + seed).shuffle(shuffled)
    return shuffled


class StoppingRule(ABC):
    """Follows a run and reports when all its gates are decided.

    Decisions depend only on the planned order; records may arrive in any order. Gates on counts
    and cost never prolong a run: they are evaluated on the cases asked. A case without a record
    was not asked, which is not "no answer".
    """

    name: RuleName
    last_note: str
    """The note for gates that the last look decides."""
    step_width = 1
    """The number of entries of a case's rank that identify its step, a group of cases."""

    def __init__(
        self,
        gates: Sequence[str | Gate],
        planned: Iterable[Any],
        *,
        baseline: ScoreTable | Iterable[Any] | None = None,
        seed: int = 0,
        level: float = 0.95,
        benchmarks: Mapping[str, Sequence[str]] | None = None,
        clusters: Clusters | None = None,
        missing: Collection[str] = (),
        altered: Collection[str] = (),
    ) -> None:
        """Prepare for the planned cases of one model.

        Args:
            gates: gates, parsed or as text.
            planned: the planned cases.
            baseline: the records of the baseline.
            seed: the seed of the planned order.
            level: the confidence.
            benchmarks: the datasets of each benchmark; by default taken from the cases.
            clusters: the table of each example, by dataset.
            missing: datasets whose files do not exist.
            altered: perturbations that change the meaning of a table.

        Raises `SettingsError` for a gate that lacks its baseline. A gate stays undecided if it has
        no planned case, or fewer datasets than in the baseline.
        """
        self.gates = [gate if isinstance(gate, Gate) else parse_gate(gate) for gate in gates]
        self.alpha = 1 - level
        cases = list(planned)
        checks = [(gate.scope, gate.check) for gate in self.gates if gate.check]
        self.planned_cells = PlannedCells.of(
            (key_of(case) for case in cases),
            checks,
            mode=_mode(cases),
            gates=self.gates,
            altered=altered,
        )
        rank = ranks(self.planned_cells.places, self.name, seed)
        marks = sorted({entry[: self.step_width] for entry in rank.values()})
        numbers = {mark: number for number, mark in enumerate(marks, start=1)}
        self.n_steps, self.done = len(marks), 0
        self._left: Counter[int] = Counter()
        self.steps: dict[str, Places] = {
            name: np.zeros(side.is_asked.shape, dtype=int)
            for name, side in self.planned_cells.sides.items()
        }
        for key, (dataset, row, column) in self.planned_cells.places.items():
            number = numbers[rank[key][: self.step_width]]
            self.steps[dataset][row, column] = number
            self._left[number] += 1
        self.n_asked = 0
        self._clusters = clusters
        self._benchmarks = _benchmarks(cases) if benchmarks is None else benchmarks
        self._missing = missing
        self._old: Sides | None = None
        if baseline is not None:
            old = read_side(baseline)
            common = {
                name: align(old.datasets[name], side.examples, side.configurations)
                for name, side in self.planned_cells.sides.items()
                if name in old.datasets
            }
            self._old = replace(old, datasets={**old.datasets, **common})
        self._results: dict[int, GateResult] = {}
        for gate in self.gates:
            if gate.baseline and baseline is None and not gate.counted:
                raise SettingsError(baseline_needed(gate))
        self._undecidable = {
            place
            for place, gate in enumerate(self.gates)
            if not gate.counted and (not self.datasets(gate) or self._planned().shrunk(gate))
        }
        """Gates without a planned case, or with fewer datasets than in the baseline."""

    @property
    def _is_point(self) -> bool:
        """Whether the rule judges estimates, not intervals."""
        return self.name == "point"

    @property
    def planned(self) -> int:
        """The number of planned cases."""
        return len(self.planned_cells.places)

    @property
    def decided(self) -> dict[str, State]:
        """The state of each decided gate, by its text, without gates on counts and cost."""
        return {self.gates[place].text: result.state for place, result in self._results.items()}

    @property
    def all_decided(self) -> bool:
        """Whether every gate is decided that more cases could decide."""
        counted = {place for place, gate in enumerate(self.gates) if gate.counted}
        needed = set(range(len(self.gates))) - counted - self._undecidable
        return bool(needed) and all(place in self._results for place in needed)

    def feed(self, record: Any) -> None:
        """Add a record of the run; ignore unplanned and repeated ones."""
        # Answers are needed only for the comparison with a baseline.
        place = self.planned_cells.fill(record, raw_digests((record,))[0] if self._old else None)
        if place is None:
            return
        self.n_asked += 1
        self._left[int(self.steps[place[0]][place[1:]])] -= 1
        while self.done < self.n_steps and not self._left[self.done + 1]:
            self.done += 1
            self._finish_step()
            if self.done == self.n_steps:
                self._last_look()

    def results(
        self, run: Mapping[str, Any] | None = None, baseline_run: Mapping[str, Any] | None = None
    ) -> list[GateResult]:
        """Return the results of all gates, in order; they are valid if the run stopped early.

        A gate that was not decided before a run ended early stays undecided.
        """
        scopes = self.scopes(self.planned_cells.seen())
        finished = self.n_asked == self.planned
        results = []
        for place, gate in enumerate(self.gates):
            if gate.measure == "cost":
                results.append(evaluate_cost(gate, run, baseline_run))
            elif gate.counted:
                results.append(evaluate_gate(gate, scopes, self.alpha / 2))
            elif place in self._results:
                tail, part = self.alpha / 2, scopes.sliced(gate)
                result = unclear_result(gate, self._results[place], part, tail, point=True)
                results.append(missing_result(gate, result, part, tail, point=self._is_point))
            else:
                result = self.final(place, scopes)
                if not finished and place not in self._undecidable:
                    reason = "the run ended before all planned cases were asked, without a decision"
                    result = replace(result, state="undecided", reason=reason)
                results.append(result)
        return results

    def summary(self) -> str:
        """Return one sentence about the calls that stopping saved."""
        if self.n_asked >= self.planned or not self.all_decided:
            return f"The gates needed all {counted(self.planned, 'planned case')}."
        saved = self.planned - self.n_asked
        which = "All gates with planned cases" if self._undecidable else "All gates"
        return (
            f"{which} were decided after {out_of(self.n_asked, self.planned, 'planned case')}: "
            f"{saved:,} ({100 * saved / self.planned:.1f} %) {'was' if saved == 1 else 'were'} not "
            f"asked. Cases that were not asked do not count as no answer."
        )

    @abstractmethod
    def _finish_step(self) -> None:
        """Decide the gates that can be decided after step `done`."""

    def _tail(self, gate: Gate) -> float:
        """Return the error that the last look at a gate may spend, on each side."""
        del gate
        return self.alpha / 2

    @property
    def masks(self) -> dict[str, Flags]:
        """The cells of the completed steps, by dataset."""
        return {name: steps <= self.done for name, steps in self.steps.items()}

    def final(self, place: int, scopes: Scopes) -> GateResult:
        """Return the final result of an open gate."""
        return self.look([place], scopes, [self._tail(self.gates[place])])[0].result

    def _last_look(self) -> None:
        """Judge the open gates after all planned cases."""
        places = self.open()
        tails = [self._tail(self.gates[place]) for place in places]
        self._settle_decided(places, self.scopes(self.planned_cells.seen()), tails, self.last_note)

    def _settle_decided(
        self, places: Sequence[int], scopes: Scopes, tails: Sequence[float], note: str
    ) -> None:
        """Judge some gates on the records so far, and keep the decisions."""
        for place, evaluated in zip(places, self.look(places, scopes, tails), strict=True):
            if evaluated.result.state != "undecided":
                self.settle(place, evaluated.result, note)

    def scopes(self, new: Sides) -> Scopes:
        """Return the scopes of the run so far and of the baseline."""
        return Scopes(
            new,
            self._old,
            self._benchmarks,
            self._clusters or {},
            self._missing,
            allowances=[gate for gate in self.gates if gate.allows_missing],
        )

    def _planned(self) -> Scopes:
        return self.scopes(Sides(self.planned_cells.sides))

    def datasets(self, gate: Gate) -> list[str]:
        """Return the names of the planned datasets in a gate's scope."""
        return self._planned().datasets(gate)

    def open(self) -> list[int]:
        """Return the indices of the gates that are not decided yet and can be."""
        return [
            place
            for place, gate in enumerate(self.gates)
            if not gate.counted and place not in self._results and place not in self._undecidable
        ]

    def family(self) -> int:
        """Return the number of gates for Holm's correction: all without those that failed."""
        total = sum(not gate.counted for gate in self.gates)
        return total - sum(result.state == "fails" for result in self._results.values())

    def look(
        self, places: Sequence[int], scopes: Scopes, tails: Sequence[float]
    ) -> list[EvaluatedGate]:
        """Judge some gates on the records so far, corrected for the number of gates."""
        evaluated_gates = self.evaluated(places, scopes, tails)
        return correct(evaluated_gates, max(tails), size=self.family()) if evaluated_gates else []

    def evaluated(
        self, places: Sequence[int], scopes: Scopes, tails: Sequence[float]
    ) -> list[EvaluatedGate]:
        """Judge some gates on the records so far, each alone."""
        gates = [self.gates[place] for place in places]
        return [
            EvaluatedGate(gate, evaluate_gate(gate, scopes, tail, point=self._is_point), tail)
            for gate, tail in zip(gates, tails, strict=True)
        ]

    def settle_by_betting(self, place: int, tail: float, note: str, **facts: Any) -> None:
        """Keep a decision made by betting; `facts` replace fields of the result.

        A gate that holds only because missing answers are left out stays open.
        """
        gate, scopes = self.gates[place], self.scopes(self.planned_cells.seen(self.masks))
        result = evaluate_gate(gate, scopes, tail)
        result = replace(result.undecided(""), se=None, df=None, notes=(), **facts)
        result = missing_result(gate, result, scopes.sliced(gate), tail, point=self._is_point)
        if result.state != "undecided":
            self.settle(place, result, note)

    def settle(self, place: int, result: GateResult, note: str) -> None:
        """Keep a decision, which is final."""
        self._results[place] = replace(result, notes=(*result.notes, note))


def _benchmarks(cases: Iterable[Any]) -> dict[str, list[str]]:
    datasets: dict[str, set[str]] = {}
    for case in cases:
        name = getattr(case, "benchmark", None)
        if name:
            datasets.setdefault(name, set()).add(case.dataset)
    return {name: sorted(datasets[name]) for name in sorted(datasets)}
