"""Pytest hooks of the process that keeps the run: records, progress, the table at the end."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.errors import OUR_STOP, SettingsError, TableBenchError
from pytest_tablebench.hooks.current import begin
from pytest_tablebench.hooks.keys import ROLE, SESSION, SETTINGS
from pytest_tablebench.hooks.progress import ProgressLine
from pytest_tablebench.hooks.selection import selected_by
from pytest_tablebench.results.inapplicable import Inapplicable
from pytest_tablebench.session.roles import Controller
from pytest_tablebench.util.names import escaped
from pytest_tablebench.util.notices import Unsaid

if TYPE_CHECKING:
    from pytest_tablebench.results.loaded_run import LoadedRun
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.results.writer import Received
    from pytest_tablebench.session.finalizer import Finalizer
    from pytest_tablebench.session.state import RunWriter, Session

_OPTIONS = "--model", "--bench-"
_ENDED = pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, 11
"""Codes of sessions that failed nowhere, and that of gates that nothing decides."""


class ReportingHooks:
    """Registered where tests are reported: alone, or in the controller of xdist workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = config.stash[SETTINGS]
        self.role = config.stash[ROLE]
        self._pytest_session: pytest.Session | None = None
        self.progress = ProgressLine(config)
        self.announced = False
        """Whether it was said what is ahead."""
        self.problems_said = 0
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
        self.ending: Finalizer | None = None

    @property
    def state(self) -> Session | None:
        """What this process knows of the run; None in a session that has none of our cases."""
        return self.config.stash.get(SESSION, None)

    @property
    def writer(self) -> RunWriter | None:
        """Where the run is kept; None where there is none."""
        return self.state.writer if self.state is not None else None

    @property
    def _terminal(self) -> Any:
        return self.config.pluginmanager.getplugin("terminalreporter")

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep the session: only it can end a run early."""
        self._pytest_session = session

    def pytest_report_header(self) -> list[str]:
        """Say what is run, where it was asked for."""
        if not self.settings.given:
            return []
        return [self._header()]

    def _header(self) -> str:
        from pytest_tablebench.reports.terminal import header_line

        return header_line(self.settings, self.state.paths if self.state else {})

    def pytest_report_collectionfinish(self) -> list[str]:
        """Say how many cases are ahead, and what is wrong with the data."""
        state = self.state
        if state is None or state.runner is None or state.writer is None:
            return []
        from pytest_tablebench.reports.terminal import missing_lines

        if not state.planned:
            return missing_lines(state.selection.missing)
        return self._announcement(state.writer, sum(state.planned.values()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Begin the run with the first worker that selected cases; say what is ahead."""
        role = self.role
        if not isinstance(role, Controller):
            return
        if role.refused is not None:
            raise pytest.UsageError(role.refused)
        if not role.selected:
            return
        try:
            begin(self.config)
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from None
        state, ahead = self.state, role.ahead
        if state is None:
            return
        role.set_out(state)
        if ahead is None or ahead.cases is None or self.announced:
            return
        self._read_past.add(ahead.problems)
        terminal = self._terminal
        if terminal is not None:
            terminal.ensure_newline()
            for line in self._announcement(state.require_writer(), sum(ahead.cases.values())):
                terminal.write_line(line)

    def _announcement(self, writer: RunWriter, cases: int) -> list[str]:
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

        self.announced = True
        self.problems_said = writer.count_problems()
        lines = [] if self.settings.given else [self._header()]
        lines.append(plan_line(cases, writer.facts.get("grid"), len(self.settings.models)))
        lines += dataset_lines(writer.facts.get("by_dataset", {}))
        gates = self.state.planned_gates() if self.settings.plan and self.state else {}
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
        self._read_past.add(self.state.problems if self.state is not None else [])
        return [f"tablebench: {text}" for text in self._read_past.take()]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker has read past."""
        output = getattr(node, "workeroutput", None) or {}
        self._read_past.add(output.get("tablebench_problems", []))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the record off the report, keep it, and show how far the run is."""
        if report.failed:
            self._note_failed()
        given_up = report.__dict__.pop("tablebench_given_up", None)
        if given_up is not None and self.state is not None:
            self._end(self.state).give_up_model(*given_up)
        pending = report.__dict__.pop("tablebench_pending", None)
        if pending is not None and self.state is not None:
            self._end(self.state).wait_for(pending)
        inapplicable = report.__dict__.pop("tablebench_inapplicable", None)
        if inapplicable is not None and self.state is not None:
            self.state.require_writer().inapplicable.add(Inapplicable(*inapplicable))
            return
        message: CaseMessage | None = report.__dict__.pop("tablebench", None)
        if message is None:
            if report.__dict__.pop("tablebench_part", False):
                return  # its test fails with it
            self._others_failed += report.failed
            self._skipped += report.__dict__.pop("tablebench_skipped", False)
            if report.skipped and report.nodeid.endswith("[no-data]"):
                self._note_missing(report)
            return
        writer = self.writer
        if writer is None:
            return
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
            received = writer.receive(message)
        except (OSError, TableBenchError) as error:
            self._stop(f"{OUR_STOP}stopped: the run cannot be kept: {error}")
            return
        self._skipped += received.line is None
        self._show(writer)
        if received.line is not None:
            self._decide(message.case_id, received)
        if self.state is not None:
            self.state.prepare()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take note of what could not be collected."""
        self._others_failed += report.failed

    def _decide(self, case_id: str, received: Received) -> None:
        """End the run when every gate is decided without what is left."""
        state = self.state
        if state is None or state.settings.stop_rule is None:
            return
        why = self._end(state).feed(case_id, received)
        if why is not None:
            state.stop_asking(why)
            self._stop(why)

    def _note_failed(self) -> None:
        """Have no further call made when this failure is the last one that pytest allows."""
        self._failed += 1
        most = self.config.getvalue("maxfail")
        if most and self._failed >= most and self.state is not None:
            self.state.stop_asking(f"stopping after {self._failed} failures")

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Have no further call made."""
        if self.state is None:
            return
        self.state.stop_asking("interrupted")
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

    def _show(self, writer: RunWriter) -> None:
        terminal = self._terminal
        if terminal is None:
            return
        if not self.announced:
            total = sum(writer.facts.get("cases", {}).values())
            terminal.ensure_newline()
            for line in self._announcement(writer, total):
                terminal.write_line(line)
        self._look()
        self.progress.show(writer)

    def _look(self) -> None:
        """Learn what the engine tells: what has been paid, and who is waited for."""
        state = self.state
        if state is not None and state.writer is not None:
            self.progress.tell_waits(state.writer, state.look_at_totals())

    def pytest_collection_finish(self) -> None:
        """Look while an item of this process waits for its answer."""
        state = self.state
        if state is not None and state.runner is not None:
            state.runner.prefetch.on_wait = lambda _: self._look()

    def pytest_runtest_logstart(self) -> None:
        """Look in the controller of workers too, where they ask for it."""
        if isinstance(self.role, Controller):
            self._look()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Close the run, and let its gates say how it ended."""
        with _without_collections():
            self._finish(session, int(exitstatus))
        yield
        if self.ending is not None and self.ending.exit_code is not None:
            # Others (syrupy) have mixed theirs into it meanwhile.
            session.exitstatus = self.ending.exit_code

    def _finish(self, session: pytest.Session, exitstatus: int) -> None:
        state = self.state
        if state is None or state.writer is None:
            return
        if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            state.hand_in()
        state.close()
        snapshots = self.config.pluginmanager.getplugin("tablebench-snapshots")
        changes = snapshots.finish(exitstatus) if snapshots is not None else {}
        runs = state.writer.finish(exitstatus)
        for model, run in runs.items():
            run.changes = changes.get(model)
        for error in state.writer.unfinished:
            text = f"the run folder could not be finished: {error}"
            self._end(state).give_up(session, text, self._why_stopped())
        self.runs = runs
        self.summaries = {model: run.summary for model, run in runs.items()}
        self._tell_junit()
        if runs:
            failed = self._others_failed > 0 or (snapshots is not None and snapshots.has_failures)
            in_vain = snapshots is not None and snapshots.compared_nothing
            self._end(state).finish(
                session, runs, self._why_stopped(), others_failed=failed, compared_nothing=in_vain
            )
        elif not state.writer.unfinished and self._gates_in_vain():
            text = "no case was asked, so every gate is undecided"
            self._end(state).give_up(session, text, self._why_stopped())

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

    def _end(self, state: Session) -> Finalizer:
        if self.ending is None:
            from pytest_tablebench.session.finalizer import Finalizer

            self.ending = Finalizer(self.config, state)
        return self.ending

    def _gates_in_vain(self) -> bool:
        """Whether gates were to judge a run that recorded nothing: no data, or all skipped.

        Gates of a configuration file do not concern a session that has no case.
        """
        options = self.config.option
        verdicts = self.state.verdicts if self.state is not None else None
        if verdicts is None or not verdicts.gates:
            return False
        if self.settings.plan or options.collectonly:
            return False
        ours = self._why_stopped().startswith(OUR_STOP)
        meant = options.bench_gate and self.settings.shard is None  # a part may have no case
        return bool(self.missing or self._skipped or meant or ours)

    def has_no_case(self, exit_code: int) -> bool:
        """Whether a run was asked for on this command line, and no test here is over a case."""
        given = any(word.startswith(_OPTIONS) for word in self.config.invocation_params.args)
        if not given or exit_code not in _ENDED or self.runs or self.missing or self._skipped:
            return False
        state, role = self.state, self.role
        if isinstance(role, Controller):
            found = role.selected or bool(selected_by(self.config))
        else:
            found = state is not None and bool(state.tests or state.selection.missing)
        return not found and self.settings.shard is None

    def _why_stopped(self) -> str:
        """Return why pytest was told to end early; empty where it was not."""
        target = self._stoppable
        return str(getattr(target, "shouldstop", "") or getattr(target, "shouldfail", "") or "")


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Pause the garbage collector: records and pytest's reports are all in use, and many.

    Going through them again and again takes as long as the reports that are made of them.
    """
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
