"""Rows of RealHiTBench's question files (spec: realhitbench.md section 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.realhitbench._tables import Tables
from pytest_tablebench.datasets.rows import BadRowError, text_field

QUESTIONS, LONG, ORIGINALS = (
    "data/QA_final.json",
    "data/QA_long.json",
    "data/QA_structure.json",
)
STRUCTURE, CHARTS = "Structure Comprehending", "Visualization"

_CLASSES = {
    name.lower(): name
    for name in (
        "ColumnHeaderMerge",
        "MultiColumnClassified",
        "SingleRowClassified",
        "PlainClassified",
        "ContentCompound",
        "StructureCompound",
        "ExternalSupply",
        "BackgroundColor",
    )
}
"""The usual spelling of structure classes, by lower-case name. Unknown classes stay unchanged."""


@dataclass(frozen=True)
class RealHitQuestion:
    """One usable row.

    Arguments:
        id: the id of the row; another file may have the same id.
        file: the stem of the table's files.
        text: the question.
        kind, subtype: upstream's `QuestionType` and `SubQType`.
        answer: upstream's `ProcessedAnswer`; the gold answer for structure comprehending.
        tags: the tags of its example.
        tables: the tables of the data folder.
        compat: the mode in which the dataset was opened.
        mode: the setting `structure`; "" for other kinds than structure comprehending.
    """

    id: str
    file: str
    text: str
    kind: str
    subtype: str
    answer: str
    tags: Mapping[str, str]
    tables: Tables
    compat: Compat
    mode: str = ""


def queries(opened: Opened, file: str) -> list[Any]:
    """Return the rows of a question file, unchecked. Raises `DataError`."""
    content = opened.json(file, dict, "an object with the key queries")
    rows = content.get("queries")
    return rows if isinstance(rows, list) else []


def read_questions(
    opened: Opened,
    file: str,
    kind: str,
    tables: Tables,
    *,
    check: Callable[[RealHitQuestion], None] = lambda _: None,
    subtypes: Mapping[tuple[str, str], str] | None = None,
) -> Iterable[RealHitQuestion]:
    """Yield the usable rows of one kind.

    Arguments:
        opened: records the unusable rows.
        file: the question file.
        kind: upstream's `QuestionType`.
        tables: the tables of the data folder.
        check: raises `BadRowError` for an unusable row.
        subtypes: sub-types by table and question; they replace the sub-types that rows name.
    """
    rows = queries(opened, file)
    tables.measure({str(row.get("FileName")) for row in rows if isinstance(row, dict)})

    def build(row: Any) -> RealHitQuestion | None:
        if text_field(row, "QuestionType") != kind:
            return None
        number = row.get("id")
        if isinstance(number, bool) or not isinstance(number, int | str) or number == "":
            raise BadRowError("id", "is neither a number nor text")
        stem, text = text_field(row, "FileName"), text_field(row, "Question")
        tables.require(stem)
        subtype = text_field(row, "SubQType", may_be_empty=True)
        subtype = (subtypes or {}).get((stem, text.strip()), subtype)
        answer = text_field(row, "ProcessedAnswer", may_be_empty=kind == STRUCTURE)
        structure = text_field(row, "CompStrucCata", may_be_empty=True)
        tags = {
            "domain": stem.partition("-table")[0],
            "source": text_field(row, "Source", may_be_empty=True).casefold(),
            "structure": _CLASSES.get(structure.lower(), structure),
            "subtype": subtype,
            **tables.tags(stem),
        }
        filled_tags = {name: value for name, value in tags.items() if value}
        question = RealHitQuestion(
            str(number), stem, text, kind, subtype, answer, filled_tags, tables, opened.compat
        )
        check(question)
        return question

    return opened.usable(file, rows, build)
