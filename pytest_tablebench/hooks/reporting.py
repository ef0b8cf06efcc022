"""Pytest hooks of the process that keeps the run: records, progress, the table at the end."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.errors import OUR_STOP, TableBenchError
from pytest_tablebench.hooks.progress import ProgressLine
from pytest_tablebench.session.garbage import without_collections
from pytest_tablebench.util.names import escaped
from pytest_tablebench.util.notices import Unsaid

if TYPE_CHECKING:
    from pytest_tablebench.results.loaded_run import LoadedRun
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.results.writer import Received, RunWriter
    from pytest_tablebench.session.alone import Alone
    from pytest_tablebench.session.base import RunKeeper

_OPTIONS = "--model", "--bench-"
_ENDED = pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, 11
"""Codes of sessions that failed nowhere, and that of gates that nothing decides."""


class ReportingHooks:
    """Registered where tests are reported: alone, or in the controller of xdist workers.

    Arguments:
        config: of pytest.
        session: of this process.
    """

    def __init__(self, config: pytest.Config, session: RunKeeper) -> None:
        self.config = config
        self.session = session
        self.settings = session.settings
        self._pytest_session: pytest.Session | None = None
        self.progress = ProgressLine(config)
        self.is_announced = False
        """Whether the terminal says what is ahead."""
        self.is_missing_announced = False
        """Whether it says which data are missing, where nothing is ahead."""
        self.announced_problems = 0
        """Unusable rows that were known then."""
        self._failed = 0
        self._skipped = 0
        self._others_failed = 0
        self.missing: dict[str, str] = {}
        """Why there is no data, by test."""
        self._read_past = Unsaid()
        self.summaries: dict[str, dict[str, Any]] = {}
        """By model, once the run is closed."""
        self.runs: Mapping[str, LoadedRun] = {}
        """The same runs."""

    @property
    def writer(self) -> RunWriter:
        """What keeps the records of the run."""
        return self.session.run.writer

    @property
    def _terminal(self) -> Any:
        return self.config.pluginmanager.getplugin("terminalreporter")

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep the session: only it can end a run early."""
        self._pytest_session = session

    def pytest_report_header(self) -> list[str]:
        """Say what is run, where it was asked for."""
        if not self.settings.command_line_keys:
            return []
        return [self._header()]

    def _header(self) -> str:
        from pytest_tablebench.reports.terminal import header_line

        return header_line(self.settings, self.session.run.paths)

    def announcement(self, cases: int) -> list[str]:
        """Return the lines that say what is ahead."""
        from pytest_tablebench.reports.formats import left_out_lines
        from pytest_tablebench.reports.plan_text import plan_lines
        from pytest_tablebench.reports.terminal import (
            data_lines,
            dataset_lines,
            in_process_lines,
            missing_lines,
            plan_line,
            test_lines,
        )
        from pytest_tablebench.util.names import printable

        writer = self.writer
        self.is_announced = True
        self.announced_problems = writer.count_problems()
        lines = [] if self.settings.command_line_keys else [self._header()]
        lines.append(plan_line(cases, writer.facts.get("grid"), len(self.settings.models)))
        lines += dataset_lines(writer.facts.get("by_dataset", {}))
        gates = self.session.planned_gates() if self.settings.plan else {}
        lines += plan_lines(writer.plans.values(), self.settings, gates)
        lines += data_lines(writer.facts.get("datasets", {}))
        lines += left_out_lines(writer.facts)
        lines += missing_lines(writer.facts.get("missing", {}))
        lines += in_process_lines(writer.facts.get("in_process", ()))
        if (transport := writer.facts.get("transport")) is not None:
            lines.append(f"tablebench: {printable(transport)}")
        for gate in writer.facts.get("not_judged", ()):
            lines.append(f"not judged: {printable(gate)}: nothing in this session has that name")
        lines += self.problem_lines()
        return lines + test_lines(writer.facts.get("tests", {}))

    def problem_lines(self) -> list[str]:
        """Say what was damaged in stores and records and read past, each once."""
        self.take_problems(self.session.problems if self.session.is_used else [])
        return [f"tablebench: {text}" for text in self._read_past.take()]

    def take_problems(self, problems: Iterable[str]) -> None:
        """Take over what a process has read past."""
        self._read_past.add(problems)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the record off the report, keep it, and show how far the run is."""
        if report.failed:
            self._note_failed()
        given_up = report.__dict__.pop("tablebench_given_up", None)
        if given_up is not None:
            self.session.ending.give_up_model(*given_up)
        pending = report.__dict__.pop("tablebench_pending", None)
        if pending is not None:
            self.session.ending.wait_for(pending)
        inapplicable = report.__dict__.pop("tablebench_inapplicable", None)
        if inapplicable is not None:
            self.writer.leave_out(*inapplicable)
            return
        message: CaseMessage | None = report.__dict__.pop("tablebench", None)
        if message is None:
            self._take_other(report)
        else:
            self._take_case(report, message)

    def _take_other(self, report: pytest.TestReport) -> None:
        """Count a report that is no outcome of a case."""
        if report.__dict__.pop("tablebench_part", False):
            return  # its test fails with it
        self._others_failed += report.failed
        self._skipped += report.__dict__.pop("tablebench_skipped", False)
        if report.skipped and report.nodeid.endswith("[no-data]"):
            self._note_missing(report)

    def _take_case(self, report: pytest.TestReport, message: CaseMessage) -> None:
        """Record what became of a case, and show how far the run is."""
        if report.failed:
            report.tablebench_case = message.model, message.case_id  # type: ignore[attr-defined]
        final = str(report.outcome) != "rerun"  # else another attempt follows, and counts instead
        finding = message.finding
        if final and report.failed and not finding.failed:
            # Another plugin found a fault: one that collects soft assertions, say.
            finding = finding._replace(passed=False, failed=True)
        finding = finding._replace(last=final)
        if finding != message.finding:
            message = replace(message, finding=finding)
        try:
            self._read_past.add(message.problems)
            received = self.writer.receive(message)
        except (OSError, TableBenchError) as error:
            self._stop(f"{OUR_STOP}stopped: the run cannot be kept: {error}")
            return
        self._skipped += received.record is None
        self._show()
        if received.record is not None:
            self._decide(message.case_id, received)
        self.session.run.prepare_end()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take note of what could not be collected."""
        self._others_failed += report.failed

    def _decide(self, case_id: str, received: Received) -> None:
        """End the run when every gate is decided without what is left."""
        why = self.session.ending.feed(case_id, received)
        if why is not None:
            self.session.run.engine.stop(why)
            self._stop(why)

    def _note_failed(self) -> None:
        """Have no further call made when this failure is the last one that pytest allows."""
        self._failed += 1
        most = self.config.getvalue("maxfail")
        if most and self._failed >= most and self.session.is_used:
            self.session.run.engine.stop(f"stopping after {self._failed} failures")

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Have no further call made."""
        if not self.session.is_used:
            return
        self.session.run.engine.stop("interrupted")
        if isinstance(excinfo.value, pytest.exit.Exception):
            # A test's own words, of what a model said.
            excinfo.value.msg = escaped(str(excinfo.value.msg))
            excinfo.value.args = (excinfo.value.msg,)

    def _note_missing(self, report: pytest.TestReport) -> None:
        name = report.nodeid.rpartition("::")[2].removesuffix("[no-data]")
        if isinstance(report.longrepr, tuple):
            self.missing[name] = report.longrepr[2].removeprefix("Skipped: ")

    @property
    def _stoppable(self) -> Any:
        """What pytest asks whether the session is to stop: xdist's own where that runs no items."""
        return self.config.pluginmanager.getplugin("dsession") or self._pytest_session

    def _stop(self, message: str) -> None:
        target = self._stoppable
        if target is not None and not target.shouldstop:
            target.shouldstop = escaped(message)

    def _show(self) -> None:
        terminal = self._terminal
        if terminal is None:
            return
        if not self.is_announced:
            terminal.ensure_newline()
            for line in self.announcement(sum(self.writer.facts.get("cases", {}).values())):
                terminal.write_line(line)
        self.look()
        self.progress.show(self.writer)

    def look(self) -> None:
        """Learn from the engine what has been paid, and which models are waited for."""
        if self.session.is_used:
            self.progress.tell_waits(self.writer, self.session.run.poll_engine())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Close the run, and let its gates say how it ended."""
        if not self.session.is_used:
            return (yield)
        with without_collections():
            self._finish(int(exitstatus))
        yield
        if self.session.ending.exit_code is not None:
            # Other plugins (syrupy) have mixed theirs into it meanwhile.
            session.exitstatus = self.session.ending.exit_code

    def _finish(self, exit_status: int) -> None:
        run, ending, reason = self.session.run, self.session.ending, self._why_stopped()
        if exit_status in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            run.hand_in()
        self.session.close()
        snapshots = self.config.pluginmanager.getplugin("tablebench-snapshots")
        changes = snapshots.finish(exit_status) if snapshots is not None else {}
        self.runs = runs = run.writer.finish(exit_status)
        for model, loaded in runs.items():
            loaded.changes = changes.get(model)
        for error in run.writer.unfinished:
            text = f"the run folder could not be finished: {error}"
            ending.give_up(text, exit_status, reason)
        self.summaries = {model: loaded.summary for model, loaded in runs.items()}
        self._tell_junit()
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
        elif not run.writer.unfinished and self._has_gates_in_vain():
            text = "no case was asked, so every gate is undecided"
            ending.give_up(text, exit_status, reason)

    def _tell_junit(self) -> None:
        """Put the tests' pass rates on the suite; pytest writes it after this."""
        if not getattr(self.config.option, "xmlpath", None):
            return
        from pytest_tablebench.reports.junit import pass_rates

        for plugin in self.config.pluginmanager.get_plugins():
            add = getattr(plugin, "add_global_property", None)
            if add is not None:
                for name, value in pass_rates(self.summaries):
                    add(name, value)

    def _has_gates_in_vain(self) -> bool:
        """Whether gates were to judge a run that recorded nothing: no data, or all skipped.

        Gates of a configuration file do not concern a session that has no case.
        """
        options, verdicts = self.config.option, self.session.verdicts
        if verdicts is None or not verdicts.gates:
            return False
        if self.settings.plan or options.collectonly:
            return False
        ours = self._why_stopped().startswith(OUR_STOP)
        meant = options.bench_gate and self.settings.shard is None  # a part may have no case
        return bool(self.missing or self._skipped or meant or ours)

    def has_no_case(self, exit_code: int) -> bool:
        """Whether a run was asked for on this command line, and no test here is over a case."""
        words = self.config.invocation_params.args
        if not any(word.startswith(_OPTIONS) for word in words) or exit_code not in _ENDED:
            return False
        if self.runs or self.missing or self._skipped or self.session.has_cases:
            return False
        return self.settings.shard is None

    def _why_stopped(self) -> str:
        """Return why pytest was told to end early; empty where it was not."""
        target = self._stoppable
        return str(getattr(target, "shouldstop", "") or getattr(target, "shouldfail", "") or "")


class AloneReporting(ReportingHooks):
    """Registered where one process does all."""

    def __init__(self, config: pytest.Config, session: Alone) -> None:
        super().__init__(config, session)
        self._cases = session

    def pytest_report_collectionfinish(self) -> list[str]:
        """Say how many cases are ahead, and what is wrong with the data."""
        if not self.session.is_used:
            return []
        from pytest_tablebench.reports.terminal import missing_lines

        cases = self._cases.cases
        if not cases.planned:
            self.is_missing_announced = True
            return missing_lines(cases.selection.missing)
        return self.announcement(sum(cases.planned.values()))

    def pytest_collection_finish(self) -> None:
        """Poll the engine while an item waits for its answer."""
        if self.session.is_used:
            self._cases.cases.runner.prefetch.on_wait = lambda _: self.look()
