"""Lines of the terminal: the header, and the table at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.summary import Spread, informative_checks, same_meaning, spread
from pytest_tablebench.config.axes import GRID, NAMED
from pytest_tablebench.config.settings import Settings, without_credentials
from pytest_tablebench.documents.formats import (
    fitting,
    memory_lines,
    number,
    origins_text,
    percent,
    reasons_text,
)
from pytest_tablebench.reports.cheapest_text import setting_lines, setting_tables
from pytest_tablebench.reports.corrected_text import (
    CORRECTED_COLUMNS,
    corrected_line,
    corrected_row,
    corrected_scopes,
)
from pytest_tablebench.reports.cut_text import reply_lines, thinking_lines
from pytest_tablebench.reports.further_text import (
    COLUMNS,
    STRATEGIES,
    cluster_lines,
    declared_parts,
    further_lines,
    scope_row,
    strategy_rows,
)
from pytest_tablebench.reports.labels_text import judged_lines
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted, printable, tied
from pytest_tablebench.util.programs import program

__all__ = [
    "beside_line",
    "data_lines",
    "dataset_lines",
    "header_line",
    "in_process_lines",
    "missing_lines",
    "outcome_line",
    "plan_line",
    "short_path",
    "summary_lines",
    "test_lines",
]


MANY_MISSING = 3
"""The number of missing datasets up to which each has its own line."""

MANY = 6
"""The number of datasets in a benchmark up to which each has lines below the final table."""


def header_line(settings: Settings, paths: Mapping[str, Path]) -> str:
    """Return the line with model, data, store and result folders."""
    default = "" if settings.model_given else " (the default)"
    models = ", ".join(printable(model, 60) for model in settings.models)
    at = f" at {without_credentials(settings.api_base)}" if settings.api_base else ""
    setting = f"setting {settings.setting}; " if settings.setting else ""
    if settings.prompts is not None:
        setting += f"prompts {short_path(settings.prompts.folder)}; "
    data = settings.data_folder()
    results = ", ".join(short_path(path) for path in paths.values())
    return (
        f"tablebench: model {models}{default}{at}; {setting}compat {settings.compat}; "
        f"data {short_path(data)}; store {_store(settings)}; results {results}"
    )


def _store(settings: Settings) -> str:
    """Return `replay`, the place of the answer store, or `none`."""
    if settings.replay:
        return "replay"
    if isinstance(settings.store, str):
        return printable(without_credentials(settings.store))
    folder = settings.store_folder()
    return short_path(folder) if folder is not None else "none"


def short_path(path: Path) -> str:
    """Return the path, relative to the working folder if it is inside."""
    working_folder = Path.cwd()
    inside = path.relative_to(working_folder) if path.is_relative_to(working_folder) else path
    return printable(str(inside))


def plan_line(cases: int, grid: Mapping[str, Any] | None, models: int) -> str:
    """Return the line with the number of cases and the grid that they form."""
    if not grid:
        return f"tablebench: {counted(cases, 'case')}"
    factors = f", {models} models" if models > 1 else ""
    sizes = [(axis, len(grid.get(axis.plural, ()))) for axis in NAMED]
    shown = [
        counted(size, axis.name, axis.plural) for axis, size in sizes if axis.in_grid or size > 1
    ]
    return f"tablebench: {counted(cases, 'case')}; grid {' x '.join(shown)}{factors}"


def dataset_lines(by_dataset: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return lines on datasets with unusual settings, and the origin of these."""
    together: dict[str, list[str]] = {}
    for name, facts in by_dataset.items():
        text = origins_text(facts)
        if text:
            together.setdefault(text, []).append(printable(name, 60))
    return [f"tablebench: {', '.join(names)}: {text}" for text, names in together.items()]


def in_process_lines(models: Iterable[str]) -> list[str]:
    """Return the lines that name the models which run in the test process."""
    return [
        f"tablebench: {printable(model, 60)} answers in the process of its test, one call at a "
        f"time: --bench-connections and a budget have no effect on it"
        for model in models
    ]


def data_lines(datasets: Mapping[str, Any]) -> list[str]:
    """Return lines on problems of the data: notes and unusable rows."""
    together: dict[str, list[str]] = {}
    for raw, facts in datasets.items():
        for note in facts["notes"]:
            together.setdefault(printable(note), []).append(printable(raw, 60))
    lines = [f"{', '.join(names)}: {note}" for note, names in together.items()]
    for raw, facts in datasets.items():
        name = printable(raw, 60)
        problems = facts["problems"]
        if problems:
            lines.append(f"{name}: {counted(len(problems), 'bad row')} left out:")
            lines += [f"  {printable(problem, 300)}" for problem in problems[:5]]
            if len(problems) > 5:
                lines.append(f"  ... and {len(problems) - 5} more (all of them in run.json)")
    return lines


