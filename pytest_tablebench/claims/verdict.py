"""Judge a run: the verdict at the end of a run, after `merge` and after `rejudge`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.gates import (
    Gate,
    GateResult,
    JudgeLabels,
    StoppingRule,
    cut_short,
    exit_code,
    judge_gates,
    stored_results,
    without_labels,
)
from pytest_tablebench.results.exit_codes import FAILS, HOLDS, UNDECIDED
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.claims.compare import RunComparison
    from pytest_tablebench.results.run import Run
    from pytest_tablebench.results.run_facts import RunFacts


@dataclass(frozen=True)
class RunVerdict:
    """The verdict on one model's run.

    Args:
        ended: why the run ended before all its cases were asked; None if all were asked.
        gates_left: whether the gates are left to the merged run of which this run is a part.
        must_be_whole: whether an incomplete run without gates fails too.
        cases_saved: the number of cases not asked because every gate was decided without them.
        saved_text: a sentence about the saved cases.
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
        """The exit code of the gates (0, 10 or 11); None if there was nothing to judge."""
        if self.gates:
            return exit_code(self.gates)
        if self.gates_left or self.must_be_whole:
            return HOLDS if self.ended is None else UNDECIDED
        return None

    @property
    def gate_entries(self) -> list[dict[str, Any]]:
        """The results of the gates, as in `run.json`."""
        return [result.entry() for result in self.gates]


def judge_run(
    run: Run,
    gates: Sequence[Gate],
    baseline: Run | None = None,
    *,
    ended: str | None = None,
    point: bool = False,
    rule: StoppingRule | None = None,
    decided: Iterable[GateResult] = (),
    is_part: bool = False,
    must_be_whole: bool = False,
    comparison: RunComparison | None = None,
    uncalibrated: bool = False,
) -> RunVerdict:
    """Return the verdict on one model's run.

    Args:
        run: the run.
        gates: the gates to judge.
        baseline: the run to compare with; required by gates on the baseline.
        ended: why the run ended before all its cases were asked. Then only the decisions of a
            stopping rule count, because the cases asked are no fair sample.
        point: whether gates are judged by the point estimate alone.
        rule: the stopping rule that followed the run.
        decided: results that a stopping rule decided during the run; they are kept.
        is_part: whether the run is a part, which leaves its gates to the merged run.
        must_be_whole: whether an incomplete run without gates fails too.
        comparison: the comparison with the baseline, to show next to the gates.
        uncalibrated: whether gates on a judge's marks take them as they are. Otherwise they need
            labels by people.
    """
    verdict = RunVerdict(ended=ended, must_be_whole=must_be_whole, comparison=comparison)
    if is_part or not gates:
        return replace(verdict, gates_left=is_part and bool(gates))
    baseline_run = None if baseline is None else baseline.facts
    labels = None
    if not uncalibrated:
        different = None if baseline_run is None else _judge_difference(baseline_run, run.facts)
        labels = JudgeLabels(run, baseline, different)
    final = {result.gate: result for result in decided}
    if rule is not None:
        results = rule.results(run=run.facts, baseline_run=baseline_run)
        if labels is not None:
            results = _without_judged(results, rule, labels)
        final |= {result.gate: result for result in results if result.gate in rule.decided}
        saved = rule.planned - rule.n_asked if rule.all_decided else 0
        text = _saved_text(rule, saved, run.facts)
        verdict = replace(verdict, cases_saved=saved, saved_text=text)
    else:
        results = judge_gates(
            # A comparison also needs the replies, to find identical ones.
            run.scores if baseline is None else run.table,
            gates,
            None if baseline is None else baseline.table,
            point=point,
            run=run.facts,
            baseline_run=baseline_run,
            labels=labels,
        )
    if ended is not None and (rule is None or not rule.all_decided):
        # The size of this sample depends on its values, so the usual interval is not valid.
        results = [final.get(result.gate) or cut_short(result, ended) for result in results]
    served = run.facts.server_check
    if served.get("same") is False:  # another model gave the stored answers
        why = shortened(str(served.get("text")), 400)
        results = [result.undecided(why) for result in results]
    return replace(verdict, gates=tuple(results))


def _judge_difference(before: RunFacts, after: RunFacts) -> str | None:
    """Return how the judges of two runs differ; None if they do not."""
    from pytest_tablebench.claims.differences import differences_between

    for difference in differences_between(before, after):
        if difference.name == "judge":
            names = f"{difference.before}, {difference.after}"
            return f"the runs had different judges ({names})"
        if difference.kind == "judge":
            part = "prompts" if difference.name.startswith("judge_prompts") else "parameters"
            return f"the judges of the runs had different {part}"
    return None


def _without_judged(
    results: Sequence[GateResult], rule: StoppingRule, labels: JudgeLabels
) -> list[GateResult]:
    scopes = replace(rule.scopes(rule.arrived()), labels=labels)
    return [
        without_labels(result) if scopes.sliced(gate).judged(gate) else result
        for gate, result in zip(rule.gates, results, strict=True)
    ]


def joint_exit_code(verdicts: Collection[RunVerdict]) -> int:
    """Return the exit code of the gates over several runs; 11 if a run has no verdict."""
    codes = {verdict.exit_code for verdict in verdicts}
    if not codes or None in codes:
        return UNDECIDED
    return FAILS if FAILS in codes else UNDECIDED if UNDECIDED in codes else HOLDS


def decided_before(run: RunFacts, baseline: Path | None) -> list[GateResult]:
    """Return the results that a stopping rule decided during the run.

    Results against a baseline count only if `baseline` is
    the same run.
    """
    if not run.cases_saved:
        return []
    results, path = stored_results(run.gates), run.baseline
    is_same_baseline = (
        baseline is not None and path is not None and real_path(baseline) == real_path(Path(path))
    )
    return [result for result in results if is_same_baseline or "baseline" not in result.gate]


def _saved_text(rule: StoppingRule, saved: int, run: RunFacts) -> str:
    text = rule.summary()
    paid, cost = run.calls_paid, run.cost_usd
    if saved and paid and cost is not None:
        text += f" At {cost / paid:.6f} USD a call this saved about {saved * cost / paid:.2f} USD."
    return text
