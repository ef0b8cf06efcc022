"""Gates as a table for a terminal, with the reason of each in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tablebench.results.gates import GateResult, verdict_line
from pytest_tablebench.util.names import counted, printable

__all__ = ["gate_lines"]

_HEADER = ("gate", "state", "estimate", "interval", "bound", "method", "examples", "left out")


def gate_lines(results: Sequence[GateResult]) -> list[str]:
    """Return the table of gates, why each came out as it did, and the verdict on all."""
    rows = [_HEADER, *map(_row, results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        cells += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    for result in results:
        lines.append(f"  {printable(result.gate, 80)}: {printable(result.reason, 400)}")
        lines += [f"    {printable(note, 400)}" for note in result.notes]
    return [*lines, verdict_line(results)]


def _row(result: GateResult) -> tuple[str, ...]:
    interval = result.interval or result.clopper_pearson
    of_cases = result.n_cases is not None
    # Against a baseline the figures are differences: their sign is always shown.
    number = _signed if "baseline" in result.gate else _number
    return (
        printable(result.gate, 80),
        result.state,
        number(result.estimate),
        "-" if interval is None else f"{number(interval[0])} to {number(interval[1])}",
        number(result.bound),
        result.method or "-",
        counted(result.n_cases or 0, "case") if of_cases else str(result.n_examples),
        "-" if of_cases else str(result.n_left_out),
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:.4f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:+.4f}"
