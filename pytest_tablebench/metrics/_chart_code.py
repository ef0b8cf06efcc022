"""Programs that draw charts, as replies contain them (specs: realhitbench.md, 5; tablebench.md).

Nothing runs here: a program is extracted, indented and compiled. The sandbox limits what it may do.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_tablebench.config.compat import Compat

MAX_PROGRAM = 100_000
"""Characters of the longest program that is compiled; a longer one counts as not compiling."""

_OPENINGS = ("import pandas as pd", "import matplotlib.pyplot as plt")
_CLOSING = "plt.show()"
_FENCE = "```"
_QUOTED_WORKBOOK = re.compile(r"'[^']*\.xlsx'")


@dataclass(frozen=True)
class Program:
    """A program from a reply.

    `code` is None and `layout` is `no_code` if the reply has no program. `compiles` is whether
    Python compiles the text.
    """

    code: str | None
    layout: str
    compiles: bool


def patched(reply: str, path: str) -> str:
    """Replace the name of every workbook in a reply by the table's path.

    These are the texts in single quotes that end in `.xlsx`, and then each `table.xlsx`.
    """
    return _QUOTED_WORKBOOK.sub(lambda _: f"'{path}'", reply).replace("table.xlsx", path)


def realhit_code(reply: str) -> str | None:
    """Return the last part of a reply from the import of pandas to `plt.show()`.

    If there is none, the last part from the import of pyplot, or None.
    """
    for opening in _OPENINGS:
        inner = _last_between(reply, opening, _CLOSING)
        if inner is not None:
            return f"{opening}{inner}{_CLOSING}"
    return None


def python_block(reply: str) -> str:
    """Return the last block fenced as `python` (in lower case), or ""."""
    return _last_between(reply, f"{_FENCE}python\n", _FENCE) or ""


def program_of(code: str | None, compat: Compat) -> Program:
    """Return the program that is run.

    `reference`: blanks at both ends of each line are removed, so a program with an indented block
    does not compile.

    `fixed`: the first of four layouts that compiles: the code unchanged, the lines after the first
    without their common indentation, one blank less at the start of each line, no blanks at the
    start of lines. If none compiles, the code stays unchanged.
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
    """Return the text of the last pair of opening and closing; pairs are matched from the start."""
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
            warnings.simplefilter("ignore")  # they concern the model's style
            compile(code, "<program>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
        return False  # the last two: nested too deep
    return True
