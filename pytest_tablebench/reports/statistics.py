"""The statistics of datasets and the complexity of tables, as reports, JSON, tables, figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.documents import document as doc
from pytest_tablebench.errors import writing
from pytest_tablebench.papers.canvas import COLOURS, labelled, legend, panels, write_figures
from pytest_tablebench.papers.structure import MARK_NAMES
from pytest_tablebench.papers.table import (
    PaperTable,
    Printed,
    Row,
    captioned,
    table_blocks,
    write_table,
)
from pytest_tablebench.results.judges import rank_correlation
from pytest_tablebench.util.names import counted
from pytest_tablebench.util.tokens import TOKEN_BUCKETS, tokenizer_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pytest_tablebench.datasets.statistics import DatasetStatistics
    from pytest_tablebench.tables.hierarchy.complexity import Complexity
    from pytest_tablebench.tables.hierarchy.tree import HeaderTree


def statistics_tables(
    statistics: Sequence[DatasetStatistics], most: int | None = None
) -> list[PaperTable]:
    """Return the tables: datasets, sizes, structure, complexity and tokens, tags.

    `most` is the number of values of each tag; None for all.
    """
    datasets: Iterable[Row] = (
        (
            *(dataset.dataset, dataset.benchmark, dataset.questions, dataset.tables),
            dataset.clusters,
            dataset.questions / dataset.clusters if dataset.clusters else None,
            dataset.unusable,
        )
        for dataset in statistics
    )
    sizes: Iterable[Row] = (
        (dataset.dataset, name.replace("_", " "), *map(Printed, astuple(size)))
        for dataset in statistics
        for name, size in dataset.sizes.items()
    )
    words = {"tokenizer": tokenizer_name()}
    return [
        captioned("stats_datasets", datasets),
        captioned("stats_sizes", sizes, words=words),
        _structure(statistics),
        _complexity(statistics),
        _tags(statistics, most),
    ]


def _structure(statistics: Sequence[DatasetStatistics]) -> PaperTable:
    features = list(dict.fromkeys(name for dataset in statistics for name in dataset.features))
    rows: list[Row] = []
    for dataset in statistics:
        marks = (None,) * len(MARK_NAMES) if dataset.marks is None else map(Printed, dataset.marks)
        rows.append((dataset.dataset, dataset.tables, *map(dataset.features.get, features), *marks))
    columns = (*(name.replace("_", " ") for name in features), *MARK_NAMES)
    return captioned("stats_structure", rows, columns)


def _complexity(statistics: Sequence[DatasetStatistics]) -> PaperTable:
    bands = list(dict.fromkeys(band for dataset in statistics for band in dataset.complexity))
    columns = [f"complexity {band}" for band in bands]
    columns += [f"{bucket} tokens" for bucket in TOKEN_BUCKETS]
    rows = (
        (
            dataset.dataset,
            *map(dataset.complexity.get, bands),
            *map(dataset.tokens.get, TOKEN_BUCKETS),
        )
        for dataset in statistics
    )
    return captioned("stats_complexity_tokens", rows, columns)


def _tags(statistics: Sequence[DatasetStatistics], most: int | None) -> PaperTable:
    rows: list[Row] = []
    left = 0
    for dataset in statistics:
        for tag, values in dataset.tags.items():
            counts = list(values.items())
            left += len(counts[most:]) if most else 0
            rows += (
                (dataset.dataset, tag, value, count.questions, count.tables)
                for value, count in counts[:most]
            )
    note = (f"{left:,} less frequent values are in the file (-o DIR)",) if left else ()
    return captioned("stats_tags", rows, notes=note)


_VALUES = 20
"""Values of a tag in a figure; the files have all."""

_COLUMNS, _AIR = 3, (1.0, 0.5)
"""The panels in a row, and the space around all of them in inches."""
_BINS = 24


def draw_tags(figure: Figure, statistics: DatasetStatistics) -> bool:
    """Draw questions and tables by the values of each tag; False without tags."""
    tags = {tag: values for tag, values in statistics.tags.items() if values}
    if not tags:
        return False
    lengths = [min(len(values), _VALUES) for values in tags.values()]
    by_row = [max(lengths[row : row + _COLUMNS]) for row in range(0, len(lengths), _COLUMNS)]
    all_axes = panels(
        figure, len(tags), _COLUMNS, 3.6, [0.8 + 0.24 * most for most in by_row], _AIR
    )
    axes = all_axes[0]
    for number, (tag, label) in enumerate(zip(tags, labelled(list(tags)), strict=True)):
        axes = all_axes[number]
        values = list(tags[tag].items())[:_VALUES]
        places = range(len(values))
        for shift, colour, name, counts in (
            (-0.2, COLOURS[0], "questions", [count.questions for _, count in values]),
            (0.2, COLOURS[4], "tables", [count.tables for _, count in values]),
        ):
            axes.barh(
                [position + shift for position in places], counts, 0.4, color=colour, label=name
            )
        axes.set_yticks(places, labelled([value for value, _ in values], 26), fontsize=8)
        axes.set_ylim(by_row[number // _COLUMNS] - 0.5, -0.5)
        left = len(tags[tag]) - len(values)
        axes.set_title(f"{label}{f' ({left:,} more values)' if left else ''}", fontsize=9)
    figure.suptitle("Questions and tables by kind", fontsize=10)
    legend(figure, axes, 2, "")
    return True


def draw_sizes(figure: Figure, statistics: DatasetStatistics) -> bool:
    """Draw the distribution of each size; return False without any."""
    values = {name: measured for name, measured in statistics.values.items() if measured}
    if not values:
        return False
    all_axes = panels(figure, len(values), _COLUMNS, 3.6, 2.3, _AIR)
    for axes, (name, measured) in zip(all_axes, values.items(), strict=False):
        low, high = min(measured), max(measured)
        if low >= 1 and high > 50 * low:
            # Sizes differ by orders of magnitude: every bin is a factor.
            edges = [low * (high / low) ** (step / _BINS) for step in range(_BINS + 1)]
            edges[-1] = high
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.xaxis.set_minor_formatter("")
        else:
            width = max((high - low) / _BINS, 1 / _BINS)
            edges = [low + width * step for step in range(_BINS + 1)]
            edges[-1] = max(edges[-1], high)
        axes.hist(measured, bins=edges, color=COLOURS[0], edgecolor="white", linewidth=0.4)
        axes.set_title(name.replace("_", " "), fontsize=9)
        axes.set_ylabel("questions" if name.endswith("_words") else "tables", fontsize=8)
    figure.suptitle("Sizes of tables and lengths of questions", fontsize=10)
    return True


def draw_structure(figure: Figure, statistics: DatasetStatistics) -> bool:
    """Draw how many tables have each feature, complexity and number of tokens; False without."""
    if not statistics.tables:
        return False
    for axes, title, counts in zip(
        panels(figure, 3, _COLUMNS, 3.6, 2.8, _AIR),
        ("structure", "complexity (of 100)", "tokens"),
        (statistics.features, statistics.complexity, statistics.tokens),
        strict=True,
    ):
        names = [name.replace("_", " ") for name in counts]
        axes.barh(range(len(names)), list(counts.values()), color=COLOURS[0])
        for position, count in enumerate(counts.values()):
            axes.text(count, position, f" {count:,}", va="center", fontsize=8)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlim(0, statistics.tables * 1.15)
        axes.set(xlabel="tables")
        axes.set_title(title, fontsize=9)
    figure.suptitle("Structure, complexity and tokens of tables", fontsize=10)
    return True


SCHEMA = 1
"""Version of the JSON; raised when a reader would misread the old form."""

_SHOWN = 12
"""Values of a tag that the terminal shows; the files have all."""


def statistics_json(
    statistics: Sequence[DatasetStatistics], whole: DatasetStatistics | None
) -> dict[str, Any]:
    """Return the statistics of datasets, and of all together, as JSON values."""
    return {
        "schema": SCHEMA,
        "tokenizer": tokenizer_name(),
        "datasets": [dataset.as_json() for dataset in statistics],
        "all": None if whole is None else whole.as_json(),
    }


def statistics_report(
    statistics: Sequence[DatasetStatistics],
    whole: DatasetStatistics | None,
    missing: Sequence[str] = (),
) -> doc.Document:
    """Return what is left out, and the tables: sizes and tags of all datasets together."""
    datasets, _, *structure, _ = statistics_tables(_with_whole(statistics, whole))
    _, sizes, *_, tags = statistics_tables([whole] if whole is not None else statistics, _SHOWN)
    tables = (datasets, sizes, *structure, tags)
    blocks: list[doc.Block] = [doc.Paragraph(f"left out: {text}", "warning") for text in missing]
    blocks += [block for table in tables if table.rows for block in table_blocks(table)]
    return doc.Document("Statistics of datasets", blocks)


def write_statistics(
    statistics: Sequence[DatasetStatistics],
    whole: DatasetStatistics | None,
    folder: Path,
    *,
    plots: bool = True,
) -> list[Path]:
    """Write tables as CSV and Markdown, figures as PNG and SVG, and `statistics.json`.

    The figures cover all datasets together. Returns the files. Raises `SettingsError`
    where the folder cannot be written.
    """
    with writing(f"--out: cannot write into {folder}", "; choose another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / "statistics.json"]
        text = json.dumps(statistics_json(statistics, whole), indent=2) + "\n"
        files[0].write_text(text, encoding="utf-8", newline="")
        for table in statistics_tables(_with_whole(statistics, whole)):
            files += write_table(folder, table)
        if plots:
            drawn = whole or statistics[0]
            makers = {
                "tags": partial(draw_tags, statistics=drawn),
                "sizes": partial(draw_sizes, statistics=drawn),
                "structure": partial(draw_structure, statistics=drawn),
            }
            for paths in write_figures(makers, folder).values():
                files += paths
    return files


def _with_whole(
    statistics: Sequence[DatasetStatistics], whole: DatasetStatistics | None
) -> list[DatasetStatistics]:
    return [*statistics, *([] if whole is None else [whole])]


_COLUMNS_SHOWN = 8
"""The number of columns without the dimensions of the model."""


def complexity_report(table: PaperTable, problems: Sequence[str]) -> doc.Document:
    """Return the figures without the model's dimensions, and how far rule and model agree."""
    rows = tuple(row[:_COLUMNS_SHOWN] for row in table.rows)
    narrow = replace(table, columns=table.columns[:_COLUMNS_SHOWN], rows=rows)
    blocks = [*table_blocks(narrow), doc.Listing(problems, 10)]
    pairs = [(row[2], row[7]) for row in rows if len(row) == _COLUMNS_SHOWN and row[7] is not None]
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
