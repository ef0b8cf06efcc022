"""SciGen as ToRR reads and asks it (spec: torr.md section 3.6).

ToRR reads the copy `kasnerz/scigen` of the Hugging Face hub, whose splits have 13,607, 3,452 and
492 rows. In the upstream repository, `test-CL.json` (papers on computation and language) has 492
rows, and the medium training set 13,607. So this dataset reads `test-CL.json`; `test-Other.json`
(other fields, 546 rows) is not part of the benchmark. Demonstrations come from the medium training
file, or from the small few-shot file if that is missing.
"""

from __future__ import annotations

import ast
import warnings
from functools import partial
from typing import Any

from pytest_tablebench.datasets._file_dataset import Opened, PoolFiles
from pytest_tablebench.datasets.pull._upstream import CC_BY_NC_SA, File, Upstream, files_at
from pytest_tablebench.datasets.rows import BadRowError, QuestionRow, cells, text_field
from pytest_tablebench.datasets.torr._common import CLOSING, SOURCE_LIMIT, ToRRTexts
from pytest_tablebench.tables.table import Table

MEDIUM = "dataset/train/medium/train.json"
NAMES, VALUES = "table_column_names", "table_content_values"

_LONGEST_LITERAL = 200_000
"""In characters: more than any upstream table has, and few enough for the parser."""


class SciGen(ToRRTexts):
    """SciGen: describe a table from a scientific article; five demonstrations."""

    name = folder = "scigen"
    upstream = Upstream(
        "scigen",
        "github",
        "UKPLab/SciGen",
        "main",
        pinned=False,
        licence=CC_BY_NC_SA,
        files=(
            File(MEDIUM, optional=True),
            *files_at(
                "dataset/train/few-shot/train.json",
                "dataset/development/few-shot/dev.json",
                "dataset/test/test-CL.json",
                "dataset/test/test-Other.json",
            ),
        ),
    )
    threshold = 0.15
    test = ("dataset/test/test-CL.json",)
    pools = (
        PoolFiles((MEDIUM,)),
        PoolFiles(
            ("dataset/train/few-shot/train.json",),
            f"demonstrations come from the few-shot training file: no {MEDIUM}",
        ),
        PoolFiles(
            ("dataset/development/few-shot/dev.json",),
            f"demonstrations come from the few-shot validation file: no {MEDIUM}",
        ),
    )
    notes = (
        "examples are those of test-CL.json, as in the copy the benchmark reads; "
        "test-Other.json is no part of it",
    )
    text_name = "caption"
    instruction = (
        "You are given a table and its caption. Write the text description that belongs to "
        "them.\n" + CLOSING
    )
    # The label before the answer is part of the source.
    source = "table: \n{table} \ncaption: \n{caption} \ntext description:"
    fixed_chain = ("lower_case",)

    def rows(self, opened: Opened, files: tuple[str, ...]) -> list[QuestionRow]:
        """Return the rows in the order of the file."""
        content = opened.json(files[0], dict, "an object of key to row")
        return list(opened.usable(files[0], content.items(), _row, most=SOURCE_LIMIT))


def _row(item: tuple[str, Any]) -> QuestionRow | None:
    key, row = item
    caption = text_field(row, "table_caption", may_be_empty=True)
    # A row with an empty table is left out without a problem. The hub's copy has it as text.
    if row.get(VALUES) in ("[]", []):
        return None
    header, values = cells(_plain(row, NAMES), _plain(row, VALUES), NAMES, VALUES)
    table = partial(Table, tuple(header), tuple(map(tuple, values)), name=key)
    return QuestionRow(key, caption, text_field(row, "text"), table)


def _plain(row: dict[str, Any], name: str) -> Any:
    """Return a field's value; text is parsed as a Python literal, which executes nothing."""
    value = row.get(name)
    if value is None:
        raise BadRowError(name, "is missing")
    if not isinstance(value, str):
        return value
    if len(value) > _LONGEST_LITERAL:
        raise BadRowError(name, f"is longer than {_LONGEST_LITERAL} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escape sequences
            return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise BadRowError(name, "is text, but not a Python list") from None


DATASETS = (SciGen(),)
