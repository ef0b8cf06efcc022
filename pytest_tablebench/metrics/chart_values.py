"""Compares the values of a chart with the expected ones (realhitbench.md, 5; tablebench.md)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum
from typing import Any, Literal

from pytest_tablebench.config.compat import Compat

Verdict = Literal["true", "false", "unreadable", "no_output", "unscorable"]

_PIECE = re.compile(
    r"""\s*+(?:(?P<mark>[\[\](),])
    |(?P<truth>True|False)(?!\w)|(?P<nan>nan)(?!\w)
    |(?P<whole>[-+]?(?:0++|[1-9][0-9]*+))(?![\w.])
    |(?P<number>[-+]?(?:(?:[0-9]++\.[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+
        |[0-9]++[eE][-+]?[0-9]++))(?![\w.]))""",
    re.VERBOSE,
)
_CLOSES = {"]": "[", ")": "("}
_UNREADABLE = (TypeError, ValueError, ArithmeticError)


def read_values(text: str, *, nan: bool = False) -> Any:
    """Parse numbers, and nested lists and tuples of them, as Python writes them.

    `nan`: whether `nan` is a number. Raises `ValueError` for any other text. Nothing is evaluated,
    and nesting uses no stack.
    """
    # Not by `ast.literal_eval`, which takes half a kilobyte of memory for each character.
    text = text.strip()
    # Open lists, each with its bracket, its values and its number of commas.
    opened: list[tuple[str, list[Any], int]] = [("", [], 0)]
    position, expects_value = 0, True
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:
            raise ValueError(f"no number and no list of numbers at {position}")
        position = piece.end()
        mark = piece["mark"] or ""
        if piece["nan"] and not nan:
            raise ValueError(f"no number at {position}")
        bracket, values, commas = opened[-1]
        if mark == "," and not expects_value:
            opened[-1] = (bracket, values, commas + 1)
            expects_value = True
        elif (
            mark in _CLOSES
            and bracket == _CLOSES[mark]
            and (not expects_value or commas == len(values))
        ):
            opened.pop()
            alone = bracket == "(" and len(values) == 1 and not commas
            whole = tuple(values) if bracket == "(" else values
            opened[-1][1].append(values[0] if alone else whole)
            expects_value = False
        elif mark in ("[", "(") and expects_value:
            opened.append((mark, [], 0))
        elif not mark and expects_value:
            values.append(_value(piece))
            expects_value = False
        else:
            raise ValueError(f"{mark or 'a number'} has no place at {position}")
    bracket, values, commas = opened[-1]
    if bracket or not values:
        raise ValueError("a list has no end")
    return tuple(values) if commas else values[0]


def _value(piece: re.Match[str]) -> int | float | bool:
    if piece["truth"]:
        return piece["truth"] == "True"
    if piece["nan"]:
        return math.nan
    return int(piece["whole"]) if piece["whole"] else float(piece["number"])


def same_values(expected: Any, printed: Any, *, shares: bool = False) -> bool:
    """Return whether two lists are equal for the published scripts.

    Lists in them are opened one level deep, tuples are not. Numbers are rounded to two decimals and
    sorted. With `shares` the expected numbers are first divided by their sum. Raises `TypeError`,
    `ValueError` or `ArithmeticError` for anything but lists of numbers.
    """
    values = _flat(expected)
    if shares:
        total = sum(values)
        values = [value / total for value in values]
    expected_values, printed_values = (
        sorted(round(value, 2) for value in side) for side in (values, _flat(printed))
    )
    # NaN equals NaN if both are at the same place after sorting.
    return len(expected_values) == len(printed_values) and all(
        first == second or (first != first and second != second)  # noqa: PLR0124 - NaN
        for first, second in zip(expected_values, printed_values, strict=True)
    )


def _flat(values: Any) -> list[float]:
    flat: list[float] = []
    for value in _items(values):
        flat += value if isinstance(value, list) else [value]
    return _checked(flat)


def _checked(values: Sequence[Any]) -> list[float]:
    if not all(isinstance(value, int | float) for value in values):
        raise TypeError("a list with other items than numbers")
    return list(values)


def _items(values: Any) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise TypeError("no list")
    return values


def judge_printed(printed: Any, reference: Any, *, shares: bool) -> Verdict:
    """Compare what a program printed at its end, or drew, as the published scripts do.

    A text that is not a Python literal of numbers is `unreadable`.
    """
    if isinstance(printed, str) and not printed.strip():
        return "no_output"
    try:
        expected, values = (
            read_values(side) if isinstance(side, str) else side for side in (reference, printed)
        )
        same = same_values(expected, values, shares=shares)
    except _UNREADABLE:
        return "unreadable"
    return "true" if same else "false"


def judge_drawn(drawn: Iterable[Any], reference: Any, *, shares: bool) -> Verdict:
    """Compare the series of a figure, in each way to read them, with a reference (`fixed`).

    Series match in any order, and so do their values; NaN is not drawn and does not count. If the
    number of series differs, all values are compared together. With `shares` the chart is a pie:
    its wedges must match the reference's shares, or the reference itself if that has rounded
    shares.

    The reference is a list or its text. The verdict is `unscorable` if it cannot be read: two
    references of RealHiTBench contain `masked`.
    """
    try:
        values = read_values(reference, nan=True) if isinstance(reference, str) else reference
        expected = _series(values)
        expected_values = [value for line in expected for value in line]
        pies = _pies(expected_values, str(reference)) if shares else []
    except _UNREADABLE:
        return "unscorable"
    if shares and not pies:
        return "unscorable"
    for values in drawn:
        try:
            series = _series(values)
        except _UNREADABLE:
            continue
        wedges = sorted(value for line in series for value in line)
        if any(_is_near(wedges, *pie) for pie in pies) if shares else _same(expected, series):
            return "true"
    return "false"


def _series(values: Any) -> list[list[float]]:
    """Return the numbers of each series, or of one series for a list that mixes both."""
    items = _items(values)
    if items and all(isinstance(item, list | tuple) for item in items):
        series = [_checked(item) for item in items]
    else:
        nested = [item if isinstance(item, list | tuple) else [item] for item in items]
        series = [_checked([value for item in nested for value in item])]
    kept = [[value for value in line if value == value] for line in series]  # noqa: PLR0124 - NaN
    return [line for line in kept if line]


def _same(expected: Sequence[Sequence[float]], printed: Sequence[Sequence[float]]) -> bool:
    if len(expected) != len(printed):
        return _all_rounded(expected) == _all_rounded(printed)
    expected_counts, printed_counts = (Counter(map(_rounded, side)) for side in (expected, printed))
    return expected_counts == printed_counts


def _all_rounded(series: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return _rounded([value for values in series for value in values])


def _rounded(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(sorted(round(value, 2) for value in values))


_HALF = 0.005
"""Half of the second decimal; shares of wedges are compared to two decimals."""
_BINARY = 1e-9
_FRACTION = re.compile(r"\.([0-9]*)")


def _is_near(wedges: Sequence[float], shares: Sequence[float], tolerance: float) -> bool:
    return len(wedges) == len(shares) and all(
        abs(share - wedge) <= tolerance + _BINARY
        for share, wedge in zip(shares, wedges, strict=True)
    )


def _pies(values: Sequence[float], written: str) -> list[tuple[list[float], float]]:
    """Return the shares that a reference may describe, and the tolerance of each.

    There are none if its values add up to 0.

    Rounded shares need not add up to 1 or 100 exactly. Such a reference also describes a pie of
    its own values, within its own rounding.
    """
    total = fsum(values)
    if values and not total:
        return []
    pies = [(sorted(value / total for value in values), _HALF)]
    decimals = max((len(part) for part in _FRACTION.findall(written)), default=0)
    half = 0.5 * 10.0**-decimals
    return pies + [
        (sorted(value / whole for value in values), max(_HALF, half / whole))
        for whole in (1, 100)
        if abs(total - whole) <= len(values) * half + _BINARY and half < whole / len(values) / 2
    ]


def chart_verdict(
    prediction: Any, references: Sequence[Any], *, compat: Compat, shares: bool
) -> Verdict:
    """Compare the outcome of a program with each reference; the best counts.

    `reference`: `prediction` is the text that the program printed, with the values at its end.
    `fixed`: the series of its figure, in each way to read them. The verdict is `unscorable` if
    every reference is.
    """
    judge = judge_printed if compat == "reference" else judge_drawn
    verdicts = {judge(prediction, reference, shares=shares) for reference in references}
    order: tuple[Verdict, ...] = ("true", "false", "unreadable", "no_output")
    return next((verdict for verdict in order if verdict in verdicts), "unscorable")


def tablebench_verdict(
    values: Any, references: Sequence[Any], *, compat: Compat, shares: bool
) -> Verdict:
    """Compare values as `chart_verdict` does, with references such as `y_references = [[1, 2]]`.

    In `reference` the values may be a list, too.
    """
    expected = [text.rpartition("=")[2] if isinstance(text, str) else text for text in references]
    return chart_verdict(values, expected, compat=compat, shares=shares)
