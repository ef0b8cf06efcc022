"""The run in pytest's terminal: letters, the first wrong answers, and the table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.hooks._escaping import write_lines, write_title
from pytest_tablebench.hooks._reporting import ReportingHooks
from pytest_tablebench.util.names import shortened
from pytest_tablebench.util.programs import module_name

NOT_OF_ONE_CASE = frozenset(
    {
        *("datasets", "shard", "results", "gates", "gate_point", "baseline", "allow_unlike"),
        *("stop_rule", "plan", "max_cost", "show", "page", "allure"),
        *("snapshot", "snapshot_of", "snapshot_changes"),
        *("different_judges", "labels", "judge_uncalibrated"),
    }
)
"""Settings that are not needed to rerun one case.

The axes are needed: a case outside the default grid exists only if an option names it.
"""


class TerminalHooks:
    """Writes the run's results to pytest's terminal."""

    def __init__(self, run: ReportingHooks) -> None:
        self._run = run
        self._hidden: Counter[str] = Counter()
        self._grouped: list[Any] = []
        """Reports to show in groups, by example or by reason."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Return no letter for a case that progress lines count."""
        if not hasattr(report, "tablebench_outcome") or not self._run.progress.compact:
            return None
        if hasattr(report, "wasxfail") or not (report.passed or report.failed):
            return None
        if report.passed:
            return "passed", "", "PASSED"
        return ("failed", "", "FAILED") if report.when == "call" else ("error", "", "ERROR")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> Generator[None]:
        """Show wrong answers in full if they are few, then the table."""
        show = self._run.settings.show
        stats = terminalreporter.stats
        kept_back: dict[str, list[Any]] = {}
        for category in ("failed", "error"):
            reports = stats.get(category, [])
            ours = [report for report in reports if hasattr(report, "tablebench_outcome")]
            if not ours:
                continue
            from pytest_tablebench.reports.failures import shown_count

            limit = shown_count(len(ours), show)
            for report in ours[:limit]:
                # Omit the worker's name: it adds a line and does not concern the model.
                report.__dict__.pop("node", None)
            if len(ours) > limit:
                hidden = set(map(id, ours[limit:]))
                kept_back[category] = reports
                stats[category] = [report for report in reports if id(report) not in hidden]
                if show is None:
                    self._grouped += ours
                else:
                    self._hidden.update(report.tablebench_outcome for report in ours[limit:])
        try:
            yield
        finally:
            stats.update(kept_back)
        self._write_table(terminalreporter)
        if self._run.has_no_case(int(exitstatus)):
            from pytest_tablebench.hooks.collection import has_own_folder
            from pytest_tablebench.reports.terminal import no_case_lines

            is_own = has_own_folder(self._run.settings)
            lines = no_case_lines(self._given_options(), is_own_folder=is_own)
            write_lines(terminalreporter, lines)

    def _write_table(self, terminal: Any) -> None:
        if not self._run.session.is_used and not self._run.missing:
            return
        problems = self._run.session.ending.problems
        warnings = self._run.problem_lines()
        if not self._run.summaries and not self._run.missing and not problems and not warnings:
            return
        from pytest_tablebench.reports.failures import grouped_lines
        from pytest_tablebench.reports.terminal import data_lines, hidden_line, missing_lines
        from pytest_tablebench.results.run_facts import RunFacts

        writer = self._run.writer
        if not self._run.is_announced and not self._run.is_missing_announced:
            # Nothing ran, so no worker has reported the missing data.
            write_lines(terminal, missing_lines(self._run.missing))
        if writer.count_problems() > self._run.announced_problems:
            # Demonstrations are read when the first case runs, so their bad rows come late.
            write_lines(terminal, data_lines(writer.facts["datasets"]))
        selection = RunFacts(
            selected_by=writer.selected_by, shard=writer.settings.shard
        ).selection_text
        if self._grouped:
            write_title(terminal, "wrong and unanswered, grouped (--bench-show=N shows them)")
            rows = {model: kept.rows for model, kept in writer.model_runs.items()}
            write_lines(terminal, grouped_lines(rows, self._grouped))
        width = terminal._tw.fullwidth if terminal.isatty else None
        for model in self._run.summaries:
            write_title(terminal, f"tablebench: {model}")
            write_lines(terminal, [selection] if selection else [])
            write_lines(terminal, self._model_lines(terminal, model, width))
        write_lines(terminal, warnings)
        write_lines(terminal, (f"tablebench: {shortened(text, 500)}" for text in problems))
        hidden = hidden_line(self._hidden)
        write_lines(terminal, [hidden] if hidden else [])

    def _model_lines(self, terminal: Any, model: str, width: int | None) -> list[str]:
        """Return the lines about one model: differences, figures, and next steps."""
        from pytest_tablebench.claims.outliers import outliers_of
        from pytest_tablebench.documents.terminal import terminal_lines
        from pytest_tablebench.reports.failures import change_of
        from pytest_tablebench.reports.summary import closing_blocks
        from pytest_tablebench.reports.terminal import (
            fitted,
            new_failure_blocks,
            next_lines,
            outcome_line,
            outlier_blocks,
        )

        writer, ending = self._run.writer, self._run.session.ending
        verdict = ending.verdicts.get(model)
        worse: Sequence[str] = ()
        lowest = outlier_blocks(outliers_of(self._run.runs[model]))
        if verdict is not None and verdict.comparison is not None:
            worse = verdict.comparison.worse
            lowest = new_failure_blocks(verdict.comparison, self._run.settings.show) + lowest
        is_verbose = terminal.verbosity > 0
        summary, facts = self._run.summaries[model], writer.run_facts(model)
        rows = writer.model_runs[model].rows.values()
        has_gates = bool(self._run.settings.gates)
        lines = [outcome_line((row.outcome for row in rows), has_gates=has_gates), ""]
        closing = closing_blocks(summary, facts, lowest=lowest, is_verbose=is_verbose)
        lines += terminal_lines(closing, width=width)
        lines += ending.lines(model, width)
        failed = self._failed(terminal, model, worse)
        last = next_lines(
            writer.model_runs[model].path,
            verdict.gates if verdict is not None else (),
            failed.tablebench_case[1] if failed is not None else None,
            self._rerun_line(failed) if failed is not None and is_verbose else "",
            there_are=self._count_examples,
            word="changed" if failed is not None and change_of(failed) else "wrong",
        )
        # Commands and paths stay on one line, so that they can be copied.
        return [*fitted(lines, width), "", *last]

    def _count_examples(self, gate: str, most: int) -> int | None:
        """Return the number of examples of a gate's datasets, at most `most` in each.

        None if they cannot be counted. Ignores the gate's tags, which may leave fewer.
        """
        from pytest_tablebench.claims.gates import parse_gate

        session = self._run.session
        try:
            scope = parse_gate(gate).scope
            names = {
                name
                for summary in self._run.summaries.values()
                for benchmark in summary["benchmarks"].values()
                for name in benchmark["datasets"]
            }
            if scope not in {"all", "run"}:
                names &= {*session.registry.members().get(scope, ()), scope}
            return sum(session.count_examples(name, most) for name in names)
        except Exception:  # a user's dataset may raise anything, and this is only a hint
            return None

    def _failed(self, terminal: Any, model: str, worse: Sequence[str]) -> Any:
        """Return the failed report to suggest: a new failure, else a wrong answer; or None."""
        from pytest_tablebench.reports.failures import change_of

        reports = [
            report
            for report in terminal.stats.get("failed", [])
            if getattr(report, "tablebench_case", ("",))[0] == model
        ]
        reports.sort(key=lambda report: bool(change_of(report)))
        new = set(worse)
        return next(
            (report for report in reports if report.tablebench_case[1] in new),
            next(iter(reports), None),
        )

    def _rerun_line(self, report: Any) -> str:
        from pytest_tablebench.reports.terminal import rerun_line

        config = self._run.config
        # Not from the node id, which lacks the path of a suite outside the rootdir.
        path, test = config.rootpath / report.location[0], report.nodeid.partition("::")[2]
        words = self._given_options(exclude=NOT_OF_ONE_CASE)
        all_failed = config.pluginmanager.hasplugin("lfplugin")
        return rerun_line(self._item(path, test), words, all_failed=all_failed)

    def _item(self, path: Path, test: str) -> list[str]:
        """Return the arguments that name a test to pytest without changing its settings file.

        pytest searches that file from its path arguments, so a path outside the project would
        lose the project's gates and limits. The package's suites are named by module instead.
        """
        config = self._run.config
        path = Path(os.path.normpath(path))
        name = None if path.is_relative_to(config.rootpath) else module_name(path)
        if name is not None:
            return ["--pyargs", f"{name}::{test}"]
        return [f"{os.path.relpath(path, config.invocation_params.dir)}::{test}"]

    def _given_options(self, exclude: Collection[str] = ()) -> list[str]:
        """Return the options of the command line as words, without secrets.

        Omits the options of the settings in `exclude`.
        """
        from pytest_tablebench.config.options import OPTIONS
        from pytest_tablebench.config.secrets import placed_secrets, redact

        config, settings = self._run.config, self._run.settings
        secrets = placed_secrets(settings.api_base, settings.params)
        words = []
        for option in OPTIONS:
            value = getattr(config.option, option.key, None)
            if option.setting in exclude or option.key not in settings.command_line_keys:
                continue
            if option.setting == "fresh":  # without a value, the run has a new name
                value = settings.fresh
            for text in value if isinstance(value, list) else [value]:
                word = option.flag if option.switch else f"{option.flag}={text}"
                if redact(word, secrets) == word:  # users must add options with secrets
                    words.append(word)
        return words
