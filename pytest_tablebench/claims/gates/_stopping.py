"""Stop a run when every gate is decided: look after some passes (statistics.md 10.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_tablebench.claims._claim import State
from pytest_tablebench.claims.gates._counts import evaluate_cost
from pytest_tablebench.claims.gates._evaluation import evaluate_gate, missing_result, unclear_result
from pytest_tablebench.claims.gates._grammar import Gate, baseline_needed, parse_gate
from pytest_tablebench.claims.gates._result import EvaluatedGate, GateResult, correct
from pytest_tablebench.claims.gates._scopes import (
    Key,
    Scopes,
    Sides,
    key_of,
    planned_side,
    read_side,
)
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.score_table import ScoreTable, ScoreTableBuilder, raw_digests
from pytest_tablebench.results.sheets import ScoreSheet, align, sheets
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import counted, out_of
from pytest_tablebench.util.seeds import seeded_random

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Places

LOOKS = (1, 2, 4, 8, 16)
"""The passes after which the gates are judged, before the last pass."""

EARLY = 0.04
"""The share of the total error that each early look may spend: .002 of .05."""

CaseLike = TypeVar("CaseLike")


def order(cases: Iterable[CaseLike], seed: int = 0) -> list[CaseLike]:
    """Return the cases in the order that the rule requires.

    Pass k asks every example in its k-th configuration; each example has its own order. It depends
    only on `seed` and on the names of datasets, examples, serializers and perturbations, so a model
    and its baseline have the same order.
    """
    unordered = list(cases)
    passes = passes_of((key_of(case) for case in unordered), seed)
    return sorted(unordered, key=lambda case: (passes[key_of(case)], key_of(case)[:2]))


def passes_of(keys: Iterable[Key], seed: int = 0) -> dict[Key, int]:
    """Return the pass of each case, from 1."""
    examples: dict[Key, list[Key]] = {}
    for key in sorted(set(keys)):
        examples.setdefault(key[:2], []).append(key)
    passes: dict[Key, int] = {}
    for name, keys_of_example in examples.items():
        seeded_random(f"stopping/{'/'.join(name)}", seed=42 + seed).shuffle(keys_of_example)
        passes |= {key: number for number, key in enumerate(keys_of_example, start=1)}
    return passes


class StoppingRule:
    """Follows a run and reports when all its gates are decided.

    Gates are judged after passes 1, 2, 4, 8, 16 and the last. An early look spends .002 of a
    two-sided .05 and the last look spends the rest: .04 with more than 16 configurations. Gates on
    robustness, with filters, or with `Gate.at_end` are judged only at the end, at .05. Every look
    is corrected for the number of gates, so that a true gate fails in at most 2.5 % of runs over
    all looks.

    Decisions depend only on the planned order; records may arrive in any order. Gates on counts
    and cost never prolong a run: they are evaluated on the cases asked. A case without a record
    was not asked, which is not "no answer".
    """

    def __init__(
        self,
        gates: Sequence[str | Gate],
        planned: Iterable[Any],
        *,
        baseline: ScoreTable | Iterable[Any] | None = None,
        seed: int = 0,
        level: float = 0.95,
        benchmarks: Mapping[str, Sequence[str]] | None = None,
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
            missing: datasets whose files do not exist.
            altered: perturbations that change the meaning of a table.

        Raises `SettingsError` for a gate that lacks its baseline. A gate stays undecided if it has
        no planned case, or fewer datasets than in the baseline.
        """
        self.gates = list(map(parse_gate, gates))
        self.alpha = 1 - level
        by_key = {key_of(case): case for case in planned}
        self._planned = planned_side(by_key.values(), altered)
        self._passes = passes_of(by_key, seed)
        self._open_passes = Counter(self._passes.values())
        self.n_steps, self.done = max(self._open_passes, default=0), 0
        self._steps: dict[str, Places] = {
            name: np.array(
                [
                    [self._passes.get((name, example, *cell), 0) for cell in sheet.configurations]
                    for example in sheet.examples
                ]
            )
            for name, sheet in self._planned.datasets.items()
        }
        """The pass of each cell; 0 for a cell that is not planned."""
        # Answers are needed only for the comparison with a baseline.
        self._records = ScoreTableBuilder(answers=raw_digests if baseline is not None else None)
        self._asked: set[Key] = set()
        self._benchmarks = self._planned.benchmarks if benchmarks is None else benchmarks
        self._missing = missing
        self._old: Sides | None = None
        if baseline is not None:
            old = read_side(baseline)
            common = {
                name: align(old.datasets[name], sheet.examples, sheet.configurations)
                for name, sheet in self._planned.datasets.items()
                if name in old.datasets
            }
            self._old = replace(old, datasets={**old.datasets, **common})
        self._results: dict[int, GateResult] = {}
        for gate in self.gates:
            if gate.baseline and baseline is None and not gate.counted:
                raise SettingsError(baseline_needed(gate))
        whole = self.scopes(self._planned)
        self._undecidable = {
            index
            for index, gate in enumerate(self.gates)
            if not gate.counted and (not whole.datasets(gate) or whole.shrunk(gate))
        }
        """Gates without a planned case, or with fewer datasets than in the baseline."""

    @property
    def planned(self) -> int:
        """The number of planned cases."""
        return len(self._passes)

    @property
    def n_asked(self) -> int:
        """The number of planned cases with a record."""
        return len(self._asked)

    @property
    def decided(self) -> dict[str, State]:
        """The state of each decided gate, by its text, without gates on counts and cost."""
        return {self.gates[index].text: result.state for index, result in self._results.items()}

    @property
    def all_decided(self) -> bool:
        """Whether every gate is decided that more cases could decide."""
        counted = {index for index, gate in enumerate(self.gates) if gate.counted}
        needed = set(range(len(self.gates))) - counted - self._undecidable
        return bool(needed) and all(index in self._results for index in needed)

    def feed(self, record: Any) -> None:
        """Add a record of the run; ignore unplanned and repeated ones."""
        key = key_of(record)
        if key not in self._passes or key in self._asked:
            return
        self._asked.add(key)
        self._records.append(record)
        self._open_passes[self._passes[key]] -= 1
        while self.done < self.n_steps and not self._open_passes[self.done + 1]:
            self.done += 1
            self._decide()

    def results(
        self, run: RunFacts | None = None, baseline_run: RunFacts | None = None
    ) -> list[GateResult]:
        """Return the results of all gates, in order; they are valid if the run stopped early.

        A gate that was not decided before a run ended early stays undecided.
        """
        scopes = self.scopes(self.arrived())
        finished = self.n_asked == self.planned
        results = []
        for index, gate in enumerate(self.gates):
            if gate.measure == "cost":
                results.append(evaluate_cost(gate, run, baseline_run))
            elif gate.counted:
                results.append(evaluate_gate(gate, scopes, self.alpha / 2))
            elif index in self._results:
                tail, part = self.alpha / 2, scopes.sliced(gate)
                result = unclear_result(gate, self._results[index], part, tail, point=True)
                results.append(missing_result(gate, result, part, tail))
            else:
                result = self._look([index], scopes, [self._tail(gate)])[0].result
                if not finished and index not in self._undecidable:
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

    def _decide(self) -> None:
        """Keep the decisions after pass `done`, which are final."""
        is_last = self.done == self.n_steps
        if not is_last and self.done not in LOOKS:
            return
        note = f"Decided after pass {self.done} of {self.n_steps}; the others were not needed."
        indices, new = self._open(), self.arrived()
        if is_last:
            tails = [self._tail(self.gates[index]) for index in indices]
            note = f"Decided after all {self.n_steps} passes."
        else:
            indices = [index for index in indices if _may_be_early(self.gates[index])]
            tails, new = [EARLY * self.alpha / 2] * len(indices), self._of_done_passes(new)
        looked = self._look(indices, self.scopes(new), tails)
        for index, evaluated in zip(indices, looked, strict=True):
            result = evaluated.result
            if result.state != "undecided":
                self._results[index] = replace(result, notes=(*result.notes, note))

    def _tail(self, gate: Gate) -> float:
        """Return the error that the last look at a gate may spend, on each side."""
        looks = sum(number < self.n_steps for number in LOOKS) if _may_be_early(gate) else 0
        return (1 - EARLY * looks) * self.alpha / 2

    def arrived(self) -> Sides:
        """Return the records so far."""
        datasets: dict[str, ScoreSheet] = {}
        for name, sheet in sheets(self._records.table().cells).items():
            planned = self._planned.datasets[name]
            arrived = align(sheet, planned.examples, planned.configurations)
            datasets[name] = replace(arrived, altered=planned.altered)
        return Sides(datasets)

    def _of_done_passes(self, arrived: Sides) -> Sides:
        """Return the records of the completed passes, without answers.

        Equal answers may decide only at the end, since answers that are missing may differ.
        """
        datasets: dict[str, ScoreSheet] = {}
        for name, sheet in arrived.datasets.items():
            is_done = self._steps[name] <= self.done
            if (sheet.is_asked & is_done).any():
                datasets[name] = replace(
                    sheet,
                    scores=np.where(is_done, sheet.scores, np.nan),
                    passed=np.where(is_done, sheet.passed, np.nan),
                    checks={n: np.where(is_done, v, np.nan) for n, v in sheet.checks.items()},
                    is_asked=sheet.is_asked & is_done,
                    times=None,
                    lost=None,
                    answers=None,
                )
        return Sides(datasets)

    def scopes(self, new: Sides) -> Scopes:
        """Return the scopes of the run so far and of the baseline."""
        return Scopes(
            new,
            self._old,
            self._benchmarks,
            self._missing,
            allowances=[gate for gate in self.gates if gate.allows_missing],
        )

    def _open(self) -> list[int]:
        """Return the indices of the gates that are not decided yet and can be."""
        return [
            index
            for index, gate in enumerate(self.gates)
            if not gate.counted and index not in self._results and index not in self._undecidable
        ]

    def _look(
        self, places: Sequence[int], scopes: Scopes, tails: Sequence[float]
    ) -> list[EvaluatedGate]:
        """Judge some gates on the records so far, corrected for the number of gates."""
        pairs = zip([self.gates[index] for index in places], tails, strict=True)
        evaluated = [EvaluatedGate(gate, evaluate_gate(gate, scopes, t), t) for gate, t in pairs]
        failed = sum(result.state == "fails" for result in self._results.values())
        family = sum(not gate.counted for gate in self.gates) - failed
        return correct(evaluated, max(tails), size=family) if evaluated else []


def _may_be_early(gate: Gate) -> bool:
    """Return whether early passes may decide a gate.

    A range grows with each pass, and an early pass has few cases of a single configuration.
    """
    return gate.measure != "robustness" and not gate.filters and not gate.at_end
