"""The complexity of tables, by rule and by a model; the tree of a table's headers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_tablebench.documents import document as doc
from pytest_tablebench.papers.table import table_blocks, typed_table
from pytest_tablebench.results.judges import rank_correlation
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.papers.table import PaperTable
    from pytest_tablebench.tables.hierarchy.complexity import Complexity
    from pytest_tablebench.tables.hierarchy.tree import HeaderTree

_SHOWN = 8
"""The number of columns without the dimensions of the model."""


def complexity_report(table: PaperTable, problems: Sequence[str]) -> doc.Document:
    """Return the figures without the model's dimensions, and how far rule and model agree."""
    rows = [row[:_SHOWN] for row in table.rows]
    shown = replace(table, table=typed_table(table.columns[:_SHOWN], rows))
    blocks = [*table_blocks(shown), doc.Listing(problems, 10)]
    pairs = [(row[2], row[7]) for row in rows if len(row) == _SHOWN and row[7] is not None]
    if pairs:
        rules, models = ([float(str(mark)) for mark in marks] for marks in zip(*pairs, strict=True))
        rank = doc.Figure(rank_correlation(rules, models))
        count = f"rule and model over {counted(len(pairs), 'table')}: rank correlation "
        blocks.append(doc.Paragraph((count, rank)))
    return doc.Document("Complexity of tables", blocks)


def tree_report(tree: HeaderTree, complexity: Complexity) -> doc.Document:
    """Return the tree of a table's headers, their numbers, and the table's complexity."""
    kinds = {kind: sum(header.kind == kind for header in tree.headers) for kind in "CR"}
    columns, rows = counted(kinds["C"], "column header"), counted(kinds["R"], "row header")
    return lines_report(tree.lines(), f"{columns}, {rows}", str(complexity))


def lines_report(lines: Iterable[object], *sentences: str) -> doc.Document:
    """Return lines on a table's headers with their own blanks, and sentences below them."""
    text = doc.Verbatim("\n".join(map(str, lines)), indent=0)
    return doc.Document("Headers", [text, *map(doc.Paragraph, sentences)])