def missing_lines(missing: Mapping[str, str]) -> list[str]:
    """Return the lines on datasets without data: one each, or one for many."""
    if len(missing) > MANY_MISSING:
        names = [printable(name, 60) for name in missing]
        shown = ", ".join(names[:MANY_MISSING])
        return [
            f"skipped, no data: {shown} and {len(names) - MANY_MISSING} more datasets "
            f"(`{program('tablebench')} list` has the command for each)"
        ]
    return [
        f"{printable(name, 60)}: skipped, {printable(reason, 500)}"
        for name, reason in missing.items()
    ]


def test_lines(tests: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one line for each dataset with several tests."""
    return [
        f"{printable(dataset, 60)}: each case has one record; checks in it: "
        f"{printable(', '.join(names), 400)}"
        for dataset, names in tests.items()
        if len(names) > 1
    ]


def beside_line(test: str, count: int) -> str:
    """Return the line on a test that fails on right answers without a gate on it."""
    return (
        f"{printable(test, 200)} failed {counted(count, 'time')} and has no gate, so the exit "
        f"code is 1; a gate on its pass rate: DATASET::{printable(test, 200)}.pass_rate"
    )


def outcome_line(outcomes: Iterable[str], *, has_gates: bool) -> str:
    """Return the line that opens the summary: the number of cases of each outcome."""
    counts = Counter(outcomes)
    exit_code = (
        "fail no build by themselves: the gates do"
        if has_gates
        else "set exit code 1, unless the run has gates (--bench-gate)"
    )
    scored = f", {counts['scored']:,} only scored" if counts["scored"] else ""
    return (
        f"{counts['right']:,} right, {counts['wrong']:,} wrong, {counts['no_answer']:,} without an "
        f"answer{scored}. Wrong answers are failed tests and {exit_code}."
    )


COLUMN_LINES = (
    "performance: mean score, 0 to 1. 95 % interval: where the mean over more such questions is.",
    "robustness: 1 if the form of a table changes no score. pass rate: share of right answers.",
    "no answer: errors of the model or its server, and skipped tests. They count in no score.",
)
"""What the columns of the final table mean."""


def summary_lines(
    summary: Mapping[str, Any],
    run: RunFacts | None = None,
    width: int | None = None,
    *,
    lowest: Sequence[str] = (),
    is_verbose: bool = True,
) -> list[str]:
    """Return the final table, what its columns mean, and details of each dataset.

    Details: the cost of sampling, results of repeats, reasons for no answer, and the number of
    replies that were cut off; if verbose also the best and worst serializer and perturbation, the
    consistency, and the number of tables.

    Arguments:
        summary: content of `summary.json`.
        run: the facts of the run; they name the parts of a score that are shown.
        width: of the terminal; the last columns are left out if they do not fit.
        lowest: lines on the parts with the lowest scores, placed between table and details.
        is_verbose: whether to include all details.
    """
    rows: list[tuple[str, ...]] = []
    details: list[str] = []
    run = run or RunFacts()
    for name, benchmark in summary["benchmarks"].items():
        datasets = benchmark["datasets"]
        shown = {dataset: printable(dataset, 60) for dataset in datasets}
        for dataset, scope in datasets.items():
            rows.append(scope_row(shown[dataset], scope))
            details += _dataset_details(shown[dataset], scope, is_verbose=is_verbose)
            if len(datasets) <= MANY:
                declared = declared_parts(run, dataset)
                details += further_lines(shown[dataset], scope, declared, is_verbose=is_verbose)
        if list(datasets) != [name]:
            whole = f"{printable(name, 60)} (all)"
            rows.append(scope_row(whole, benchmark))
            if len(datasets) > MANY:
                details.append(
                    f"{whole}: the further figures of each dataset are in summary.json and on "
                    f"the page"
                )
            if len(datasets) > 1:
                details += _repeat_lines(whole, benchmark)
                details += further_lines(whole, benchmark, is_verbose=is_verbose)
            unknown = [shown[key] for key in datasets if datasets[key]["performance"] is None]
            if unknown:
                details.append(
                    f"{whole}: no mean over datasets, because these have none: {', '.join(unknown)}"
                )
    details += reply_lines(summary, run)
    details += [*thinking_lines(summary), *judged_lines(summary)]
    lines = fitting([COLUMNS, *rows], width)
    for benchmark in summary["benchmarks"].values():
        if strategy_table := strategy_rows(benchmark):
            lines += ["", *fitting([STRATEGIES, *strategy_table], width)]
        for table in setting_tables({"": benchmark}):
            lines += ["", *fitting([table.columns, *table.rows], width)]
    lines += setting_lines(summary)
    lines += _corrected_lines(summary, run, width)
    if is_verbose:
        details = [*cluster_lines(summary), *details]
    blocks = [lines, COLUMN_LINES, lowest, details]
    return [line for block in blocks if block for line in ("", *block)][1:]


def _corrected_lines(summary: Mapping[str, Any], run: RunFacts, width: int | None) -> list[str]:
    """Return the table by the corrected gold; empty without corrections."""
    line = corrected_line(summary, run)
    if line is None:
        return []
    rows = [
        corrected_row(printable(name, 60) + " (all)" * is_whole, scope, published)
        for name, is_whole, scope, published in corrected_scopes(summary)
    ]
    return ["", *fitting([CORRECTED_COLUMNS, *rows], width), line]


def _dataset_details(dataset: str, scope: Mapping[str, Any], *, is_verbose: bool) -> list[str]:
    lines = _best_and_worst(dataset, scope) if is_verbose else []
    lines += memory_lines(dataset, scope)
    sampled = scope.get("sampled")
    if sampled:
        lines.append(f"{dataset}: {_cost(sampled)}")
    lines += _repeat_lines(dataset, scope)
    lines += [
        f"{dataset}: {printable(name, 200)} passes {percent(check['pass_rate'])}, failed "
        f"{check['failed']} of {check['n_cases']} cases"
        + (f", {check['untold']} without a verdict" if check["untold"] else "")
        for name, check in informative_checks(scope).items()
    ]
    if reasons := reasons_text(scope["reasons"]):
        lines.append(f"{dataset}: {reasons}")
    return lines


def _best_and_worst(dataset: str, scope: Mapping[str, Any]) -> list[str]:
    lines = []
    for axis in GRID:
        label, range_of_axis = axis.name, spread(same_meaning(scope, axis.plural))
        if range_of_axis and range_of_axis.all_equal:
            lines.append(f"{dataset}: every {label} scores the same ({number(range_of_axis.high)})")
        elif range_of_axis:
            best, worst = (
                f"{': ' if len(names) > 1 else ' '}{tied(names, label)} ({number(value)})"
                for names, value in (
                    (range_of_axis.best, range_of_axis.high),
                    (range_of_axis.worst, range_of_axis.low),
                )
            )
            lines.append(f"{dataset}: best {label}{best}, worst{worst}{_unequal(range_of_axis)}")
    return lines


def _unequal(means: Spread) -> str:
    """Return how many answers the means have, if their numbers differ."""
    fewest, most = means.answers
    return f", over {fewest} to {most} answers each" if fewest < most else ""


def _cost(sampled: Mapping[str, Any]) -> str:
    """Return how much wider the interval is because each example has only some configurations."""
    drawn, grid_size, ratio = sampled["drawn"], sampled["of"], sampled["width_ratio"]
    text = f"{drawn} of {grid_size} configurations per example"
    if ratio is None:
        return f"{text}; too few examples to estimate how much wider that makes the interval"
    basis = " (assuming an intraclass correlation of .5)" if sampled["assumed"] else ""
    return (
        f"{text}; the interval is about {ratio:.2f} times as wide as with all of them{basis}, "
        f"and robustness is a range over {drawn} only"
    )


def _repeat_lines(name: str, scope: Mapping[str, Any]) -> list[str]:
    """Return the line on repeated cases; none for a run without repeats."""
    repeats = scope.get("repeats")
    if not repeats:
        return []
    n, differing = repeats["n"], repeats["spread"]
    at, hat = repeats["pass_at_k"], repeats["pass_hat_k"]
    line = (
        f"{name}: asked {n} times: pass@1 {percent(at['1'])}, pass@{n} {percent(at[str(n)])}, "
        f"pass^{n} {percent(hat[str(n)])}"
    )
    if differing["sd"] is not None:
        line += (
            f"; verdicts differ in {percent(differing['disagree'])} of configurations, scores by "
            f"{number(differing['range'])} on average (sd {number(differing['sd'])})"
        )
    left_out = repeats["left_out"][str(n)]
    if left_out:
        line += f"; {left_out} with fewer than {n} answers left out of pass@{n} and pass^{n}"
    return [line]
