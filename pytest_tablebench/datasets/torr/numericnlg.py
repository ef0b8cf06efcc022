"""NumericNLG as ToRR reads and asks it (spec: torr.md section 3.5)."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._base import Example, Problem, PromptParts, Render, render_field
from pytest_tablebench.datasets._files import read_json, require_files
from pytest_tablebench.datasets._sources import RowSource
from pytest_tablebench.datasets.torr._common import CLOSING
from pytest_tablebench.datasets.torr._rows import (
    BadRowError,
    Row,
    Split,
    collect,
    row_source,
    text_field,
)
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

__all__ = ["DATASETS", "NumericNLG"]

KEY = "table_id_paper"
HTML = "table_html_clean"

INSTRUCTION = (
    "You are given a table and its caption. Write the description that belongs to them.\n" + CLOSING
)


def _files(split: str) -> tuple[str, str]:
    """Return a split's file of tables and its file of descriptions."""
    return f"data/table_{split}.json", f"data/table_desc_{split}.json"


def _read_list(folder: Path, file: str) -> list[Any]:
    content = read_json(folder / file)
    if not isinstance(content, list):
        raise DataError(
            f"{folder / file}: must hold a list of objects, not a {type(content).__name__}; "
            f"is this NumericNLG?"
        )
    return content


@dataclass(frozen=True)
class _Description:
    """A row of a file of descriptions; `text` is None where it is there but unusable."""

    number: int
    text: str | None


def _descriptions(folder: Path, file: str, problems: list[Problem]) -> dict[str, _Description]:
    """Return the description of each table id."""
    found: dict[str, _Description] = {}
    for number, item in enumerate(_read_list(folder, file), start=1):
        key = None
        try:
            key = text_field(item, KEY)
            if key in found:
                raise BadRowError(KEY, f"{key!r:.80} occurs a second time")
            found[key] = _Description(number, text_field(item, "description"))
        except BadRowError as error:
            problems.append(Problem(file, number, error.field, error.message))
            if key is not None:
                found.setdefault(key, _Description(number, None))
    return found


def _rows(folder: Path, files: tuple[str, str], problems: list[Problem]) -> list[Row]:
    """Join tables and descriptions on their id, in the order of the tables."""
    tables_file, descriptions_file = files
    tables = _read_list(folder, tables_file)
    descriptions = _descriptions(folder, descriptions_file, problems)

    def build(item: Any) -> Row | None:
        key, html = text_field(item, KEY), text_field(item, HTML)
        caption = text_field(item, "caption", may_be_empty=True)
        for part in ("thead", "tbody"):
            if not re.search(f"<{part}[\\s>]", html, re.IGNORECASE):
                raise BadRowError(HTML, f"has no <{part}>")
        if key not in descriptions:
            raise BadRowError(KEY, f"{key!r:.80} has no description in {descriptions_file}")
        description = descriptions[key].text
        if description is None:  # named as a problem of its own file
            return None
        return Row(key, caption, description, partial(_parse, html, key))

    found = collect(tables, tables_file, problems, build)
    present = {str(item.get(KEY)) for item in tables if isinstance(item, dict)}
    problems += (
        Problem(descriptions_file, row.number, KEY, f"{key!r:.80} has no table in {tables_file}")
        for key, row in descriptions.items()
        if key not in present
    )
    return found


@lru_cache(maxsize=256)
def _parse(html: str, name: str) -> Table:
    """Read the cells: all `th` in the head make one header, the `td` of each body row a row.

    Several header lines become one long one, and row labels marked `th` are lost, as in the
    published code (torr.md section 9, row 20).
    """
    import bs4

    with warnings.catch_warnings():
        # Text that looks like XML is read as HTML all the same.
        warnings.simplefilter("ignore", bs4.XMLParsedAsHTMLWarning)
        soup = bs4.BeautifulSoup(html, "html.parser")
    head, body = soup.find("thead"), soup.find("tbody")
    header = [cell.get_text() for cell in head.find_all("th")] if head else []
    rows = [
        [cell.get_text() for cell in row.find_all("td")]
        for row in (body.find_all("tr") if body else [])
    ]
    return Table(tuple(header), tuple(tuple(row) for row in rows), name=name)


class NumericNLG:
    """NumericNLG: describe a table of numbers from a paper; five demonstrations."""

    name = folder = "numericnlg"
    benchmark = "torr"
    metric = "rouge"
    shots = 5
    limit: int | None = 100
    threshold = 0.15
    get = "tablebench pull numericnlg"

    def open(
        self,
        folder: Path,
        *,
        compat: Compat = "fixed",  # noqa: ARG002 - both modes read the same
    ) -> RowSource[Row]:
        """Open the upstream checkout at `folder`."""
        test, pool = _files("test"), _files("train")
        require_files(folder, test, get=self.get)
        notes: tuple[str, ...] = ()
        if not all((folder / file).is_file() for file in pool):
            pool = _files("val")
            require_files(folder, pool, get=self.get)
            notes = ("demonstrations come from the validation files: no training files",)
        return row_source(
            folder,
            Split(test, partial(_rows, folder, test)),
            Split(pool, partial(_rows, folder, pool)),
            text_name="caption",
            notes=notes,
        )

    def chain(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - the same in both modes
        """Lower case, nothing else."""
        return ("lower_case",)

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return instruction and source; the source itself announces the description."""
        table = render_field(example.inputs["table"], render)
        return PromptParts(
            INSTRUCTION,
            f"table: \n{table} \ncaption: \n{example.inputs['caption']} \ndescription:",
        )


DATASETS = (NumericNLG(),)
