"""Whether a chart shows the expected values (specs: realhitbench.md, 5, and tablebench.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pytest_tablebench.config.compat import Compat

Verdict = Literal["true", "false", "unreadable", "no_output", "unscorable"]

_PIECE = re.compile(
    r"""\s*+(?:(?P<mark>[\[\](),])
    |(?P<truth>True|False)(?!\w)
    |(?P<whole>[-+]?(?:0++|[1-9][0-9]*+))(?![\w.])
    |(?P<number>[-+]?(?:(?:[0-9]++\.[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+
        |[0-9]++[eE][-+]?[0-9]++))(?![\w.]))""",
    re.VERBOSE,
)
_CLOSES = {"]": "[", ")": "("}
_UNREADABLE = (TypeError, ValueError, ArithmeticError)


def read_values(text: str) -> Any:
    """Read numbers and lists of them, however deep, as Python writes them.

    Raises `ValueError` for any other text. Nothing is evaluated, and depth costs no stack.
    """
    text = text.strip()
    # What is open: its bracket, its values, how many commas it holds.
    opened: list[tuple[str, list[Any], int]] = [("", [], 0)]
    place, wanted = 0, True
    while place < len(text):
        piece = _PIECE.match(text, place)
        if piece is None:
            raise ValueError(f"no number and no list of numbers at {place}")
        place = piece.end()
        mark = piece["mark"] or ""
        bracket, values, commas = opened[-1]
        if mark == "," and not wanted:
            opened[-1] = (bracket, values, commas + 1)
            wanted = True
        elif mark in _CLOSES and bracket == _CLOSES[mark] and (not wanted or commas == len(values)):
            opened.pop()
            alone = bracket == "(" and len(values) == 1 and not commas
            opened[-1][1].append(values[0] if alone else values)
            wanted = False
        elif mark in ("[", "(") and wanted:
            opened.append((mark, [], 0))
        elif not mark and wanted:
            values.append(_value(piece))
            wanted = False
        else:
            raise ValueError(f"{mark or 'a number'} has no place at {place}")
    bracket, values, commas = opened[-1]
    if bracket or not values:
        raise ValueError("a list has no end")
    return values if commas else values[0]


def _value(piece: re.Match[str]) -> int | float | bool:
    if piece["truth"]:
        return piece["truth"] == "True"
    return int(piece["whole"]) if piece["whole"] else float(piece["number"])


def same_values(wanted: Any, found: Any, *, shares: bool = False, compat: Compat = "fixed") -> bool:
    """Tell whether two lists hold the same numbers to two decimals, in any order.

    Lists in them are opened one level deep. `shares`: the wanted numbers are first divided by
    their sum. NaN equals NaN: in `fixed` wherever they stand, in `reference` where sorting
    leaves them at the same place. Raises `TypeError`, `ValueError` or `ArithmeticError` for
    what is no such list.
    """
    return _same(_rounded(_shared(wanted, shares), compat), _rounded(_flat(found), compat))


def _same(wanted: Sequence[float], found: Sequence[float]) -> bool:
    return len(wanted) == len(found) and all(
        one == other or (one != one and other != other)  # noqa: PLR0124 - NaN
        for one, other in zip(wanted, found, strict=True)
    )


def _shared(wanted: Any, shares: bool) -> list[float]:
    values = _flat(wanted)
    if not shares:
        return values
    total = sum(values)
    return [value / total for value in values]


def _flat(values: Any) -> list[float]:
    flat: list[float] = []
    for value in _items(values):
        flat += _items(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(value, int | float) for value in flat):
        raise TypeError("a list of something else than numbers")
    return flat


def _items(values: Any) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise TypeError("no list")
    return values


def _rounded(values: Iterable[float], compat: Compat) -> list[float]:
    rounded = [round(value, 2) for value in values]
    if compat == "reference":
        return sorted(rounded)
    return sorted(rounded, key=lambda value: (value != value, value))  # noqa: PLR0124 - NaN last


def judge_printed(printed: Any, reference: Any, *, shares: bool) -> Verdict:
    """Compare what a program printed at its end, or drew, as the published scripts do.

    Texts are read as Python's own literals, so anything else in either is `unreadable`.
    """
    if isinstance(printed, str) and not printed.strip():
        return "no_output"
    try:
        wanted, found = (
            read_values(one) if isinstance(one, str) else one for one in (reference, printed)
        )
        same = same_values(wanted, found, shares=shares, compat="reference")
    except _UNREADABLE:
        return "unreadable"
    return "true" if same else "false"


def judge_values(values: Any, reference: Any, *, shares: bool) -> Verdict:
    """Compare values taken from a figure (`fixed`); `unscorable` where the reference is at fault.

    A reference is a list, or its text. Two of RealHiTBench's hold `masked` and can be met by
    no chart.
    """
    try:
        wanted = read_values(reference) if isinstance(reference, str) else reference
        expected = _rounded(_shared(wanted, shares), "fixed")
    except _UNREADABLE:
        return "unscorable"
    try:
        return "true" if _same(expected, _rounded(_flat(values), "fixed")) else "false"
    except _UNREADABLE:
        return "false"


def chart_verdict(
    prediction: Any, references: Sequence[Any], *, compat: Compat, shares: bool
) -> Verdict:
    """Compare what came of a program of RealHiTBench's with each reference; the best counts.

    `reference`: `prediction` is the text that it printed, the values at its end. `fixed`: the
    values of its figure. `unscorable` where no reference can be met.
    """
    found = str(prediction) if compat == "reference" else prediction
    return _best(found, references, compat, shares)


def tablebench_verdict(
    values: Any, references: Sequence[Any], *, compat: Compat, shares: bool
) -> Verdict:
    """The same of TableBench, whose answers are texts such as `y_references = [[1, 2]]`.

    `values` are those of the figure in both modes.
    """
    wanted = [text.rpartition("=")[2] if isinstance(text, str) else text for text in references]
    return _best(values, wanted, compat, shares)


def _best(found: Any, references: Sequence[Any], compat: Compat, shares: bool) -> Verdict:
    judge = judge_printed if compat == "reference" else judge_values
    verdicts = {judge(found, reference, shares=shares) for reference in references}
    order: tuple[Verdict, ...] = ("true", "false", "unreadable", "no_output")
    return next((one for one in order if one in verdicts), "unscorable")
