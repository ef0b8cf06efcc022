"""NumericNLG as ToRR reads and asks it (spec: torr.md section 3.5)."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from pytest_tablebench.datasets._file_dataset import Opened, PoolFiles
from pytest_tablebench.datasets.pull._upstream import CC_BY_SA, File, Upstream
from pytest_tablebench.datasets.rows import BadRowError, QuestionRow, text_field
from pytest_tablebench.datasets.torr._common import CLOSING, SOURCE_LIMIT, ToRRTexts
from pytest_tablebench.tables.table import Table

KEY = "table_id_paper"
HTML = "table_html_clean"


def _files(split: str) -> tuple[str, str]:
    """Return a split's file of tables and its file of descriptions."""
    return f"data/table_{split}.json", f"data/table_desc_{split}.json"


class NumericNLG(ToRRTexts):
    """NumericNLG: describe a table of numbers from a paper; five demonstrations."""

    name = folder = "numericnlg"
    upstream = Upstream(
        "numericnlg",
        "github",
        "titech-nlp/numeric-nlg",
        "HEAD",
        pinned=False,
        licence=CC_BY_SA,
        files=tuple(
            File(f"data/{kind}_{split}.json")
            for kind in ("table", "table_desc", "paper")
            for split in ("train", "val", "test")
        ),
    )
    threshold = 0.15
    test = _files("test")
    pools = (
        PoolFiles(_files("train")),
        PoolFiles(
            _files("val"), "demonstrations come from the validation files: no training files"
        ),
    )
    text_name = "caption"
    instruction = (
        "You are given a table and its caption. Write the description that belongs to them.\n"
        + CLOSING
    )
    # The label before the answer is part of the source.
    source = "table: \n{table} \ncaption: \n{caption} \ndescription:"
    fixed_chain = ("lower_case",)

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


DATASETS = (NumericNLG(),)
