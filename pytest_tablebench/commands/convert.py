"""`tablebench convert TABLE --to FORMAT`: a table as a model sees it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands.outputs import print_note
from pytest_tablebench.errors import DataError, SettingsError, writing
from pytest_tablebench.util.files import real_path

if TYPE_CHECKING:
    from pytest_tablebench.tables.table import Table

_FORMATS = {
    **{name: name for name in ("latex", "html", "markdown", "csv", "json")},
    "png": "image",
}
"""The serializer of each format."""


def convert_table(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.serializers import serialize

    if options.to == "png" and options.out is None:
        raise SettingsError("--to png needs -o FILE")
    written = options.table if options.sheet is None else f"{options.table}#{options.sheet}"
    content = serialize(_table(written), _FORMATS[options.to])
    if options.out is None:
        return str(content).split("\n"), 0
    pieces = content if isinstance(content, tuple) else (content,)
    lines = []
    for number, piece in enumerate(pieces, start=1):
        path = options.out
        if len(pieces) > 1:
            path = path.with_name(f"{path.stem}-{number}{path.suffix}")
        with writing(f"--out: cannot write {path}"), path.open("xb") as file:
            file.write(piece if isinstance(piece, bytes) else piece.encode())
        lines.append(str(path))
    return lines, 0


def _table(written: str) -> Table:
    """Return the table of a file or a sheet as a run reads it; notes go to the standard error."""
    from pytest_tablebench.datasets.described import SETTINGS_FILE, read_description
    from pytest_tablebench.datasets.folder import FolderDataset
    from pytest_tablebench.datasets.folder.tables import split_sheet

    name, sheet = split_sheet(written)
    file = real_path(Path(name))
    folder = next((up for up in file.parents[:2] if (up / SETTINGS_FILE).is_file()), file.parent)
    description, mistakes = read_description(folder)
    if mistakes:
        raise DataError(f"{folder / SETTINGS_FILE}: {mistakes[0].text}")
    tables = FolderDataset(description, "", ".").table_reader(folder)
    table = tables.table(file.relative_to(folder).as_posix() + (f"#{sheet}" if sheet else ""))
    for note in tables.notes:
        print_note(note)
    return table
