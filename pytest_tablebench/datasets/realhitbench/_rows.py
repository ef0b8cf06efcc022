"""Rows of RealHiTBench's question files, and its table files (spec: realhitbench.md section 1)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.files import BadRowError, inside, text_field
from pytest_tablebench.errors import DataError
from pytest_tablebench.serializers import PICTURES
from pytest_tablebench.serializers.content import Content, Image
from pytest_tablebench.serializers.picture import squared
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.tokens import count_tokens

FORMATS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "latex": ("latex", "txt"),
        "html": ("html", "html"),
        "csv": ("csv", "csv"),
        "markdown": ("markdown", "md"),
        "json": ("json", "json"),
    }
)
"""Folder and file ending of upstream's files by format; the paper evaluates the first four."""

SWAP = "_swap"
"""The end of a rearranged table's name."""

_PLACES = {**FORMATS, "workbook": ("tables", "xlsx"), "image": ("image", "png")}
_MEASURED = ("latex", "csv", "html")
_TOKENS = (10_000, 20_000)


class Tables:
    """The tables of one data folder.

    Arguments:
        folder: the dataset's folder, which contains the folder `data`.
    """

    def __init__(self, folder: Path) -> None:
        self._data = folder / "data"  # may be a link
        self._sizes: list[int] = []
        # A small cache is enough, because questions about one table are consecutive.
        self.read = lru_cache(maxsize=128)(self._read)
        self.tags = lru_cache(maxsize=None)(self._tags)

    def path(self, stem: str, kind: str) -> Path | None:
        """Return a table's file in a format, or None if it does not exist. Raises `DataError`."""
        folder, ending = _PLACES[kind]
        file = inside(self._data, f"{folder}/{stem}.{ending}")
        return file if file.is_file() else None

    def require(self, stem: str) -> None:
        """Raise `BadRowError` if a table has neither an HTML file nor a workbook."""
        try:
            if self.path(stem, "html") or self.path(stem, "workbook"):
                return
        except DataError as error:
            raise BadRowError("FileName", str(error)) from None
        raise BadRowError("FileName", f"no file in html or tables for {stem!r:.80}")

    def _read(self, stem: str, *, typed: bool = False) -> Table:
        """Return a table with its structure. Raises `DataError` or `TableError`.

        HTML has formatted texts (`$19.99`, `50%`), the workbook has numbers. With `typed`, the
        workbook is preferred.
        """
        html, book = self.path(stem, "html"), self.path(stem, "workbook")
        if book is not None and (typed or html is None):
            return Table.from_xlsx(book, structure=True, marks=False)
        if html is None:
            raise DataError(f"{self._data}: no file in html or tables for {stem!r:.80}")
        return Table.from_html(html, structure=True, marks=False)

    def file(self, stem: str, kind: str) -> bytes | None:
        """Return the content of upstream's file of a table in a format, or None."""
        path = self.path(stem, kind)
        return path.read_bytes() if path is not None else None

    def as_given(self, table: Table, serializer: str, *, texts: bool) -> Content | None:
        """Return upstream's own file of a table in a format, or None.

        Text files are returned only with `texts`. Their bytes that are not UTF-8 are dropped, as
        upstream does.
        """
        kind = "image" if serializer in PICTURES else serializer
        if table.name is None or kind not in {"image", *(FORMATS if texts else ())}:
            return None
        data = self.file(Path(table.name).stem, kind)
        if data is None:
            return None
        if kind != "image":
            return data.decode("utf-8", "ignore")
        image = Image("image/png", data)
        return (squared(image) if serializer == "image_square" else image,)

    def measure(self, stems: Iterable[str]) -> None:
        """Set the tables among which the percentile of a table's size is computed."""
        paths = map(self._measured, stems)
        self._sizes = sorted(path.stat().st_size for path in paths if path is not None)

    def _measured(self, stem: str) -> Path | None:
        try:
            places = (self.path(stem, kind) for kind in _MEASURED)
            return next((path for path in places if path is not None), None)
        except DataError:
            return None

    def _tags(self, stem: str) -> dict[str, str]:
        """Return a table's tags: its quarter by file size, and its range of tokens.

        Both are measured on the first of its files in LaTeX, CSV and HTML.
        """
        path = self._measured(stem)
        if path is None or not self._sizes:
            return {}
        size = path.stat().st_size
        quarter = min(3, 4 * bisect_left(self._sizes, size) // len(self._sizes))
        # A token is at least one byte, so tokens of small files need no count.
        tokens = size if size < _TOKENS[0] else count_tokens(path.read_bytes())
        bucket = "<10K" if tokens < _TOKENS[0] else "10-20K" if tokens <= _TOKENS[1] else ">20K"
        return {"size": f"{25 * quarter}-{25 * quarter + 25}%", "tokens": bucket}


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
