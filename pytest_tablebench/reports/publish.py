"""Publish a finished run: its page, its summary for a pull request, Allure results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.texts import TEXTS, read_texts
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.claims.compare import RunComparison
    from pytest_tablebench.claims.gates import GateResult
    from pytest_tablebench.reports.html import PageAhead


def publish(
    run: Run,
    *,
    page: bool,
    gates: Sequence[GateResult] = (),
    comparison: RunComparison | None = None,
    baseline: Run | None = None,
    allure: tuple[str, Path] | None = None,
    summary: bool = False,
    ahead: PageAhead | None = None,
) -> list[str]:
    """Write the reports of a run whose folder is closed; return what could not be written.

    Arguments:
        run: the run.
        page: whether `report.html` is written.
        gates: the judged gates.
        comparison: the comparison with the baseline.
        baseline: the baseline.
        allure: mode (`auto` chooses by size) and folder of Allure results; None for no results.
        summary: whether `summary.md` is written without gates or a comparison too.
        ahead: what was packed for the page during the run.

    Raises `OSError` and `TableBenchError` for a file that cannot be read or written.
    """
    if page:
        from pytest_tablebench.reports.html import write_page

        write_page(
            run,
            run.path / "report.html",
            gates=gates,
            baseline=baseline,
            comparison=comparison,
            ahead=ahead,
        )
    changes = run.changes or {"changes": ()}
    kinds = {change["case_id"]: change["kind"] for change in changes["changes"]}
    if allure is not None:
        from pytest_tablebench.reports.allure import choose_mode, dataset_figures, write_allure

        mode, out = allure
        if mode == "auto":
            not_right = sum(r.outcome in {"wrong", "no_answer"} for r in run.records)
            mode = choose_mode(len(run.records), not_right)
        write_allure(
            run.records,
            out,
            run=run.facts,
            mode=mode,
            texts=read_texts(run.path / TEXTS),
            snapshots=kinds,
            figures=dataset_figures(summary_of(run)),
        )
    has_summary = (
        summary or gates or comparison is not None or os.environ.get("GITHUB_STEP_SUMMARY")
    )
    return _write_summary(run, gates, comparison, kinds, page=page) if has_summary else []


def republish_page(folder: Path, out: Path) -> list[str]:
    """Write a run's page again, from its folder and its baseline.

    The verdict and the changed answers are those that the run stored; the comparison with the
    baseline is computed again. Returns the problems, which the page shows too. Raises
    `SettingsError` if the folder is not a run or the page cannot be written.
    """
    from pytest_tablebench.claims.compare import compare_runs
    from pytest_tablebench.claims.gates import stored_results
    from pytest_tablebench.reports.html import write_page

    run, problems = load_run(folder), []
    named = run.facts.baseline
    baseline = comparison = None
    if named is not None:
        try:
            baseline = load_run(Path(named))
            # The run itself has already allowed the comparison of unlike runs.
            comparison = compare_runs(baseline, run, allow_unlike=True)
        except TableBenchError as error:
            problems.append(f"no comparison with the baseline: {shortened(str(error), 300)}")
    return write_page(
        run,
        out,
        gates=stored_results(run.facts.gates),
        baseline=baseline,
        comparison=comparison,
        notes=problems,
    )


def publish_pair(
    before: Path,
    after: Path,
    out: Path,
    *,
    allow_unlike: bool = False,
    different_judges: bool = False,
) -> tuple[RunComparison, list[str]]:
    """Write the page of the run `after`, with the answers of the run `before`.

    Returns their comparison and the problems. Raises `SettingsError` as `compare_runs` does, or if
    the page cannot be written.
    """
    from pytest_tablebench.claims.compare import compare_runs
    from pytest_tablebench.claims.gates import stored_results
    from pytest_tablebench.reports.html import write_page

    old, new = load_run(before), load_run(after)
    comparison = compare_runs(
        old, new, allow_unlike=allow_unlike, different_judges=different_judges
    )
    gates = stored_results(new.facts.gates)
    return comparison, write_page(new, out, gates=gates, baseline=old, comparison=comparison)


def _write_summary(
    run: Run,
    gates: Sequence[GateResult],
    comparison: RunComparison | None,
    kinds: dict[str, str],
    *,
    page: bool,
) -> list[str]:
    from pytest_tablebench.reports._github import summary_markdown, write_summary

    folder_text, on_github = (
        summary_markdown(
            run.facts,
            summary_of(run),
            gates,
            comparison=comparison,
            snapshots=kinds,
            has_page=page,
            elsewhere=elsewhere,
        )
        for elsewhere in (False, True)
    )
    problem = write_summary(run.path, folder_text, on_github)
    return [problem] if problem else []
