"""RealHiTBench's table files, their sizes, and upstream's renderings (spec section 1)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from pytest_tablebench.datasets.files import inside
from pytest_tablebench.datasets.rows import BadRowError
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
        self._sizes = sorted(size for stem in stems if (size := self._size(stem)) is not None)

    def _measured(self, stem: str) -> Path | None:
        try:
            places = (self.path(stem, kind) for kind in _MEASURED)
            return next((path for path in places if path is not None), None)
        except DataError:
            return None

    def _size(self, stem: str) -> int | None:
        path = self._measured(stem)
        return None if path is None else path.stat().st_size

    def _tags(self, stem: str) -> dict[str, str]:
        """Return a table's tags: its quarter by file size, and its range of tokens.

        Both are measured on the first of its files in LaTeX, CSV and HTML.
        """
        path, size = self._measured(stem), self._size(stem)
        if path is None or size is None or not self._sizes:
            return {}
        quarter = min(3, 4 * bisect_left(self._sizes, size) // len(self._sizes))
        # A token is at least one byte, so tokens of small files need no count.
        tokens = size if size < _TOKENS[0] else count_tokens(path.read_bytes())
        bucket = "<10K" if tokens < _TOKENS[0] else "10-20K" if tokens <= _TOKENS[1] else ">20K"
        return {"size": f"{25 * quarter}-{25 * quarter + 25}%", "tokens": bucket}
