"""Gates as a table for a terminal, with a reason for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_tablebench.claims.gates import GateResult, verdict_line
from pytest_tablebench.documents.formats import (
    fitting,
    interval,
    number,
    signed,
    stored_text,
    unusable_text,
)
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted, printable

__all__ = ["gate_lines", "method_lines"]

_HEADER = ("gate", "state", "estimate", "interval", "bound", "method", "examples", "left out")
_DIGITS = 4

_METHODS = {
    "effective Clopper-Pearson": "the exact interval of a share, for the number of independent "
    "examples that the spread of the scores corresponds to. Several questions over one table count "
    "as fewer",
    "example Clopper-Pearson": "the exact interval of a share of the examples, because almost all "
    "of them are right, or almost all wrong",
    "zero variance": "all examples have the same score, or the same difference. The interval "
    "allows for other scores among examples that were not asked",
    "t": "the interval of a mean difference, from the spread of the differences of paired examples",
    "count": "a number of cases or dollars, which is compared with the bound as it is",
    "betting": "an interval that is valid after each example, so that the run could stop early",
    "betting without replacement": "a test that is valid after each case, and that takes into "
    "account how many planned cases are left",
    "prediction-powered t": "the interval of the judge's marks, corrected by the labels of people",
}
"""What the method of a gate's interval means, by its name in `run.json`."""


def gate_lines(results: Sequence[GateResult], run: RunFacts, width: int | None = None) -> list[str]:
    """Return the table of gates, the reason of each, the verdict on all, and what it rests on.

    The last columns are left out of a table that is wider than `width`.
    """
    rows = [_HEADER, *map(_row, results)]
    lines = fitting(rows, width, left=(0, 1), fewest=3)
    for result in results:
        lines.append(f"  {printable(result.gate, 80)}: {printable(result.reason, 400)}")
        more = [*result.notes, *([f"To decide it: {result.needs}."] if result.needs else [])]
        lines += [f"    {printable(note, 400)}" for note in more]
    return [*lines, verdict_line(results), *filter(None, [stored_text(run), unusable_text(run)])]


def method_lines(results: Iterable[GateResult]) -> list[str]:
    """Return a sentence for each method of the gates' intervals."""
    methods = dict.fromkeys(result.method for result in results)
    return [f"{name}: {_METHODS[name]}." for name in methods if name in _METHODS]


def _row(result: GateResult) -> tuple[str, ...]:
    of_cases = result.n_cases is not None
    # Figures against a baseline are differences, so they always have a sign.
    sign = "baseline" in result.gate
    figure = signed if sign else number
    return (
        printable(result.gate, 80),
        result.state,
        figure(result.value, _DIGITS),
        interval(result.interval or result.clopper_pearson, _DIGITS, sign=sign),
        figure(result.bound, _DIGITS),
        result.method or "-",
        counted(result.n_cases or 0, "case") if of_cases else str(result.examples),
        "-" if of_cases else str(result.n_left_out),
    )
