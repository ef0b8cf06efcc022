"""The answer of a command: a document on the terminal, files that options name, next commands."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import writing
from pytest_tablebench.util.names import printable
from pytest_tablebench.util.programs import SUITES, program

if TYPE_CHECKING:
    from pytest_tablebench.documents.document import Document


TERMINAL = Path("-")
"""The file of `--json` that means the terminal."""


@dataclass(frozen=True)
class CommandAnswer:
    """The answer of a command.

    Args:
        document: the report.
        content: the same as JSON values.
        code: the exit code.
        lines: what to do next, printed below the report.
        write_page: writes a page for people to work on in place of the report's.
    """

    document: Document
    content: Any
    code: int = 0
    lines: Sequence[str] = ()
    write_page: Callable[[Path], None] | None = None


def show_answer(options: argparse.Namespace, answer: CommandAnswer) -> int:
    """Print an answer, write the files that options name, and return the exit code.

    The report comes first: a file that cannot be written must not hide it. Raises `SettingsError`
    for such a file.
    """
    from pytest_tablebench.documents.terminal import terminal_lines

    if options.json == TERMINAL:
        sys.stdout.write(_json(answer))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print_lines(terminal_lines(answer.document.blocks, width=width))
    lines = [*write_outputs(options, answer), *answer.lines]
    if lines and options.json != TERMINAL:
        print_lines(["", *lines] if answer.document.blocks else lines)
    return answer.code


def print_lines(lines: Iterable[str]) -> None:
    """Print lines at once; control characters of any of them become visible escapes."""
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))
    sys.stdout.flush()


def print_note(text: str) -> None:
    """Print a note on the standard error; its control characters become visible escapes."""
    sys.stderr.write(f"note: {printable(text)}\n")


def write_outputs(options: argparse.Namespace, answer: CommandAnswer) -> Iterator[str]:
    """Write the files that options name, and yield a line for each."""
    from pytest_tablebench.documents.html import save_document
    from pytest_tablebench.documents.markdown import markdown_text
    from pytest_tablebench.util.files import write_whole

    if options.page is not None:
        write_page = answer.write_page or partial(save_document, answer.document)
        write_page(options.page)
        yield f"page: {options.page}"
    for name in ("json", "markdown"):
        file = getattr(options, name)
        if file is not None and file != TERMINAL:
            text = _json(answer) if name == "json" else markdown_text(answer.document.blocks)
            with writing(f"--{name}: cannot write {file}", "; choose another place"):
                file.parent.mkdir(parents=True, exist_ok=True)
                write_whole(file, text)
            yield f"{name}: {file}"


def _json(answer: CommandAnswer) -> str:
    return dumps(answer.content, indent=2, default=str) + "\n"


def check_and_run(folder: Path) -> list[str]:
    """Return the commands for a dataset folder, one per line."""
    path = quoted(folder)
    return [
        f"check: {program('tablebench')} check {path}",
        f"run: {program('pytest')} --pyargs {SUITES}.test_own --bench-data={path}",
    ]


def quoted(path: Path) -> str:
    """Return a path, quoted for a shell."""
    return shlex.quote(str(path))
