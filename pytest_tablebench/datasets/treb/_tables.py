"""The tables of TReB's samples: CSV files, else Markdown, else HTML (spec: treb.md section 2)."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets.files import archive_files, archived, delimited_rows, inside
from pytest_tablebench.datasets.treb._samples import Sample
from pytest_tablebench.errors import DataError, TableError
from pytest_tablebench.tables.table import Table

MOST_BYTES = 64 << 20
"""The most bytes of a table in an archive."""

_BETWEEN = re.compile(r"[\s|:\-]*-[\s|:\-]*")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class SampleTable:
    """A table of a sample, or the reason why it cannot be read.

    Arguments:
        table: the table, or None if it could not be read.
        source: the form that was read: `csv`, `markdown`, `html` or `none`.
        faults: the fields with mistakes: `file_path`, `columnslable`, `markdown`.
        text: the Markdown or HTML of a table that could not be read.
    """

    table: Table | None
    source: str
    faults: tuple[str, ...] = ()
    text: str = ""


def tables_of(sample: Sample) -> list[SampleTable]:
    """Return the tables of a sample; `reference` uses only the first one."""
    count = sample.table_count if sample.compat == "fixed" else min(sample.table_count, 1)
    return [_table(sample, index) for index in range(count)]


def _table(sample: Sample, index: int) -> SampleTable:
    """Read one table from its first readable form: CSV, Markdown, HTML."""
    compat = sample.compat
    faults: list[str] = []
    lines: Sequence[Sequence[str]] | None = None
    source, markdown = "csv", _at(sample.markdown, index)
    path = _at(sample.csv, index)
    if path:
        try:
            lines = _csv_lines(sample.folder, path)
        except DataError:
            faults.append("file_path")
    if lines is None and markdown:
        source, lines = "markdown", markdown_lines(markdown, compat)
        if lines is None:
            faults.append("markdown")
    if lines is None and compat == "fixed" and (html := _at(sample.html, index)):
        table = html_table(html, _at(sample.titles, index))
        if table is not None:
            return SampleTable(table, "html", tuple(faults))
    if not lines:
        text = markdown or _at(sample.html, index)
        return SampleTable(None, "none", tuple(faults), text)
    header, fits = _header_rows(sample.header_rows, index, len(lines))
    if not fits:
        faults.append("columnslable")
    table = _from_lines(lines, header, _at(sample.titles, index), table_name(sample, index))
    return SampleTable(table, source, tuple(faults))


def table_name(sample: Sample, index: int = 0) -> str:
    """Return the name of a table in messages; it also identifies the sample."""
    return f"{sample.location}, table {index + 1}"


def as_given(sample: Sample | None, serializer: str) -> str | None:
    """Return the sample's own text of its first table; None if the sample lacks this format."""
    if sample is None:
        return None
    texts = {"markdown": sample.markdown, "html": sample.html}.get(serializer, ())
    return _at(texts, 0) or None


def _at(texts: Sequence[str], index: int) -> str:
    return texts[index] if index < len(texts) else ""


def _header_rows(counts: Sequence[object], index: int, lines: int) -> tuple[int, bool]:
    """Return the number of header lines, and whether the stated number is valid.

    The number is 1 if none is stated or if the stated one is invalid.
    """
    if index >= len(counts):
        return 1, True
    count = counts[index]
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < max(lines, 2):
        return count, True
    return 1, False


def _from_lines(lines: Sequence[Sequence[str]], header: int, title: str, name: str) -> Table:
    """Make a table; without header lines its column names are numbers from 0, as in pandas."""
    width = max(map(len, lines))
    padded = [(*line, *("",) * (width - len(line))) for line in lines]
    if header == 0:
        return Table(tuple(map(str, range(width))), tuple(padded), title or None, name=name)
    padded = [tuple(cell.strip() for cell in line) for line in padded]
    return Table(
        padded[header - 1],
        tuple(padded[header:]),
        title or None,
        name=name,
        header_rows=tuple(padded[: header - 1]),
    )


# CSV


def _csv_lines(folder: Path, name: str) -> list[list[str]] | None:
    """Return the lines of a CSV file; None if it does not exist or is empty.

    Raises `DataError` for a path outside the data folder, and for a file that is not text.
    """
    path = inside(folder, name)
    data: bytes | None = path.read_bytes() if path.is_file() else _elsewhere(folder, name)
    if data is None:
        return None
    try:
        return delimited_rows(data.decode("utf-8-sig"), ",")
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{name}: {error}") from None


def _elsewhere(folder: Path, name: str) -> bytes | None:
    """Return the content of the one file, in the folder or its archives, whose path ends in `name`.

    If there is no such path, return the one file with the same base name. Return None if several
    files match, or none.
    """
    segments = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    ending = "/" + "/".join(segments)
    places = _csv_files(folder).get(segments[-1] if segments else "", ())
    matching = [file for file in places if f"/{file[1]}".endswith(ending)] or places
    if len(matching) != 1:
        return None
    archive, member = matching[0]
    if archive is None:
        return inside(folder, member).read_bytes()
    return archived(archive, member, MOST_BYTES)


@lru_cache(maxsize=4)
def _csv_files(folder: Path) -> Mapping[str, tuple[tuple[Path | None, str], ...]]:
    """Return the CSV files below a folder and in its archives, by base name.

    Each is (archive, path), with None as the archive of a file in the folder.
    """
    places_by_name: dict[str, list[tuple[Path | None, str]]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() == ".csv":
            places_by_name.setdefault(path.name, []).append(
                (None, path.relative_to(folder).as_posix())
            )
        elif path.suffix.lower() == ".zip":
            for member in archive_files(path):
                if member.lower().endswith(".csv"):
                    places_by_name.setdefault(member.rpartition("/")[2], []).append((path, member))
    return {name: tuple(places) for name, places in places_by_name.items()}


# Markdown and HTML


def markdown_lines(markdown: str, compat: Compat = "fixed") -> list[list[str]] | None:
    r"""Return the lines of a Markdown table without the one below its header; None if it has none.

    `reference` ends a cell at every bar, even at an escaped one (`\|`). It returns None if lines
    then differ in length.
    """
    bar = _BAR if compat == "fixed" else re.compile(r"\|")
    lines = []
    for line in markdown.split("\n"):
        text = line.strip()
        if "|" not in text or _BETWEEN.fullmatch(text):
            continue
        cells = bar.split(text.removeprefix("|"))
        if len(cells) > 1 and not cells[-1].strip():
            cells.pop()
        lines.append([cell.strip() for cell in cells])
    if compat == "reference":
        return lines if len({len(line) for line in lines}) == 1 else None
    return [[cell.replace("\\|", "|") for cell in line] for line in lines] or None


def html_table(html: str, title: str = "") -> Table | None:
    """Return the table of an HTML text; None if it has no readable table."""
    try:
        text = html if "<table" in html.lower() else f"<table>{html}"
        table = Table.from_html(text, structure=True, marks=False)
    except TableError:
        return None
    return replace(table, title=title) if title else table
