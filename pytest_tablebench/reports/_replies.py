"""Lines on prompts and replies that were cut, on unclear replies, and on thinking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tablebench.config.parameters import REPLY_LIMITS
from pytest_tablebench.documents.formats import percent
from pytest_tablebench.results.run_facts import RunFacts, answered_by
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.names import counted

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
    at = f" at {_listed(known_limits)} tokens" if known_limits and None not in limits else ""
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


def _listed(numbers: list[int]) -> str:
    first, *rest = map(str, numbers)
    return first if not rest else f"{first} to {rest[-1]}"
