"""The statistics of datasets as a report, as JSON, and as the files of a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.documents import document as doc
from pytest_tablebench.errors import writing
from pytest_tablebench.papers.canvas import write_figures
from pytest_tablebench.papers.table import table_blocks, write_table
from pytest_tablebench.reports.data._figures import draw_sizes, draw_structure, draw_tags
from pytest_tablebench.reports.data._tables import statistics_tables
from pytest_tablebench.util.tokens import tokenizer_name

if TYPE_CHECKING:
    from pytest_tablebench.datasets.statistics import DatasetStatistics

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
