"""The end of a run in the process that keeps it: verdict, exit code and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import OUR_STOP, TableBenchError
from pytest_tablebench.results import PENDING_CODE
from pytest_tablebench.util.names import counted, shortened

if TYPE_CHECKING:
    from pytest_tablebench.claims.verdict import RunVerdict
    from pytest_tablebench.results.run import Run
    from pytest_tablebench.results.writer import Received
    from pytest_tablebench.session._kept_run import KeptRun
    from pytest_tablebench.session._verdict import Verdicts

LEFT_TO_MERGE = "gates: this run is one shard; `tablebench merge` judges the whole run"


class RunEnding:
    """Decides when a run may stop, judges it, and writes its reports.

    `allure` is the folder of allure-pytest's results; None if it writes none.
    """

    def __init__(self, run: KeptRun, verdicts: Verdicts | None, allure: Path | None) -> None:
        self._run = run
        self._settings = run.settings
        self._verdicts = verdicts
        self._allure = allure
        self._followed = False
        self._waiting: dict[str, Received] = {}
        """Cases with unfinished tests, or received before the selection was known."""
        self._items: dict[str, int] = {}
        """The number of items of each case."""
        self._is_decided = False
        """Whether the stopping rule ended the run."""
        self._ended: dict[str, str | None] = {}
        """Why each model's run is incomplete; None if it is complete."""
        self.pending: Counter[str] = Counter()
        """The number of cases of each model that wait for a batch."""
        self.given_up: dict[str, str] = {}
        """Why a model is no longer called while others are."""
        self.verdicts: dict[str, RunVerdict] = {}
        self.problems: list[str] = []
        self.unrecorded_failures: Counter[str] = Counter()
        """By test, the failures that are neither in a case's record nor in a gate on the test."""
        self.exit_code: int | None = None
        """The exit code by gates and batches; None if pytest's code stays."""

    # While it runs.

    def feed(self, case_id: str, received: Received) -> str | None:
        """Add a case's result; return why the run may stop now, None if it may not."""
        verdicts = self._verdicts
        if verdicts is None or self._settings.stop_rule is None:
            return None
        if received.record is not None:
            self._waiting[case_id] = received
        if not self._followed and not self._follow():
            return None
        for waiting_id, waiting in list(self._waiting.items()):
            is_finished = waiting.finished >= self._items.get(waiting_id, 1)
            if waiting.record is not None and is_finished:
                # The whole record: the rule compares answers with the baseline by their text.
                verdicts.feed(waiting.record.record)
                del self._waiting[waiting_id]
        if not verdicts.may_stop:
            return None
        self._is_decided = True
        return f"{OUR_STOP}stopped: every gate is decided"

    def _follow(self) -> bool:
        """Start the stopping rule once the selection is known; return whether it is."""
        verdicts, writer = self._verdicts, self._run.writer
        if verdicts is None or "chosen" not in writer.facts:
            return False
        by_model: dict[str, list[Case]] = {}
        for values, items in writer.facts.pop("chosen"):
            case = Case(**values)
            self._items[case.case_id] = items
            by_model.setdefault(case.model, []).append(case)
        for model, cases in by_model.items():
            verdicts.follow(model, cases, writer.facts.get("missing", {}))
        self._followed = True
        return True

    # At its end.

    @property
    def _has_gates(self) -> bool:
        return self._verdicts is not None and bool(self._verdicts.gates)

    def finish(
        self,
        runs: Mapping[str, Run],
        exit_status: int,
        reason: str,
        *,
        others_failed: bool = False,
        compared_nothing: bool = False,
    ) -> None:
        """Judge the run, decide its exit code, and write its reports.

        Arguments:
            runs: the loaded runs, by model.
            exit_status: pytest's.
            reason: why the session ended early; empty if it did not.
            others_failed: whether a test without a case failed. Gates that hold do not hide it.
            compared_nothing: whether snapshots were to be compared and none existed. That is no
                success.
        """
        from pytest_tablebench.claims.verdict import joint_exit_code

        verdicts, may_decide = self._verdicts, _gates_may_decide(exit_status, reason)
        if verdicts is not None and self._settings.gates:
            self.unrecorded_failures = self._run.writer.unseen(verdicts.judged_tests)
        self._judge(runs, self._why_incomplete(exit_status, reason))
        code = None
        if self._has_gates and may_decide:
            code = 11 if self.problems else joint_exit_code(self.verdicts.values())
            code = code or int(others_failed or bool(self.unrecorded_failures))
        if compared_nothing and (exit_status if code is None else code) == pytest.ExitCode.OK:
            code = 11
        self.exit_code = self._code_with_batches(code, runs, may_decide=may_decide)
        self._conclude(runs, exit_status if self.exit_code is None else self.exit_code)
        for model, run in runs.items():
            self._publish(model, run)

    def give_up(self, problem: str, exit_status: int, reason: str) -> None:
        """Report a problem that prevents judging the run; its gates are undecided."""
        self.problems.append(problem)
        if self._has_gates and _gates_may_decide(exit_status, reason):
            self.exit_code = 11

    def _why_incomplete(self, exit_code: int, reason: str) -> str | None:
        """Return why the run ended early; None if it did not."""
        if self._is_decided:
            return None
        if reason:
            return reason
        if exit_code in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            return None
        return "interrupted" if exit_code == pytest.ExitCode.INTERRUPTED else "pytest failed"

    def _judge(self, runs: Mapping[str, Run], ended: str | None) -> None:
        verdicts, writer = self._verdicts, self._run.writer
        for model, run in runs.items():
            kept = writer.model_runs[model]
            cut = None if writer.complete(model) else self.given_up.get(model, ended)
            if self.pending[model]:
                cut = "batches are not answered yet"
            if cut is None and any(row.reason == "budget" for row in kept.rows.values()):
                cut = "the budget was spent"
            self._ended[model] = cut
            if verdicts is None:
                continue
            try:
                self.verdicts[model] = verdicts.judge(model, run, cut)
            except TableBenchError as error:
                self.problems.append(f"{model}: no verdict: {error}")

    def _code_with_batches(
        self, code: int | None, runs: Mapping[str, Run], *, may_decide: bool
    ) -> int | None:
        """Record the batches; return 12 if some are pending, else the gates' code."""
        batches = self._run.batches
        if batches is None:
            return code
        self.problems += batches.problems
        for run in runs.values():
            batches.write(run.path)
        if code is None and not may_decide:
            return code
        if self.pending.total() and (batches.under_way() or batches.over_budget()):
            return PENDING_CODE
        if batches.problems:
            return 11 if self._has_gates else 1
        if not any(self._ended.values()):
            batches.end()
        return code

    def _conclude(self, runs: Mapping[str, Run], exit_code: int) -> None:
        writer = self._run.writer
        facts: dict[str, dict[str, Any]] = {
            model: {"ended": ended} for model, ended in self._ended.items()
        }
        for model, verdict in self.verdicts.items():
            if verdict.gates_left:
                continue  # run.json keeps the gates unjudged
            facts[model] |= {"gates": verdict.gate_entries, "cases_saved": verdict.cases_saved}
        try:
            writer.conclude(runs, exit_code, facts)
        except OSError as error:
            self.problems.append(f"run.json could not be written: {error}")

    def _publish(self, model: str, run: Run) -> None:
        """Write the page and the summaries; report which of them could not be written."""
        from pytest_tablebench.reports.publish import publish

        settings, verdicts = self._settings, self._verdicts
        verdict = self.verdicts.get(model)
        allure = None
        if settings.allure is not None or self._allure is not None:
            allure = settings.allure or "auto", self._allure or run.path / "allure"
        try:
            self.problems += publish(
                run,
                page=settings.page,
                gates=verdict.gates if verdict else (),
                comparison=verdict.comparison if verdict else None,
                baseline=verdicts.baseline if verdicts else None,
                allure=allure,
                ahead=self._run.pages.get(model),
            )
        except (OSError, TableBenchError) as error:
            self.problems.append(f"{model}: a report could not be written: {error}")

    def lines(self, model: str, width: int | None = None) -> list[str]:
        """Return the verdict on a model, for a terminal of `width` columns."""
        verdict = self.verdicts.get(model)
        given_up = self.given_up.get(model)
        lines = [shortened(given_up, 800)] if given_up is not None else []
        lines += self._batch_lines(model)
        if verdict is None:
            return lines
        from pytest_tablebench.documents.terminal import terminal_lines
        from pytest_tablebench.reports.comparison import comparison_report
        from pytest_tablebench.reports.gates import gate_blocks
        from pytest_tablebench.reports.terminal import beside_line

        if verdict.comparison is not None:
            report = comparison_report(verdict.comparison, flips=0)
            lines += ["", *terminal_lines(report.blocks, width=width)]
        if verdict.gates:
            blocks = gate_blocks(verdict.gates, self._run.writer.run_facts(model))
            lines += ["", *terminal_lines(blocks, width=width)]
        if verdict.gates_left:
            lines.append(LEFT_TO_MERGE)
        if verdict.saved_text:
            lines.append(verdict.saved_text)
        if self.exit_code == 1:
            failures = sorted(self.unrecorded_failures.items())
            lines += [beside_line(test, count) for test, count in failures]
        return lines

    def _batch_lines(self, model: str) -> list[str]:
        batches = self._run.batches
        if batches is None or not self.pending[model]:
            return []
        count = self.pending[model]
        lines = [f"{counted(count, 'case')} {'waits' if count == 1 else 'wait'} for batches:"]
        lines += [
            f"  {shortened(batch.batch_id or batch.name, 80)}  {batch.model}, "
            f"{counted(batch.requests, 'request')}, {shortened(batch.status, 40) or 'not known'}"
            for batch in batches.under_way()
        ]
        if refused := batches.over_budget():
            lines.append(
                f"  {counted(refused, 'request')} not submitted: --bench-max-cost does not cover "
                f"more. Repeat the command to record them as no answer (budget), or with a higher "
                f"limit to submit them."
            )
        if batches.under_way():
            lines.append("Repeat the same command later to collect the answers and continue.")
        return lines


def _gates_may_decide(exit_code: int, reason: str) -> bool:
    """Return whether gates may replace pytest's exit code: not if it was interrupted or failed."""
    if exit_code == pytest.ExitCode.INTERRUPTED:
        return reason.startswith(OUR_STOP)
    return exit_code in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
