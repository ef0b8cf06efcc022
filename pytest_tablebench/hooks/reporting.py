"""Pytest hooks of the process that keeps the run: records, progress, the table at the end."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.errors import OUR_STOP, SettingsError, TableBenchError
from pytest_tablebench.hooks.progress import ProgressLine
from pytest_tablebench.session.roles import Controller
from pytest_tablebench.util.names import escaped
from pytest_tablebench.util.notices import Unsaid

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.results.writer import Received
    from pytest_tablebench.session.finalizer import Finalizer
    from pytest_tablebench.session.roles import Role
    from pytest_tablebench.session.state import RunWriter, Session

SHOWN = 10
"""Wrong answers, and cases without an answer, that the terminal shows; all are in the records."""


class ReportingHooks:
    """Registered where tests are reported: alone, or in the controller of xdist workers."""

    def __init__(
        self,
        config: pytest.Config,
        session: pytest.StashKey[Session],
        settings: Settings,
        role: Role,
        begin: Callable[[], None],
    ) -> None:
        self._config = config
        self._key = session
        self._settings = settings
        self._role = role
        self._begin = begin
        self._pytest_session: pytest.Session | None = None
        self._progress = ProgressLine(config)
        self._announced = False
        self._problems = 0
        self._failed = 0
        self._skipped = 0
        self._others_failed = 0
        self._missing: dict[str, str] = {}
        self._read_past = Unsaid()
        self._summaries: dict[str, dict[str, Any]] = {}
        self._hidden: Counter[str] = Counter()
        self._ending: Finalizer | None = None

    @property
    def _state(self) -> Session | None:
        return self._config.stash.get(self._key, None)

    @property
    def _writer(self) -> RunWriter | None:
        return self._state.writer if self._state is not None else None

    @property
    def _terminal(self) -> Any:
        return self._config.pluginmanager.getplugin("terminalreporter")

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep the session: only it can end a run early."""
        self._pytest_session = session

    def pytest_report_header(self) -> list[str]:
        """Say what is run, where it was asked for."""
        if not self._settings.given:
            return []
        return [self._header(), *_overlooked_configuration(self._config)]

    def _header(self) -> str:
        from pytest_tablebench.reports.terminal import header_line

        return header_line(self._settings, self._state.paths if self._state else {})

    def pytest_report_collectionfinish(self) -> list[str]:
        """Say how many cases are ahead, and what is wrong with the data."""
        state = self._state
        if state is None or state.runner is None or state.writer is None:
            return []
        from pytest_tablebench.reports.terminal import missing_lines

        if not state.planned:
            return missing_lines(state.missing)
        return self._announcement(state.writer, sum(state.planned.values()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Begin the run with the first worker that selected cases; say what is ahead."""
        role = self._role
        if not isinstance(role, Controller):
            return
        if role.refused is not None:
            raise pytest.UsageError(role.refused)
        if not role.selected:
            return
        try:
            self._begin()
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from None
        state, ahead = self._state, role.ahead
        if state is None:
            return
        role.set_out(state)
        if ahead is None or ahead.cases is None or self._announced:
            return
        self._read_past.add(ahead.problems)
        terminal = self._terminal
        if terminal is not None:
            terminal.ensure_newline()
            for line in self._announcement(state.require_writer(), sum(ahead.cases.values())):
                terminal.write_line(line)

    def _announcement(self, writer: RunWriter, cases: int) -> list[str]:
        from pytest_tablebench.reports.plan_text import plan_lines
        from pytest_tablebench.reports.terminal import (
            data_lines,
            missing_lines,
            plan_line,
            test_lines,
        )
        from pytest_tablebench.util.names import printable

        self._announced = True
        self._problems = writer.count_problems()
        lines = [] if self._settings.given else [self._header()]
        lines.append(plan_line(cases, writer.facts.get("grid"), len(self._settings.models)))
        gates = self._state.planned_gates() if self._settings.plan and self._state else {}
        lines += plan_lines(writer.plans.values(), self._settings, gates)
        lines += data_lines(writer.facts.get("datasets", {}))
        lines += missing_lines(writer.facts.get("missing", {}))
        for gate in writer.facts.get("not_judged", ()):
            lines.append(f"not judged: {printable(gate)}: nothing in this session has that name")
        lines += self._problem_lines()
        return lines + test_lines(writer.facts.get("tests", {}))

    def _problem_lines(self) -> list[str]:
        """Say what was damaged in stores and records and read past, each once."""
        self._read_past.add(self._state.problems if self._state is not None else [])
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
        if given_up is not None and self._state is not None:
            self._end(self._state).give_up_model(*given_up)
        message: CaseMessage | None = report.__dict__.pop("tablebench", None)
        if message is None:
            if report.__dict__.pop("tablebench_part", False):
                return  # its test fails with it
            self._others_failed += report.failed
            self._skipped += report.__dict__.pop("tablebench_skipped", False)
            if report.skipped and report.nodeid.endswith("[no-data]"):
                self._note_missing(report)
            return
        writer = self._writer
        if writer is None:
            return
        final = str(report.outcome) != "rerun"  # else another attempt follows, and counts instead
        finding = message.finding
        if final and report.failed and not finding.failed:
            # Another plugin found a fault: one that collects soft assertions, say.
            finding = finding._replace(passed=False, failed=True)
        message = replace(message, finding=finding._replace(last=final))
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
        if self._state is not None:
            self._state.prepare()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take note of what could not be collected."""
        self._others_failed += report.failed

    def _decide(self, case_id: str, received: Received) -> None:
        """End the run when every gate is decided without what is left."""
        state = self._state
        if state is None or state.settings.stop_rule is None:
            return
        why = self._end(state).feed(case_id, received)
        if why is not None:
            state.stop_asking(why)
            self._stop(why)

    def _note_failed(self) -> None:
        """Have no further call made when this failure is the last one that pytest allows."""
        self._failed += 1
        most = self._config.getvalue("maxfail")
        if most and self._failed >= most and self._state is not None:
            self._state.stop_asking(f"stopping after {self._failed} failures")

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Have no further call made."""
        if self._state is None:
            return
        self._state.stop_asking("interrupted")
        if isinstance(excinfo.value, pytest.exit.Exception):
            # A test's own words, of what a model said.
            excinfo.value.msg = escaped(str(excinfo.value.msg))
            excinfo.value.args = (excinfo.value.msg,)

    def _note_missing(self, report: pytest.TestReport) -> None:
        name = report.nodeid.rpartition("::")[2].removesuffix("[no-data]")
        if isinstance(report.longrepr, tuple):
            self._missing[name] = report.longrepr[2].removeprefix("Skipped: ")

    def _stop(self, message: str) -> None:
        target = self._role.stoppable(self._config, self._pytest_session)
        if target is not None and not target.shouldstop:
            target.shouldstop = escaped(message)

    def _show(self, writer: RunWriter) -> None:
        terminal = self._terminal
        if terminal is None:
            return
        if not self._announced:
            total = sum(writer.facts.get("cases", {}).values())
            terminal.ensure_newline()
            for line in self._announcement(writer, total):
                terminal.write_line(line)
        self._look()
        self._progress.show(writer)

    def _look(self) -> None:
        """Learn what the engine tells: what has been paid, and who is waited for."""
        state = self._state
        if state is not None and state.writer is not None:
            self._progress.tell_waits(state.writer, state.look_at_totals())

    def pytest_collection_finish(self) -> None:
        """Look while an item of this process waits for its answer."""
        state = self._state
        if state is not None and state.runner is not None:
            state.runner.prefetch.on_wait = lambda _: self._look()

    def pytest_runtest_logstart(self) -> None:
        """Look in the controller of workers too, where they ask for it."""
        if isinstance(self._role, Controller):
            self._look()

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Leave out the letters of our cases where the live line counts them."""
        if not hasattr(report, "tablebench_outcome") or not self._progress.compact:
            return None
        if hasattr(report, "wasxfail") or not (report.passed or report.failed):
            return None
        if report.passed:
            return "passed", "", "PASSED"
        return ("failed", "", "FAILED") if report.when == "call" else ("error", "", "ERROR")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Close the run, and let its gates say how it ended."""
        with _without_collections():
            self._finish(session, int(exitstatus))
        yield
        if self._ending is not None and self._ending.exit_code is not None:
            # Others (syrupy) have mixed theirs into it meanwhile.
            session.exitstatus = self._ending.exit_code

    def _finish(self, session: pytest.Session, exitstatus: int) -> None:
        state = self._state
        if state is None or state.writer is None:
            return
        state.close()
        snapshots = self._config.pluginmanager.getplugin("tablebench-snapshots")
        if snapshots is not None:
            snapshots.finish(exitstatus)
        try:
            self._summaries = state.writer.finish(exitstatus)
        except OSError as error:
            text = f"the run folder could not be finished: {error}"
            self._end(state).give_up(session, text, self._why_stopped())
            return
        self._tell_junit()
        if self._summaries:
            self._end(state).finish(
                session, self._summaries, self._why_stopped(), others_failed=self._others_failed > 0
            )
        elif self._gates_in_vain():
            text = "no case was asked, so every gate is undecided"
            self._end(state).give_up(session, text, self._why_stopped())

    def _tell_junit(self) -> None:
        """Put the tests' pass rates on the suite; pytest writes it after this."""
        if not getattr(self._config.option, "xmlpath", None):
            return
        from pytest_tablebench.reports.junit import pass_rates

        for plugin in self._config.pluginmanager.get_plugins():
            add = getattr(plugin, "add_global_property", None)
            if add is not None:
                for name, value in pass_rates(self._summaries):
                    add(name, value)

    def _end(self, state: Session) -> Finalizer:
        if self._ending is None:
            from pytest_tablebench.session.finalizer import Finalizer

            self._ending = Finalizer(self._config, state)
        return self._ending

    def _gates_in_vain(self) -> bool:
        """Whether gates were to judge a run that recorded nothing: no data, or all skipped.

        Gates of a configuration file do not concern a session that has no case.
        """
        options = self._config.option
        verdicts = self._state.verdicts if self._state is not None else None
        if verdicts is None or not verdicts.has_gates:
            return False
        if self._settings.plan or options.collectonly:
            return False
        ours = self._why_stopped().startswith(OUR_STOP)
        return bool(self._missing or self._skipped or options.bench_gate or ours)

    def _why_stopped(self) -> str:
        """Return why pytest was told to end early; empty where it was not."""
        target = self._role.stoppable(self._config, self._pytest_session)
        return str(getattr(target, "shouldstop", "") or getattr(target, "shouldfail", "") or "")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None]:
        """Show the first wrong answers in full, and the table behind everything else."""
        stats = terminalreporter.stats
        kept_back: dict[str, list[Any]] = {}
        for category in ("failed", "error"):
            reports = stats.get(category, [])
            ours = [report for report in reports if hasattr(report, "tablebench_outcome")]
            for report in ours[:SHOWN]:
                # Which worker it was adds a line to three and says nothing about the model.
                report.__dict__.pop("node", None)
            if len(ours) > SHOWN:
                hidden = set(map(id, ours[SHOWN:]))
                kept_back[category] = reports
                stats[category] = [report for report in reports if id(report) not in hidden]
                self._hidden.update(report.tablebench_outcome for report in ours[SHOWN:])
        try:
            yield
        finally:
            stats.update(kept_back)
        self._write_table(terminalreporter)

    def _write_table(self, terminal: Any) -> None:
        problems = self._ending.problems if self._ending is not None else []
        read_past = self._problem_lines()
        if not self._summaries and not self._missing and not problems and not read_past:
            return
        from pytest_tablebench.reports.terminal import (
            data_lines,
            hidden_line,
            missing_lines,
            short_path,
            summary_lines,
        )
        from pytest_tablebench.results._folder import selection_text
        from pytest_tablebench.util.names import printable

        writer = self._writer
        if writer is None or self._state is None:
            return
        if isinstance(self._role, Controller) and not self._announced:
            # Nothing ran, so no worker ever told what was not there.
            for line in missing_lines(self._missing):
                terminal.write_line(line)
        if writer.count_problems() > self._problems:
            # Demonstrations are read when the first case runs: their bad rows come late.
            for line in data_lines(writer.facts["datasets"]):
                terminal.write_line(line)
        selection = selection_text({"selected_by": writer.selected_by})
        for model, summary in self._summaries.items():
            terminal.write_sep("=", f"tablebench: {printable(model)}")
            if selection:
                terminal.write_line(selection)
            for line in summary_lines(summary):
                terminal.write_line(line)
            for line in self._ending.lines(model) if self._ending is not None else []:
                terminal.write_line(line)
            terminal.write_line(f"run folder: {short_path(writer.kept[model].path)}")
        for line in read_past:
            terminal.write_line(line)
        for problem in problems:
            terminal.write_line(f"tablebench: {printable(problem, 500)}")
        hidden = hidden_line(self._hidden)
        if hidden:
            terminal.write_line(hidden)


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


def _overlooked_configuration(config: pytest.Config) -> list[str]:
    """Return a line where pytest missed the configuration of the folder it was started in.

    It looks for one before plugins add their options, and takes the value of an option it does
    not know yet for a path to start from.
    """
    if config.inipath is not None:
        return []
    here = config.invocation_params.dir
    for name, section in (("pytest.ini", "[pytest]"), ("pyproject.toml", "[tool.pytest")):
        try:
            found = section in (here / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if found:
            return [
                f"tablebench: pytest did not read {name} here: write paths behind an equals sign, "
                f"as in --bench-data=DIR"
            ]
    return []
