"""Pytest hooks of the process that keeps the run: records, progress and the end."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.errors import OUR_STOP, TableBenchError
from pytest_tablebench.hooks._escaping import write_lines
from pytest_tablebench.hooks._progress import ProgressLine
from pytest_tablebench.session.garbage import without_collections
from pytest_tablebench.session.pytest_modes import has_options, runs_no_test
from pytest_tablebench.util.names import escaped, printable
from pytest_tablebench.util.notices import Unsaid

if TYPE_CHECKING:
    from pytest_tablebench.documents.document import Block
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.results.run import Run
    from pytest_tablebench.results.writer import RunWriter
    from pytest_tablebench.session.alone import Alone
    from pytest_tablebench.session.base import RunKeeper

_ENDED = pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, 11
"""Exit codes of sessions without a failure, or with undecided gates."""


ANSWERED_BEFORE = (
    "a rerun (pytest --reruns) tests the same answer again and makes no call; --bench-fresh asks "
    "anew in another run, --bench-repeats asks several times in one"
)


class ReportingHooks:
    """Receives the reports of all tests: alone, or in the controller of xdist workers."""

    def __init__(self, session: RunKeeper) -> None:
        self.config = session.config
        self.session = session
        self.settings = session.settings
        self._pytest_session: pytest.Session | None = None
        self.progress = ProgressLine(session.config)
        self.is_announced = False
        """Whether the terminal shows the plan of the run."""
        self.is_missing_announced = False
        """Whether the terminal shows the missing data, in a run without cases."""
        self.announced_problems = 0
        """The number of unusable rows at the time of the announcement."""
        self._failed = 0
        self._skipped = 0
        self._others_failed = 0
        self.missing: dict[str, str] = {}
        """Why data is missing, by test."""
        self._problems = Unsaid()
        self.summaries: dict[str, dict[str, Any]] = {}
        """The summary of each model, once the run is closed."""
        self.runs: Mapping[str, Run] = {}
        """The run of each model, once it is closed."""

    @property
    def writer(self) -> RunWriter:
        """The writer of the run's records."""
        return self.session.run.writer

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep pytest's session, which can end a run early."""
        self._pytest_session = session

    def pytest_report_header(self) -> list[str]:
        """Return the header line, if an option was given."""
        return [printable(self._header())] if self.settings.command_line_keys else []

    def _header(self) -> str:
        from pytest_tablebench.reports.terminal import header_line

        return header_line(self.settings, self.session.run.paths)

    def announcement(self, cases: int) -> list[str]:
        """Return the lines about the plan of the run."""
        from pytest_tablebench.documents.formats import left_out_lines
        from pytest_tablebench.reports.plan import plan_report
        from pytest_tablebench.reports.terminal import (
            data_lines,
            dataset_lines,
            in_process_lines,
            missing_lines,
            plan_line,
            test_lines,
        )
        from pytest_tablebench.results.run_facts import RunFacts

        writer = self.writer
        self.is_announced = True
        self.announced_problems = writer.count_problems()
        lines = [] if self.settings.command_line_keys else [self._header()]
        lines.append(plan_line(cases, writer.facts.get("grid"), len(self.settings.models)))
        by_dataset, datasets = writer.facts.get("by_dataset", {}), writer.facts.get("datasets", {})
        lines += dataset_lines(by_dataset)
        gates = self.session.planned_gates() if self.settings.plan else {}
        lines += _marked(plan_report(writer.plans.values(), self.settings, gates).blocks)
        lines += data_lines({name: facts for name, facts in datasets.items() if name in by_dataset})
        lines += left_out_lines(RunFacts(by_dataset=by_dataset))
        lines += missing_lines(writer.facts.get("missing", {}))
        lines += in_process_lines(writer.facts.get("in_process", ()))
        for gate in writer.facts.get("not_judged", ()):
            lines.append(f"not judged: {gate}: unknown name in this session")
        lines += self.problem_lines()
        return lines + test_lines(writer.facts.get("tests", {}))

    def problem_lines(self) -> list[str]:
        """Return the new warnings of all processes, such as damaged lines of stores."""
        self.add_problems(self.session.problems if self.session.is_used else [])
        return [f"tablebench: {text}" for text in self._problems.take()]

    def add_problems(self, problems: Iterable[str]) -> None:
        """Add warnings of a process."""
        self._problems.add(problems)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remove the message from the report, record it, and show the progress."""
        if report.failed:
            self._failed += 1
            most = self.config.getvalue("maxfail")
            if most and self._failed >= most and self.session.is_used:
                self.session.run.engine.stop(f"stopping after {self._failed} failures")
        given_up = report.__dict__.pop("tablebench_given_up", None)
        if given_up is not None:
            self.session.ending.given_up.setdefault(*given_up)
        pending = report.__dict__.pop("tablebench_pending", None)
        if pending is not None:
            self.session.ending.pending[pending] += 1
        inapplicable = report.__dict__.pop("tablebench_inapplicable", None)
        if inapplicable is not None:
            self.writer.leave_out(*inapplicable)
            return
        message: CaseMessage | None = report.__dict__.pop("tablebench", None)
        if message is None:
            self._count_other(report)
        else:
            self._record_case(report, message)

    def _count_other(self, report: pytest.TestReport) -> None:
        if report.__dict__.pop("tablebench_part", False):
            return  # its test fails with it
        self._others_failed += report.failed
        self._skipped += report.__dict__.pop("tablebench_skipped", False)
        if report.skipped and report.nodeid.endswith("[no-data]"):
            name = report.nodeid.rpartition("::")[2].removesuffix("[no-data]")
            if isinstance(report.longrepr, tuple):
                self.missing[name] = report.longrepr[2].removeprefix("Skipped: ")

    def _record_case(self, report: pytest.TestReport, message: CaseMessage) -> None:
        if report.failed:
            report.tablebench_case = message.model, message.case_id  # type: ignore[attr-defined]
        final = str(report.outcome) != "rerun"  # else another attempt follows, and counts instead
        finding = message.finding
        if final and report.failed and not finding.failed:
            # Another plugin failed the report, for example one for soft assertions.
            finding = finding._replace(passed=False, failed=True)
        finding = finding._replace(last=final)
        if finding != message.finding:
            message = replace(message, finding=finding)
        try:
            self._problems.add(message.problems)
            if not final and message.spent is not None:
                self._problems.add([ANSWERED_BEFORE])
            received = self.writer.receive(message)
        except (OSError, TableBenchError) as error:
            self._stop(f"{OUR_STOP}stopped: the run cannot be written: {error}")
            return
        self._skipped += received.record is None
        self.session.run.add_to_page(message, received.record)
        self._show()
        if received.record is not None:
            why = self.session.ending.feed(message.case_id, received)
            if why is not None:
                self.session.run.engine.stop(why)
                self._stop(why)
        self.session.run.prepare_end()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count collection errors."""
        self._others_failed += report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Prevent further calls."""
        if not self.session.is_used:
            return
        self.session.run.engine.stop("interrupted")
        if isinstance(excinfo.value, pytest.exit.Exception):
            # The text of `pytest.exit` may quote a model.
            excinfo.value.msg = escaped(str(excinfo.value.msg))
            excinfo.value.args = (excinfo.value.msg,)

    @property
    def _stoppable(self) -> Any:
        """The object whose `shouldstop` ends the session: xdist's in a controller."""
        return self.config.pluginmanager.getplugin("dsession") or self._pytest_session

    def _stop(self, message: str) -> None:
        target = self._stoppable
        if target is not None and not target.shouldstop:
            target.shouldstop = escaped(message)

    def _show(self) -> None:
        if self.progress.terminal is None:
            return
        if not self.is_announced:
            self.announce(sum(self.writer.facts.get("cases", {}).values()))
        self.poll()
        self.progress.show(self.writer)

    def announce(self, cases: int) -> None:
        """Write the plan of the run to the terminal, if there is one."""
        terminal = self.progress.terminal
        if terminal is not None:
            terminal.ensure_newline()
            write_lines(terminal, self.announcement(cases))

    def poll(self) -> None:
        """Poll the engine for totals, and show which providers do not answer."""
        if self.session.is_used:
            self.progress.show_waits(self.writer, self.session.run.poll_engine())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Close the run, and set its exit code by its gates."""
        if not self.session.is_used:
            return (yield)
        with without_collections():
            self._finish(int(exitstatus))
        yield
        if self.session.ending.exit_code is not None:
            # Last: other plugins, such as syrupy, have changed the status meanwhile.
            session.exitstatus = self.session.ending.exit_code

    def _finish(self, exit_status: int) -> None:
        from pytest_tablebench.claims.summary import summary_of

        run, ending, reason = self.session.run, self.session.ending, self._why_stopped()
        if exit_status in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            run.hand_in()
        self.session.close()
        snapshots = self.config.pluginmanager.getplugin("tablebench-snapshots")
        changes = snapshots.finish(exit_status) if snapshots is not None else {}
        self.runs = runs = run.writer.finish(exit_status, summary_of)
        for model, loaded in runs.items():
            loaded.changes = changes.get(model)
        for error in run.writer.unfinished:
            text = f"the run folder could not be finished: {error}"
            ending.give_up(text, exit_status, reason)
        self.summaries = {model: summary_of(loaded) for model, loaded in runs.items()}
        self._add_pass_rates_to_junit()
        if runs:
            comparison = snapshots.comparison if snapshots is not None else None
            has_failures = comparison is not None and comparison.has_failures
            ending.finish(
                runs,
                exit_status,
                reason,
                others_failed=self._others_failed > 0 or has_failures,
                compared_nothing=comparison is not None and comparison.compared_nothing,
            )
        elif not run.writer.unfinished and self._has_unused_gates():
            text = "no case was run, so every gate is undecided"
            ending.give_up(text, exit_status, reason)

    def _add_pass_rates_to_junit(self) -> None:
        """Add the tests' pass rates to the suite, which pytest writes after this."""
        if not getattr(self.config.option, "xmlpath", None):
            return
        from pytest_tablebench.reports.junit import pass_rates

        for plugin in self.config.pluginmanager.get_plugins():
            add = getattr(plugin, "add_global_property", None)
            if add is not None:
                for name, value in pass_rates(self.summaries):
                    add(name, value)

    def _has_unused_gates(self) -> bool:
        """Whether gates have no run to judge, because data is missing or all was skipped.

        Gates of a configuration file do not apply to a session without cases.
        """
        options, verdicts = self.config.option, self.session.verdicts
        if verdicts is None or not verdicts.gates:
            return False
        if self.settings.plan or runs_no_test(self.config):
            return False
        is_our_stop = self._why_stopped().startswith(OUR_STOP)
        # One shard may have no case.
        is_option = options.bench_gate and self.settings.shard is None
        return bool(self.missing or self._skipped or is_option or is_our_stop)

    def has_no_case(self, exit_code: int) -> bool:
        """Return whether the command line has our options, but no test uses a case."""
        if runs_no_test(self.config) or not has_options(self.config) or exit_code not in _ENDED:
            return False
        if self.runs or self.missing or self._skipped or self.session.has_cases:
            return False
        return self.settings.shard is None

    def _why_stopped(self) -> str:
        """Return why pytest ends early; empty if it does not."""
        target = self._stoppable
        return str(getattr(target, "shouldstop", "") or getattr(target, "shouldfail", "") or "")


class AloneReporting(ReportingHooks):
    """Reporting in a session without workers."""

    session: Alone

    def pytest_report_collectionfinish(self) -> list[str]:
        """Return the plan of the run, or the missing data if there are no cases."""
        if not self.session.is_used:
            return []
        from pytest_tablebench.reports.terminal import missing_lines

        cases = self.session.cases
        if not cases.planned:
            self.is_missing_announced = True
            lines = missing_lines(cases.selection.missing)
        else:
            lines = self.announcement(sum(cases.planned.values()))
        return [printable(line) for line in lines]

    def pytest_collection_finish(self) -> None:
        """Poll the engine while an item waits for its answer."""
        if self.session.is_used:
            self.session.cases.runner.prefetch.on_wait = lambda _: self.poll()


def _marked(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the lines of blocks: sentences with the name of the plugin, tables indented."""
    from pytest_tablebench.documents.document import Heading, Paragraph
    from pytest_tablebench.documents.terminal import terminal_lines

    for block in blocks:
        mark = "tablebench: " if isinstance(block, Heading | Paragraph) else "  "
        yield from (f"{mark}{line}" for line in terminal_lines([block]))
