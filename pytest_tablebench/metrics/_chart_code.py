"""Programs that draw charts, as replies hold them (specs: realhitbench.md, 5, and tablebench.md).

Nothing here runs: a program is cut out, laid out and compiled, and what it may do is for the
sandbox to say.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_tablebench.config.compat import Compat

MAX_PROGRAM = 100_000
"""How many characters of a program are compiled; a longer one counts as one that does not."""

_OPENINGS = ("import pandas as pd", "import matplotlib.pyplot as plt")
_CLOSING = "plt.show()"
_FENCE = "```"
_QUOTED_WORKBOOK = re.compile(r"'[^']*\.xlsx'")


@dataclass(frozen=True)
class Program:
    """A program to be run.

    Arguments:
        code: its text; None where the reply holds none.
        layout: which of the layouts was taken, `no_code` without a program.
        compiles: whether Python takes the text.
    """

    code: str | None
    layout: str
    compiles: bool


def patched(reply: str, path: str) -> str:
    """Put the table's path in the place of every workbook that a reply names.

    That is each text in single quotes that ends in `.xlsx`, and then each `table.xlsx`.
    """
    return _QUOTED_WORKBOOK.sub(lambda _: f"'{path}'", reply).replace("table.xlsx", path)


def realhit_code(reply: str) -> str | None:
    """Return the last text of a reply from the import of pandas to `plt.show()`.

    Without one it is the last from the import of pyplot, and without that None.
    """
    for opening in _OPENINGS:
        inner = _last_between(reply, opening, _CLOSING)
        if inner is not None:
            return f"{opening}{inner}{_CLOSING}"
    return None


def python_block(reply: str) -> str:
    """Return the last block fenced as `python`, in exactly these letters, or no text."""
    return _last_between(reply, f"{_FENCE}python\n", _FENCE) or ""


def program_of(code: str | None, compat: Compat) -> Program:
    """Return the program as it is to be run.

    `reference`: blanks go at both ends of each line, so what has a block does not compile.

    `fixed`: the first of four layouts that compiles: as given, the lines behind the first with
    their common indentation taken off, one blank less before each, none before any. Where none
    does it is as given.
    """
    if code is None:
        return Program(None, "no_code", compiles=False)
    lines = code.split("\n")
    if compat == "reference":
        flat = "".join(line.strip(" ") + "\n" for line in lines)
        return Program(flat, "strip_all", _compiles(flat))
    for layout, text in _layouts(code, lines):
        if _compiles(text):
            return Program(text, layout, compiles=True)
    return Program(code, "as_given", compiles=False)


def _layouts(code: str, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "as_given", code
    yield "dedent", f"{lines[0].strip()}\n{textwrap.dedent(chr(10).join(lines[1:]))}"
    yield "cut_one_blank", "\n".join(line.removeprefix(" ") for line in lines)
    yield "strip_all", "\n".join(line.strip() for line in lines)


def _last_between(text: str, opening: str, closing: str) -> str | None:
    """Return what the last opening and the next closing hold, found from the start on."""
    code, end = None, 0
    while (start := text.find(opening, end)) >= 0:
        start += len(opening)
        end = text.find(closing, start)
        if end < 0:
            break
        code = text[start:end]
        end += len(closing)
    return code


def _compiles(code: str) -> bool:
    if len(code) > MAX_PROGRAM:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the program's style, to nobody here
            compile(code, "<program>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
        return False  # too deep is no program either
    return True
