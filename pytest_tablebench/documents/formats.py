"""Figures and tables as text for terminals, Markdown, files and the page."""

from __future__ import annotations

import json
import math
import os
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pytest_tablebench.claims.estimate import Estimate, span
from pytest_tablebench.documents import document as doc
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import counted, out_of, printable


def pieces(text: doc.Text) -> tuple[doc.Piece, ...]:
    """Return a sentence as a tuple of its pieces."""
    return text if isinstance(text, tuple) else (text,)


def safe_address(link: doc.Link) -> str:
    """Return the address of a link to the page, a file near it or a website; else ""."""
    scheme, colon, rest = link.address.partition(":")
    is_web = scheme.lower() in {"http", "https"} and rest.startswith("//")
    if colon and not is_web and not link.address.startswith("#"):
        return ""
    return quote(link.address, safe="/:?&=%~+,;@#-._", errors="replace")


def linked(text: str, page: Path, folder: Path | None, most: int = 80) -> doc.Piece:
    """Return text that leads from a file in `folder` to a page, if the page can be reached."""
    try:
        if folder is not None and page.is_file():
            address = os.path.relpath(real_path(page), real_path(folder))
            return doc.Link(text, quote(Path(address).as_posix()))
    except (OSError, ValueError):  # not readable, or on another drive
        pass
    return doc.Code(text, most)


@dataclass(frozen=True)
class NumberStyle:
    """The style of figures in one kind of text.

    Arguments:
        unknown: the text for an unknown figure.
        minus: the sign of negative figures.
        separator: between thousands.
        zero_sign: the sign of a difference that is shown as zero.
    """

    unknown: str = "-"
    minus: str = "-"
    separator: Literal["", ","] = ""
    zero_sign: str = "+"

    def number(self, value: Any, digits: int = 3) -> str:
        """Return a number with so many digits; any other value as text."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return self.unknown
        if not isinstance(value, int | float) or not math.isfinite(value):
            return printable(str(value), 60)
        text = f"{abs(value):{self.separator}.{digits}f}"
        is_negative = value < 0 and text.strip("0.")  # zero has no minus
        return f"{self.minus}{text}" if is_negative else text

    def signed(self, value: float | None, digits: int = 3) -> str:
        """Return a difference with its sign."""
        text = self.number(value, digits)
        if value is None or text.startswith(self.minus):
            return text
        return f"{'+' if text.strip('0.') else self.zero_sign}{text}"

    def percent(self, value: float | None) -> str:
        """Return a share in percent."""
        return self.unknown if value is None else f"{self.number(100 * value, 1)} %"

    def chance(self, value: float | None) -> str:
        """Return a p-value, which is never 0."""
        return "< 0.001" if value is not None and value < 0.001 else self.number(value)

    def count(self, value: int | None) -> str:
        """Return a whole number."""
        return self.unknown if value is None else f"{value:{self.separator}}"

    def figure(self, value: float | None, kind: doc.Kind = "number", digits: int = 3) -> str:
        """Return a figure of a kind."""
        if value is None:
            return self.unknown
        if kind == "count":
            return f"{value:,.0f}"
        if kind == "money":
            return money(value)
        if kind in ("percent", "chance"):
            return self.percent(value) if kind == "percent" else self.chance(value)
        return (self.signed if kind == "signed" else self.number)(value, digits)

    def interval(
        self, bounds: Sequence[float] | None, kind: doc.Kind = "number", digits: int = 3
    ) -> str:
        """Return `low to high`."""
        return span(bounds, lambda end: self.figure(end, kind, digits)) if bounds else self.unknown

    def plain(self, piece: doc.Piece) -> str:
        """Return a piece of a sentence as text that a writer has yet to escape."""
        if isinstance(piece, str):
            return piece
        if isinstance(piece, doc.Choice):
            return self.plain(piece.text)
        if isinstance(piece, doc.Figure):
            if piece.value is None:
                return self.unknown if piece.unknown is None else piece.unknown
            if isinstance(piece.value, Sequence):
                return self.interval(piece.value, piece.kind, piece.digits)
            return self.figure(piece.value, piece.kind, piece.digits) + piece.unit
        if isinstance(piece, doc.Code) and len(piece.text) > piece.most:
            return f"{piece.text[: piece.most - 1]}…"
        return piece.text

    def text(self, text: doc.Text) -> str:
        """Return a sentence as text that a writer has yet to escape."""
        return "".join(map(self.plain, pieces(text)))


PAGE = NumberStyle(unknown="–", minus="−", separator=",", zero_sign="")
"""The signs of the page."""

TERMINAL = NumberStyle()
"""The signs of terminals, Markdown and files."""

number, signed, percent = TERMINAL.number, TERMINAL.signed, TERMINAL.percent
interval = TERMINAL.interval


def money(value: float | None) -> str:
    """Return US dollars, with more digits for small sums."""
    if value is None or not math.isfinite(value):
        return "unknown"
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def duration(seconds: float) -> str:
    """Return a duration in seconds, minutes, hours or days."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"


