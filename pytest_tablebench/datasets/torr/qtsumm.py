"""QTSumm as ToRR reads and asks it (spec: torr.md section 3.7)."""

from __future__ import annotations

from functools import partial
from typing import Any

from pytest_tablebench.datasets._file_dataset import Opened, PoolFiles
from pytest_tablebench.datasets.pull._upstream import MIT, Upstream, files_at
from pytest_tablebench.datasets.rows import BadRowError, QuestionRow, cells, text_field
from pytest_tablebench.datasets.torr._common import CLOSING, SOURCE_LIMIT, ToRRTexts
from pytest_tablebench.tables.table import Table


class QTSumm(ToRRTexts):
    """QTSumm: answer a query about a table in a paragraph; five demonstrations.

    The authors give access on request. Without access, `tablebench pull` says how to get it.
    """

    name = folder = "qtsumm"
    upstream = Upstream(
        "qtsumm",
        "hub",
        "yale-nlp/QTSumm",
        "main",
        pinned=False,
        licence=MIT,
        files=files_at("qtsumm_train.json", "qtsumm_dev.json", "qtsumm_test.json"),
        by_hand=(
            "its authors give access on request: log in at "
            "https://huggingface.co/datasets/yale-nlp/QTSumm and accept the conditions, then run "
            "`hf auth login` (or set HF_TOKEN) and this command again; or download "
            "qtsumm_train.json, qtsumm_dev.json and qtsumm_test.json there in the browser and "
            "put them into {folder}"
        ),
    )
    threshold = 0.40
    test = ("qtsumm_test.json",)
    pools = (
        PoolFiles(("qtsumm_train.json",)),
        PoolFiles(
            ("qtsumm_dev.json",), "demonstrations come from the validation file: no training file"
        ),
    )
    instruction = (
        "Use the Table below to answer the user's query with a text as long as a paragraph.\n"
        + CLOSING
    )
    source = "Table:\n{table}\nQuery:\n{question}"
    target_prefix = "Answer:\n"
    fixed_chain = ("to_string_stripped",)

    def rows(self, opened: Opened, files: tuple[str, ...]) -> list[QuestionRow]:
        """Return the rows in the order of the file."""
        content = opened.json(files[0], list, "a list of objects")
        return list(opened.usable(files[0], content, _row, most=SOURCE_LIMIT))


def _row(item: Any) -> QuestionRow:
    query, summary = text_field(item, "query"), text_field(item, "summary")
    table = item.get("table")
    if not isinstance(table, dict):
        raise BadRowError("table", "is missing" if table is None else "must be an object")
    header, rows = cells(table.get("header"), table.get("rows"), "table.header", "table.rows")
    title = table.get("title")
    make = partial(
        Table,
        tuple(header),
        tuple(map(tuple, rows)),
        # Title and id are not shown, but draws seeded by the table include them.
        extra=tuple(table.items()),
        name=title if isinstance(title, str) else None,
    )
    # Upstream's id of the table. Without an id, the stratum uses the table's content.
    table_id = table.get("table_id")
    place = table_id if isinstance(table_id, str) and table_id else None
    return QuestionRow(text_field(item, "example_id"), query, summary, make, place)


DATASETS = (QTSumm(),)
