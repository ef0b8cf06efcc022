"""Published rows, and one's own above them in a table of the same columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from importlib import resources

from pytest_tablebench.reports.paper._text import PaperTable, Value

Noted = tuple[tuple[Value, ...], str]
"""A row, and what to know about it."""


def published(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of published figures as printed, by column name."""
    text = resources.files(__package__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def shares(figures: Iterable[str]) -> list[float]:
    """Return figures in per cent as shares."""
    return [float(figure) / 100 for figure in figures]


def beside_published(
    name: str,
    title: str,
    columns: Sequence[str],
    *,
    own: Sequence[Noted],
    others: Iterable[tuple[Value, ...]],
    notes: tuple[str, ...],
) -> PaperTable | None:
    """Return one's own rows and behind them the published ones; None without any own.

    The arguments are those of `PaperTable`, its rows in two parts.
    """
    if not own:
        return None
    noted: list[Noted] = [*own, *((row, "") for row in others)]
    rows, row_notes = zip(*noted, strict=True)
    return PaperTable(name, title, tuple(columns), tuple(rows), tuple(row_notes), notes=notes)