def origins_text(facts: Mapping[str, Any]) -> str:
    """Return the unusual settings of a dataset's run, and their origin.

    As in `shots 5, limit 100 (declared); serializers html (--bench-serializer)`. `facts` is the
    dataset's entry in `by_dataset`.
    """
    by_origin: dict[str, list[str]] = {}
    for name, origin in mapping(facts, "from").items():
        value: Any = facts
        for key in str(name).split(".", 1):
            value = value.get(key) if isinstance(value, Mapping) else None
        names = ", ".join(map(str, value)) if isinstance(value, list) else None
        text = value if isinstance(value, str) else names or json.dumps(value, default=str)
        by_origin.setdefault(str(origin), []).append(
            printable(f"{str(name).removeprefix('params.')} {text}", 120)
        )
    return "; ".join(
        f"{', '.join(texts)} ({printable(origin)})" for origin, texts in by_origin.items()
    )


def left_out_lines(run: RunFacts) -> list[str]:
    """Return one line for each dataset with cases that do not apply, with their reasons."""
    lines = []
    for name, counts in run.inapplicable.items():
        alone = len(counts) == 1
        reasons = ", ".join(
            printable(str(why), 80) + ("" if alone else f" {n:,}") for why, n in counts.items()
        )
        total = sum(counts.values())
        do = "does" if total == 1 else "do"
        lines.append(f"{printable(name, 60)}: {counted(total, 'case')} {do} not apply: {reasons}")
    return lines


def unusable_text(run: RunFacts) -> str:
    """Return how many rows of datasets could not be used; empty without any."""
    texts = [
        f"{counted(len(problems), 'row')} of {printable(name, 60)}"
        for name, problems in run.problems.items()
        if problems
    ]
    return f"left out, because they cannot be used: {', '.join(texts)}" if texts else ""


def reasons_text(counts: Mapping[str, int]) -> str:
    """Return the reasons for missing answers and the cases of each; empty without any."""
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    reasons = ", ".join(f"{printable(name, 60)} {count:,}" for name, count in ordered[:20])
    return f"no answer by reason: {reasons}" if reasons else ""


def stored_text(run: RunFacts) -> str:
    """Return how many answers of a run were stored, and how old the newest is.

    Also what a check of the server has shown, unless it decides the gates. Empty if no answer was
    stored.
    """
    hits = run.store_hits
    if not hits:
        return ""
    text = f"{out_of(hits, run.cases_recorded, 'answer')} "
    text += "was stored before this run" if hits == 1 else "were stored before this run"
    try:
        age = datetime.fromisoformat(run.start or "") - datetime.fromisoformat(
            run.newest_stored or ""
        )
        text += f", the newest {duration(max(0.0, age.total_seconds()))} ago"
    except (ValueError, TypeError):  # an older version did not record it
        pass
    served = run.server_check
    if served and served.get("same") is not False:  # a gate's reason names it
        text += f"; {printable(str(served.get('text')), 400)}"
    return text


