"""The verdict on a run: the end of a run, `merge` and `rejudge` judge it here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_tablebench.results.exit_codes import FAILS, HOLDS, UNDECIDED
from pytest_tablebench.results.gates import (
    Gate,
    GateResult,
    StoppingRule,
    cut_short,
    exit_code,
    judge_gates,
    stored_results,
)

if TYPE_CHECKING:
    from pytest_tablebench.results.compare import RunComparison
    from pytest_tablebench.results.score_table import ScoreTable


class JudgedRun(Protocol):
    """What gates look at of a run. A loaded run has it, and so has one under other rules."""

    @property
    def run(self) -> Mapping[str, Any]:
        """The content of `run.json`."""

    @property
    def scores(self) -> ScoreTable:
        """The score table; it may lack the digests of replies."""

    @property
    def table(self) -> ScoreTable:
        """The score table with the digests of replies."""


@dataclass(frozen=True)
class RunVerdict:
    """The verdict on one model's run.

    `ended` says why the run ended before all its cases were asked; None where it did not.
    `gates_left` tells that the gates are left to the whole of which this run is a part, and
    `must_be_whole` that a run that was cut short is no success without gates either.
    `comparison` is that with the baseline. `cases_saved` were not asked because every gate was
    decided without them; `saved_text` says so in a sentence.
    """

    gates: tuple[GateResult, ...] = ()
    ended: str | None = None
    gates_left: bool = False
    must_be_whole: bool = False
    comparison: RunComparison | None = None
    cases_saved: int = 0
    saved_text: str = ""

    @property
    def exit_code(self) -> int | None:
        """0, 10 or 11 as the gates say; None where nothing was to be judged."""
        if self.gates:
            return exit_code(self.gates)
        if self.gates_left or self.must_be_whole:
            return HOLDS if self.ended is None else UNDECIDED
        return None

    @property
    def gate_entries(self) -> list[dict[str, Any]]:
        """The results of the gates as `run.json` keeps them."""
        return [asdict(result) for result in self.gates]


def judge_run(
    run: JudgedRun,
    gates: Sequence[Gate],
    baseline: JudgedRun | None = None,
    *,
    ended: str | None = None,
    point: bool = False,
    rule: StoppingRule | None = None,
    decided: Iterable[GateResult] = (),
    is_part: bool = False,
    must_be_whole: bool = False,
    comparison: RunComparison | None = None,
) -> RunVerdict:
    """Return the verdict on one model's run.

    Arguments:
        run: the run.
        gates: those to judge; one on the baseline needs one.
        baseline: the run to compare with.
        ended: why the run ended before all its cases were asked. What was asked is no sample of
            the whole then, and decides nothing but what a stopping rule decided before.
        point: whether gates are judged on the estimate alone.
        rule: the stopping rule that followed the run.
        decided: results that a stopping rule decided when the run was made; they are kept.
        is_part: whether the run is a part, which leaves its gates to the whole.
        must_be_whole: whether a run that was cut short is no success without gates either.
        comparison: of the run with the baseline, to be shown beside the gates.
    """
    if is_part or not gates:
        return RunVerdict(
            ended=ended,
            gates_left=is_part and bool(gates),
            must_be_whole=must_be_whole,
            comparison=comparison,
        )
    baseline_run = None if baseline is None else baseline.run
    standing = {result.gate: result for result in decided}
    cases_saved, saved_text = 0, ""
    if rule is not None:
        results = rule.results(run=run.run, baseline_run=baseline_run)
        standing |= {result.gate: result for result in results if result.gate in rule.decided}
        if rule.all_decided:
            cases_saved = rule.planned - rule.n_asked
        saved_text = _saved_text(rule, cases_saved, run.run)
    else:
        results = judge_gates(
            # Beside a baseline replies count, which may be all the same.
            run.scores if baseline is None else run.table,
            gates,
            None if baseline is None else baseline.table,
            point=point,
            run=run.run,
            baseline_run=baseline_run,
        )
    if ended is not None and (rule is None or not rule.all_decided):
        # The values chose the size of this sample, so it has no ordinary interval.
        results = [standing.get(result.gate) or cut_short(result, ended) for result in results]
    return RunVerdict(
        tuple(results),
        ended,
        must_be_whole=must_be_whole,
        comparison=comparison,
        cases_saved=cases_saved,
        saved_text=saved_text,
    )


def joint_exit_code(verdicts: Collection[RunVerdict]) -> int:
    """Return the exit code of the gates over the runs of several models.

    11 where there is no run, or a run has no verdict of its own.
    """
    codes = {verdict.exit_code for verdict in verdicts}
    if not codes or None in codes:
        return UNDECIDED
    return FAILS if FAILS in codes else UNDECIDED if UNDECIDED in codes else HOLDS


def decided_before(run: Mapping[str, Any], baseline: Path | None) -> list[GateResult]:
    """Return the results that a stopping rule decided when a run was made.

    `run` is the content of its `run.json`. Results against a baseline stand only where `baseline`
    is the same one.
    """
    if not run.get("cases_saved"):
        return []
    results, path = stored_results(run.get("gates")), run.get("baseline")
    is_same_baseline = (
        baseline is not None
        and isinstance(path, str)
        and baseline.resolve() == Path(path).resolve()
    )
    return [result for result in results if is_same_baseline or "baseline" not in result.gate]


def _saved_text(rule: StoppingRule, saved: int, run: Mapping[str, Any]) -> str:
    """Return what stopping early has saved, in calls and in money as far as that is known."""
    text = rule.summary()
    paid, cost = run.get("calls_paid"), run.get("cost_usd")
    if saved and paid and cost is not None:
        text += f" At {cost / paid:.6f} USD a call that is about {saved * cost / paid:.2f} USD."
    return text
