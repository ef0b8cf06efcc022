"""The figures at the end of a run: tables, what their columns mean, details, and cut replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.summary import informative_checks, same_meaning, spread
from pytest_tablebench.config.axes import GRID
from pytest_tablebench.config.parameters import REPLY_LIMITS
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import memory_lines, number, percent, reasons_text
from pytest_tablebench.reports._same_question import setting_lines, setting_tables
from pytest_tablebench.reports.judges import judged_lines
from pytest_tablebench.reports.scores import (
    cluster_lines,
    corrected_blocks,
    declared_parts,
    further_lines,
    score_table,
    strategy_tables,
)
from pytest_tablebench.results.run_facts import RunFacts, answered_by
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.names import counted, tied

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
            fewest, most = range_of_axis.answers
            over = f", over {fewest} to {most} answers each" if fewest < most else ""
            lines.append(f"{dataset}: best {label}{best}, worst{worst}{over}")
    return lines


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


FURTHER, LEAST = 4, 4096
"""The proposed limit: a factor of the old limit, and at least so many tokens."""


def cut_line(summary: Mapping[str, Any], run: RunFacts) -> str | None:
    """Return how many replies were cut off and what to do; None if none were.

    Arguments:
        summary: the content of `summary.json`.
        run: the facts of the run, which name the limits.
    """
    cases, cut, lost = 0, 0.0, 0.0
    limits: set[int | None] = set()  # None is an unknown limit
    for benchmark in summary["benchmarks"].values():
        for dataset, scope in benchmark["datasets"].items():
            cases_of_dataset = scope["n_cases"]
            cases += cases_of_dataset
            cut_cases = [
                (scope.get(name) or 0.0) * cases_of_dataset for name in ("cut_off", "truncated")
            ]
            lost += cut_cases[0]
            if sum(cut_cases):
                cut += sum(cut_cases)
                limits.update(scope.get("cut_at") or [_limit(run, dataset)])
    if not cut:
        return None
    known_limits = sorted(limit for limit in limits if limit is not None)
    ends = dict.fromkeys(map(str, known_limits[:1] + known_limits[-1:]))
    at = f" at {' to '.join(ends)} tokens" if ends and None not in limits else ""
    further = max(LEAST, FURTHER * known_limits[-1]) if known_limits else LEAST
    line = (
        f"{percent(cut / cases)} of the replies were cut off{at}: --bench-extend-cut {further} "
        f"asks only these again"
    )
    return f"{line} ({percent(lost / cases)} contain no answer)" if lost else line


def reply_lines(summary: Mapping[str, Any], run: RunFacts) -> list[str]:
    """Return the lines on cut replies and prompts, on unclear replies, and on several servers.

    Arguments:
        summary: the content of `summary.json`.
        run: the facts of the run, which name the limits.
    """
    served = answered_by(run.served)
    lines = (cut_line(summary, run), prompt_line(summary), unclear_line(summary), served)
    return [line for line in lines if line is not None]


def prompt_line(summary: Mapping[str, Any]) -> str | None:
    """Return how many prompts the server cut, with one of them; None if it cut none."""
    scopes = [
        scope
        for benchmark in summary["benchmarks"].values()
        for scope in benchmark["datasets"].values()
        if scope.get("prompt_cut_by_server")
    ]
    if not scopes:
        return None
    cases = sum(benchmark["n_cases"] for benchmark in summary["benchmarks"].values())
    cut = sum(scope["prompt_cut_by_server"] * scope["n_cases"] for scope in scopes)
    parts = [scope["prompt_read"] for scope in scopes if scope.get("prompt_read")]
    read, sent = min(parts, key=lambda part: part[0] / part[1], default=(0, 0))
    example = f": the server read {read:,} of about {sent:,} tokens" if sent else ""
    return (
        f"{percent(cut / cases)} of the prompts were cut by the server{example}; these cases have "
        f"no answer: give the server a longer context"
    )


def unclear_line(summary: Mapping[str, Any]) -> str | None:
    """Return how many replies are unclear and between which values they leave the pass rate.

    None without an unclear reply.
    """
    scopes = [
        scope for scope in summary["benchmarks"].values() if scope.get("pass_rate_high") is not None
    ]
    if not scopes:
        return None
    cases = sum(scope["n_cases"] for scope in summary["benchmarks"].values())
    unclear = sum(scope["unclear"] * scope["n_cases"] for scope in scopes)
    rates = "pass rate" if len(summary["benchmarks"]) == 1 else "pass rates"
    spans = [
        f"{100 * scope['pass_rate']:.1f} to {percent(scope['pass_rate_high'])}" for scope in scopes
    ]
    return (
        f"{percent(unclear / cases)} unclear, counted as wrong; {rates} {', '.join(spans)}: "
        f"--bench-judge or `tablebench labels` decides them"
    )


def thinking_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return how many cases were asked again after a cut, and how many tokens were thinking."""
    lines = []
    again, tokens = summary.get("cases_extended"), summary.get("thinking_tokens")
    if type(again) is int and again:
        lines.append(
            f"{counted(again, 'case')} {'was' if again == 1 else 'were'} asked again with a higher "
            f"token limit, because a reply was cut off (flag extended)"
        )
    if type(tokens) is int and tokens:
        lines.append(f"{tokens:,} of the tokens of the replies were thinking")
    return lines


def _limit(run: RunFacts, dataset: str) -> int | None:
    """Return the limit of a dataset's replies; None if the run does not name one."""
    if run.extend_cut is not None:
        return run.extend_cut
    for params in (mapping(run.by_dataset, dataset, "params"), run.params):
        for name in REPLY_LIMITS:
            if type(params.get(name)) is int:
                return int(params[name])
    return None