def memory_lines(name: str, scope: Mapping[str, Any]) -> list[str]:
    """Return the line on answers that cannot come from the table; empty without such questions."""
    texts = {
        "no_table": "of the answers are right without the table",
        "counterfactual": "repeat the original answer after its cell was changed",
    }
    shares = scope.get("memory", {})
    clauses = [
        f"{percent(share['share'])} {text} ({counted(share['n_examples'], 'example')})"
        for key, text in texts.items()
        if (share := shares.get(key)) is not None
    ]
    return [f"{name}: from memory, or guessed: {'; '.join(clauses)}"] if clauses else []


def distinct(names: Iterable[str], limit: int) -> list[str]:
    """Return names as labels of about `limit` characters; different names have different labels.

    If a name is longer, all lose the folders that they share (`hosted_vllm/meta-llama/`). Longer
    ones are then cut at the front, and at no more than leaves them different.
    """
    texts = [printable(str(name)) for name in names]
    if max(map(len, texts), default=0) > limit:
        folders = zip(*(name.split("/")[:-1] for name in texts), strict=False)
        shared = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, folders))
        texts = ["/".join(name.split("/")[shared:]) for name in texts]
    for size in range(limit, max(map(len, texts), default=0)):
        labels = [name if len(name) <= size else f"…{name[1 - size :]}" for name in texts]
        if len(set(labels)) == len(set(texts)):
            return labels
    return texts


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return rows as lines of aligned columns; columns in `left` are aligned to the left."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            _padded(cell, widths[column], left=column in left) for column, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]


def fitting(
    rows: Sequence[Sequence[str]],
    width: int | None,
    *,
    left: Collection[int] = (0,),
    fewest: int = 5,
) -> list[str]:
    """Return rows as aligned lines, without the last columns if they exceed the width.

    At least `fewest` columns stay; without a `width` all stay.
    """
    lines = aligned(rows, left)
    for columns in range(len(rows[0]) - 1, fewest - 1, -1):
        if width is None or max(map(_width, lines)) <= width:
            break
        lines = aligned([row[:columns] for row in rows], left)
    return lines


def _padded(text: str, width: int, *, left: bool) -> str:
    blank = " " * (width - _width(text))
    return text + blank if left else blank + text


def _width(text: str) -> int:
    """Return the columns a terminal needs: two for East Asian wide characters."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(character)
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def table_of(
    columns: Sequence[doc.Column | str],
    rows: Sequence[Sequence[doc.Cell] | doc.TableRow],
    *,
    most: int = 500,
    fewest: int = 5,
    is_heat_map: bool = False,
) -> doc.TableBlock:
    """Return a table; a name is a column of figures, the first a column of texts."""
    return doc.TableBlock(
        [
            doc.Column(column, "figure" if index else "text") if isinstance(column, str) else column
            for index, column in enumerate(columns)
        ],
        [row if isinstance(row, doc.TableRow) else doc.TableRow(row) for row in rows],
        most,
        fewest,
        is_heat_map,
    )


def flat(table: doc.TableBlock) -> tuple[list[doc.Column], list[list[doc.Text]]]:
    """Return columns and shown rows with two figures for each estimate: value and interval."""
    columns = [part for column in table.columns for part in _parts(column)]
    rows = [
        [
            text
            for column, cell in zip(table.columns, row.cells, strict=True)
            for text in _cell_texts(column, cell)
        ]
        for row in table.rows[: table.most]
    ]
    return columns, rows


def _parts(column: doc.Column) -> list[doc.Column]:
    is_estimate = column.kind == "estimate"
    return [doc.Column(column.title), doc.Column("95 % interval")] if is_estimate else [column]


def _cell_texts(column: doc.Column, cell: doc.Cell) -> list[doc.Text]:
    if column.kind != "estimate" and not isinstance(cell, Estimate):
        return ["" if cell is None else cell]
    estimate = cell if isinstance(cell, Estimate) else Estimate()
    value = doc.Figure(estimate.value, column.estimates)
    if column.kind != "estimate":
        return [value]
    return [value, doc.Figure(estimate.interval, column.estimates)]
