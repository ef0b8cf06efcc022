"""Metrics of programs that draw charts: run in the sandbox and judged by what they drew.

Specs: realhitbench.md, section 5, and tablebench.md, Charts.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Judgement, Score, needs
from pytest_tablebench.metrics._chart_axes import PICTURE
from pytest_tablebench.metrics.chart_values import Verdict, chart_verdict, tablebench_verdict
from pytest_tablebench.metrics.steps import Execute, Execution, Limits
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile, file_of

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


LIMITS = Limits(cpu_s=15.0, wall_s=20.0)
"""The time limits of the published scripts."""

WORKBOOK, CSV = "table.xlsx", "table.csv"
"""File names of the table in a program's folder, as the prompts call it."""


@needs("matplotlib")
def realhit_chart(
    prediction: str,
    references: Sequence[str],
    *,
    compat: Compat = "fixed",
    chart_type: str = "",
    table: TableFile | Table | None = None,
    limits: Limits = LIMITS,
    **_: Any,
) -> Judgement:
    """Score whether a reply's program ran (`ecr`) and drew the expected values (`pass@1`).

    `pass@1` is the score. `unscorable` is 1 if no answer can match the reference; the score is 0
    then. Flags give the reason why a program drew nothing: `no_program`, or `program_` and its
    outcome.

    References are the expected values as text, such as `[[1, 2]]`. `chart_type` is RealHiTBench's
    sub-type, `PieChart Generation`, or its first word. The table is in the program's folder as
    `table.xlsx`. `reference` runs the program inside a function, without its indentation, and
    parses the printed values; other output of the program makes them unreadable.
    """
    program = _realhit_program(prediction, compat)
    published = compat == "reference"
    step = _step(program, WORKBOOK, table, limits, chart_type=chart_type, function=published)
    ran: Execution | None = (yield step) if step else None
    if ran is None or ran.outcome != "ok":
        return _failed(program, ran)
    outcome = _outcome(ran)
    drawn = outcome["drawn"]
    if published:
        # The published scripts print the values after the program's output.
        drawn = f"{ran.output}{'' if outcome['values'] is None else outcome['values']}"
    shares = chart_type.startswith("Pie")
    return _score(chart_verdict(drawn, references, compat=compat, shares=shares))


@needs("matplotlib")
def tablebench_chart(
    prediction: str,
    references: Sequence[str],
    *,
    compat: Compat = "fixed",
    chart_type: str = "",
    table: TableFile | Table | None = None,
    limits: Limits = LIMITS,
    **_: Any,
) -> Judgement:
    """Score a chart of TableBench, whose references are texts such as `y_references = [[1, 2]]`.

    The parts are those of `realhit_chart`, and `parse@1`. The table is in the program's folder as
    `table.csv`. In `reference` the program runs twice with its first figure still open, any output
    makes the verdict unreadable, and `parse@1` is 1 for a readable verdict. In `fixed` it is 1 if
    the reply has a program.
    """
    block, published = python_block(prediction), compat == "reference"
    # The published program is the block, indented; the run shows whether it compiles.
    program = Program(block, "as_given", compiles=True) if published else program_of(block, compat)
    if not block:
        return _failed(Program(None, "no_code", compiles=False), None, **{"parse@1": 0.0})
    arguments: dict[str, Any] = {"chart_type": chart_type}
    if published:
        arguments |= {"function": True, "times": 2, "indent": "    "}
    step = _step(program, CSV, table, limits, **arguments)
    ran: Execution | None = (yield step) if step else None
    if ran is None or ran.outcome != "ok":
        return _failed(program, ran, **{"parse@1": float(not published)})
    outcome = _outcome(ran)
    if published and (outcome["values"] is None or ran.output):
        verdict: Verdict = "unreadable" if ran.output else "no_output"
    else:
        values = outcome["values" if published else "drawn"]
        shares = chart_type == "pie"
        verdict = tablebench_verdict(values, references, compat=compat, shares=shares)
    readable = not published or verdict in {"true", "false"}
    return _score(verdict, ran=outcome["ran"], **{"parse@1": float(readable)})


def _realhit_program(reply: str, compat: Compat) -> Program:
    return program_of(realhit_code(patched(reply, WORKBOOK)), compat)


def _step(
    program: Program,
    file_name: str,
    table: TableFile | Table | None,
    limits: Limits,
    **arguments: Any,
) -> Execute | None:
    """Return the run of a program; None if there is none or it does not compile."""
    if program.code is None or not program.compiles:
        return None
    file = file_of(table)
    files = {} if file is None else {file_name: file.read(file_name)}
    written = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    runner = f"{_axes()}\nvalue = draw(program, {written})\n"
    return Execute(program.code, files, limits, runner, (PICTURE,))


def chart_step(reply: str, *, chart_type: str, table: Table) -> Execute | None:
    """Return the run of a reply's program as in `realhit_chart`; None if it has no program."""
    program = _realhit_program(reply, "fixed")
    return _step(program, WORKBOOK, table, LIMITS, chart_type=chart_type, function=False)


def chart_values(ran: Execution) -> list[Any] | None:
    """Return the series that a program drew on its last axes; None if it drew nothing.

    A single series of bars or wedges is a list of numbers, as in the dataset.
    """
    if ran.outcome != "ok":
        return None
    outcome = _outcome(ran)
    values: list[Any] | None = next(iter(outcome["drawn"]), None)
    is_flat = not any(isinstance(value, list) for value in outcome["values"] or [])
    if values and len(values) == 1 and isinstance(values[0], list) and is_flat:
        return list(values[0])
    return values


@cache
def _axes() -> str:
    return resources.files(__package__).joinpath("_chart_axes.py").read_text(encoding="utf-8")


def _outcome(ran: Execution) -> dict[str, Any]:
    """Return the value that `draw` returned, checked: a program may have replaced it.

    An execution that an earlier version stored has no `drawn`; its values are the only reading.
    """
    value = ran.value if isinstance(ran.value, dict) else {}
    values, drawn = value.get("values"), value.get("drawn")
    return {
        "ran": value.get("ran") is True,
        "values": values if isinstance(values, list) else None,
        "drawn": drawn if isinstance(drawn, list) else [values],
    }


def _failed(program: Program, ran: Execution | None, **further_parts: float) -> Score:
    """Return the score, with a flag for the reason, if a program did not run to its end."""
    if ran is not None:
        flag = f"program_{ran.outcome}"
    else:
        flag = "no_program" if program.code is None else "program_syntax"
    return replace(_score(None, ran=False, **further_parts), flags=(flag,))


def _score(verdict: Verdict | None, *, ran: bool = True, **further_parts: float) -> Score:
    parts = {
        "ecr": float(ran),
        "pass@1": float(verdict == "true"),
        "unscorable": float(verdict == "unscorable"),
        **further_parts,
    }
    return Score(parts["pass@1"], parts, "pass@1")
