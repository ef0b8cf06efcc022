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
"""Structure classes as they are mostly spelled; unknown ones stay."""


@dataclass(frozen=True)
class RealHitQuestion:
    """One usable row.

    Arguments:
        id: of the row; unique in its file alone.
        file: the stem of the table's files.
        text: the question.
        kind, subtype: `QuestionType` and `SubQType` as upstream has them.
        answer: `ProcessedAnswer`; empty for structure comprehending.
        tags: what is said of it in reports.
        tables: the folder's tables.
        compat: the mode in which they are asked.
        mode: what answers about structure have to equal.
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
        opened: takes note of the others.
        file: the question file.
        kind: the `QuestionType` that is wanted.
        tables: the folder's tables.
        check: raises `BadRowError` for a row that cannot be used.
        subtypes: the sub-types of questions, by table and text, where rows have none of their own.
    """
    rows = queries(opened, file)
    tables.measure({str(row.get("FileName")) for row in rows if isinstance(row, dict)})

    def build(row: Any) -> RealHitQuestion | None:
        if text_field(row, "QuestionType") != kind:
            return None
        number = row.get("id")
        if isinstance(number, bool) or not isinstance(number, int | str) or number == "":
            raise BadRowError("id", "is no number and no text")
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
