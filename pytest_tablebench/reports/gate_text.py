"""Gates as a table for a terminal, with a reason for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.reports.formats import (
    fitting,
    interval,
    number,
    signed,
    stored_text,
    unusable_text,
)
from pytest_tablebench.results.gates import GateResult, verdict_line
from pytest_tablebench.util.names import counted, printable

__all__ = ["gate_lines"]

_HEADER = ("gate", "state", "estimate", "interval", "bound", "method", "examples", "left out")
_DIGITS = 4


def gate_lines(
    results: Sequence[GateResult], run: Mapping[str, Any], width: int | None = None
) -> list[str]:
    """Return the table of gates, the reason of each, the verdict on all, and what it rests on.

    `run` is the content of `run.json`.

    The last columns are left out of a table that is wider than `width`.
    """
    rows = [_HEADER, *map(_row, results)]
    lines = fitting(rows, width, left=(0, 1), fewest=3)
    for result in results:
        lines.append(f"  {printable(result.gate, 80)}: {printable(result.reason, 400)}")
        more = [*result.notes, *([f"To decide it: {result.needs}."] if result.needs else [])]
        lines += [f"    {printable(note, 400)}" for note in more]
    return [*lines, verdict_line(results), *filter(None, [stored_text(run), unusable_text(run)])]


def _row(result: GateResult) -> tuple[str, ...]:
    of_cases = result.n_cases is not None
    # Figures against a baseline are differences, so they always have a sign.
    sign = "baseline" in result.gate
    figure = signed if sign else number
    return (
        printable(result.gate, 80),
        result.state,
        figure(result.estimate, _DIGITS),
        interval(result.interval or result.clopper_pearson, _DIGITS, sign=sign),
        figure(result.bound, _DIGITS),
        result.method or "-",
        counted(result.n_cases or 0, "case") if of_cases else str(result.n_examples),
        "-" if of_cases else str(result.n_left_out),
    )
