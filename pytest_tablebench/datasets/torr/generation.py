"""NumericNLG, QTSumm and SciGen as ToRR reads and asks them (spec: torr.md sections 3.5 to 3.7)."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.files import BadRowError, cells, text_field
from pytest_tablebench.datasets.torr._common import SOURCE_LIMIT, QuestionRow, ToRRTexts
from pytest_tablebench.tables.table import Table

KEY = "table_id_paper"
HTML = "table_html_clean"


class NumericNLG(ToRRTexts, section="numericnlg"):
    """NumericNLG: describe a table of numbers from a paper; five demonstrations."""

    def rows(self, opened: Opened, files: tuple[str, ...]) -> list[QuestionRow]:
        """Return the tables joined with their descriptions by id, in the order of the tables."""
        tables_file, descriptions_file = files
        tables = opened.json(tables_file, list, "a list of objects")
        descriptions = _descriptions(opened, descriptions_file)

        def build(item: Any) -> QuestionRow | None:
            key, html = text_field(item, KEY), text_field(item, HTML)
            caption = text_field(item, "caption", may_be_empty=True)
            for part in ("thead", "tbody"):
                if not re.search(f"<{part}[\\s>]", html, re.IGNORECASE):
                    raise BadRowError(HTML, f"has no <{part}>")
            if key not in descriptions:
                raise BadRowError(KEY, f"{key!r:.80} has no description in {descriptions_file}")
            description = descriptions[key].text
            if description is None:  # already a problem of its own file
                return None
            return QuestionRow(key, caption, description, partial(_parse, html, key))

        usable = list(opened.usable(tables_file, tables, build, most=SOURCE_LIMIT))
        present = {str(item.get(KEY)) for item in tables if isinstance(item, dict)}
        for key, row in descriptions.items():
            if key not in present:
                message = f"{key!r:.80} has no table in {tables_file}"
                opened.bad(descriptions_file, row.number, KEY, message)
        return usable


@dataclass(frozen=True)
class _Description:
    """A row of a file of descriptions; `text` is None if the row's text is unusable."""

    number: int
    text: str | None


def _descriptions(opened: Opened, file: str) -> dict[str, _Description]:
    """Return the description of each table id."""
    descriptions: dict[str, _Description] = {}
    for number, item in enumerate(opened.json(file, list, "a list of objects"), start=1):
        key = None
        try:
            key = text_field(item, KEY)
            if key in descriptions:
                raise BadRowError(KEY, f"{key!r:.80} occurs a second time")
            descriptions[key] = _Description(number, text_field(item, "description"))
        except BadRowError as error:
            opened.bad(file, number, error.field, str(error))
            if key is not None:
                descriptions.setdefault(key, _Description(number, None))
    return descriptions


@lru_cache(maxsize=256)
def _parse(html: str, name: str) -> Table:
    """Return the table in HTML: the header is all `th` of the head, a row the `td` of a body row.

    As in the published code (torr.md section 9, row 20), several header lines become one long line,
    and row labels marked `th` are lost.
    """
    import bs4

    with warnings.catch_warnings():
        # Some tables look like XML, but all of them are HTML.
        warnings.simplefilter("ignore", bs4.XMLParsedAsHTMLWarning)
        soup = bs4.BeautifulSoup(html, "html.parser")
    head, body = soup.find("thead"), soup.find("tbody")
    header = [cell.get_text() for cell in head.find_all("th")] if head else []
    rows = [
        [cell.get_text() for cell in row.find_all("td")]
        for row in (body.find_all("tr") if body else [])
    ]
    return Table(tuple(header), tuple(tuple(row) for row in rows), name=name)


class QTSumm(ToRRTexts, section="qtsumm"):
    """QTSumm: answer a query about a table in a paragraph; five demonstrations.

    The authors give access on request. Without access, `tablebench pull` says how to get it.
    """

    def rows(self, opened: Opened, files: tuple[str, ...]) -> list[QuestionRow]:
        """Return the rows in the order of the file."""
        content = opened.json(files[0], list, "a list of objects")
        return list(opened.usable(files[0], content, _query_row, most=SOURCE_LIMIT))


def _query_row(item: Any) -> QuestionRow:
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
    table_name = table_id if isinstance(table_id, str) and table_id else None
    return QuestionRow(text_field(item, "example_id"), query, summary, make, table_name)


NAMES, VALUES = "table_column_names", "table_content_values"

_LONGEST_LITERAL = 200_000
"""In characters: more than any upstream table has, and few enough for the parser."""


class SciGen(ToRRTexts, section="scigen"):
    """SciGen: describe a table from a scientific article; five demonstrations."""

    def rows(self, opened: Opened, files: tuple[str, ...]) -> list[QuestionRow]:
        """Return the rows in the order of the file."""
        content = opened.json(files[0], dict, "an object of key to row")
        return list(opened.usable(files[0], content.items(), _article_row, most=SOURCE_LIMIT))


def _article_row(item: tuple[str, Any]) -> QuestionRow | None:
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


DATASETS = (
    NumericNLG(),
    QTSumm(),
    SciGen(),
)
