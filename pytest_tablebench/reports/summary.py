"""The figures at the end of a run: tables, what their columns mean, and details."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.summary import Spread, informative_checks, same_meaning, spread
from pytest_tablebench.config.axes import GRID
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import memory_lines, number, percent, reasons_text
from pytest_tablebench.reports._replies import reply_lines, thinking_lines
from pytest_tablebench.reports._same_question import setting_lines, setting_tables
from pytest_tablebench.reports.labels import judged_lines
from pytest_tablebench.reports.scores import (
    cluster_lines,
    corrected_blocks,
    declared_parts,
    further_lines,
    score_table,
    strategy_tables,
)
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import tied

MANY = 6
"""The number of datasets in a benchmark up to which each has lines below the final table."""

COLUMN_LINES = (
    "performance: mean score, 0 to 1. 95 % interval: where the mean over more such questions is.",
    "robustness: 1 if the form of a table changes no score. pass rate: share of right answers.",
    "no answer: errors of the model or its server, and skipped tests. They count in no score.",
)
"""What the columns of the final table mean."""


def closing_blocks(
    summary: Mapping[str, Any],
    run: RunFacts | None = None,
    *,
    lowest: Sequence[doc.Block] = (),
    is_verbose: bool = True,
) -> list[doc.Block]:
    """Return the final table, what its columns mean, and details of each dataset.

    Details: the cost of sampling, results of repeats, reasons for no answer, and the number of
    replies that were cut off; if verbose also the best and worst serializer and perturbation, the
    consistency, and the number of tables.

    Arguments:
        summary: content of `summary.json`.
        run: the facts of the run; they name the parts of a score that are shown.
        lowest: the parts with the lowest scores, placed between table and details.
        is_verbose: whether to include all details.
    """
    run = run or RunFacts()
    details = cluster_lines(summary) if is_verbose else []
    for name, benchmark in summary["benchmarks"].items():
        details += _details(name, benchmark, run, is_verbose=is_verbose)
    details += reply_lines(summary, run)
    details += [*thinking_lines(summary), *judged_lines(summary)]
    return [
        score_table(summary),
        *strategy_tables(summary),
        *setting_tables(summary["benchmarks"], is_named=False),
        *map(doc.Paragraph, setting_lines(summary)),
        *corrected_blocks(summary, run),
        *_apart(COLUMN_LINES),
        *lowest,
        *_apart(details),
    ]


def _apart(lines: Sequence[str]) -> list[doc.Block]:
    """Return sentences that an empty line parts from those before."""
    return [doc.Sentences(lines)] if lines else []


def _details(
    name: str, benchmark: Mapping[str, Any], run: RunFacts, *, is_verbose: bool
) -> list[str]:
    details: list[str] = []
    datasets = benchmark["datasets"]
    for dataset, scope in datasets.items():
        details += _dataset_details(dataset, scope, is_verbose=is_verbose)
        if len(datasets) <= MANY:
            declared = declared_parts(run, dataset)
            details += further_lines(dataset, scope, declared, is_verbose=is_verbose)
    if list(datasets) == [name]:
        return details
    whole = f"{name} (all)"
    if len(datasets) > MANY:
        details.append(
            f"{whole}: the further figures of each dataset are in summary.json and on the page"
        )
    if len(datasets) > 1:
        details += _repeat_lines(whole, benchmark)
        details += further_lines(whole, benchmark, is_verbose=is_verbose)
    unknown = [key for key in datasets if datasets[key]["performance"] is None]
    if unknown:
        details.append(
            f"{whole}: no mean over datasets, because these have none: {', '.join(unknown)}"
        )
    return details


def _dataset_details(dataset: str, scope: Mapping[str, Any], *, is_verbose: bool) -> list[str]:
    lines = _best_and_worst(dataset, scope) if is_verbose else []
    lines += memory_lines(dataset, scope)
    sampled = scope.get("sampled")
    if sampled:
        lines.append(f"{dataset}: {_cost(sampled)}")
    lines += _repeat_lines(dataset, scope)
    lines += [
        f"{dataset}: {name} passes {percent(check['pass_rate'])}, failed "
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
