"""Published rows below the rows of runs, in a table of the same columns."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from pytest_tablebench.papers._model_names import published_name
from pytest_tablebench.papers.text import PaperTable, Value, shown

Noted = tuple[tuple[Value, ...], str]
"""A row, and its note."""


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
    own_rows: Sequence[Noted],
    others: Iterable[tuple[Value, ...]],
    notes: tuple[str, ...],
    names: Mapping[str, str] | None = None,
    headline: Sequence[str] = (),
) -> PaperTable | None:
    """Return the rows of runs followed by the published rows; None without any run.

    The arguments are those of `PaperTable`, with the rows in two parts. `names` has the models of
    own rows by label. If a published row has the same model, the own row's note begins with both
    values of the `headline` columns, or of all columns if these have no value.
    """
    if not own_rows:
        return None
    published_rows = list(others)
    noted: list[Noted] = []
    for row, note in own_rows:
        pairs = same_model(names or {}, columns, row, published_rows)
        first = [pair for pair in pairs if pair.figure in headline] or pairs
        figures = ", ".join(f"{pair.figure} {pair}" for pair in first)
        comparison = f"compared with the published {first[0].model}: {figures}" if first else ""
        noted.append((row, "; ".join(filter(None, (comparison, note)))))
    noted += ((row, "") for row in published_rows)
    rows, row_notes = zip(*noted, strict=True)
    return PaperTable(
        name,
        title,
        tuple(columns),
        tuple(rows),
        tuple(row_notes),
        notes=notes,
        own_rows=len(own_rows),
    )


@dataclass(frozen=True)
class PublishedFigure:
    """A published value and a run's value, of one model and one figure."""

    model: str
    figure: str
    published: float
    measured: float

    def __str__(self) -> str:
        """Return both, as `published .49, here .451`."""
        values = (shown(value, 20).removeprefix("0") for value in (self.published, self.measured))
        return "published {}, here {}".format(*values)


def same_model(
    names: Mapping[str, str],
    columns: Sequence[str],
    row: Sequence[Value],
    others: Iterable[Sequence[Value]],
) -> list[PublishedFigure]:
    """Return the figures of a row with the figures of its model's first published row.

    Further names after model and source, such as the strategy, must agree too.

    Arguments:
        names: the models, by the label in a row's first cell.
        columns: the names of the columns.
        row: the row of a run.
        others: the published rows.
    """
    model = names.get(str(row[0]))
    comparable = [other for other in others if _has_same_names(row, other)]
    by_name = {str(other[0]): other for other in reversed(comparable)}
    name = None if model is None else published_name(model, by_name)
    if name is None:
        return []
    return [
        PublishedFigure(name, column, published_value, value)
        for column, value, published_value in zip(columns, row, by_name[name], strict=True)
        if isinstance(value, float) and isinstance(published_value, float)
    ]


def _has_same_names(row: Sequence[Value], other: Sequence[Value]) -> bool:
    pairs = zip(row[2:], other[2:], strict=True)
    return all(
        name == other_name
        for name, other_name in pairs
        if isinstance(name, str) and isinstance(other_name, str)
    )
