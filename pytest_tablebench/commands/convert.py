"""`tablebench convert TABLE --to FORMAT`: a table as a model sees it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_tablebench.commands.tree import read_structured
from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.util.names import printable

_FORMATS = {
    **{name: name for name in ("latex", "html", "markdown", "csv", "json")},
    "png": "image",
}
"""The serializer of each format."""


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
    parser = commands.add_parser(
        "convert",
        help="write a table as LaTeX, HTML, Markdown, CSV, JSON or a picture",
        description="Write a table as a model sees it: LaTeX, HTML, Markdown, CSV, JSON or a "
        "picture.",
    )
    parser.add_argument("table", type=Path, metavar="TABLE", help="file: .xlsx, .html, .csv")
    parser.add_argument("--to", required=True, choices=tuple(_FORMATS), help="format to write")
    parser.add_argument("--sheet", metavar="NAME", help="sheet of a workbook. Default: the first")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        help="new file. Default: print the table; png needs a file",
    )
    parser.set_defaults(lines=_convert)


def _convert(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.serializers import serialize

    if options.to == "png" and options.out is None:
        raise SettingsError("--to png needs -o FILE")
    content = serialize(read_structured(options.table, options.sheet), _FORMATS[options.to])
    if options.out is None:
        # Line ends stay; other control characters of a cell must not reach a terminal.
        return [printable(line, len(line) or 1) for line in str(content).split("\n")], 0
    pieces = content if isinstance(content, tuple) else (content,)
    lines = []
    for number, piece in enumerate(pieces, start=1):
        path = options.out
        if len(pieces) > 1:
            path = path.with_name(f"{path.stem}-{number}{path.suffix}")
        with writing(f"--out: cannot write {path}"), path.open("xb") as file:
            file.write(piece if isinstance(piece, bytes) else piece.encode())
        lines.append(printable(str(path)))
    return lines, 0
