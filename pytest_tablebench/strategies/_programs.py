"""A model's programs over its tables: the input of the sandbox, and the reply to the model.

Spec: treb.md sections 3 and 4. Each program has its own process. The blocks of one
conversation still share their names, because earlier blocks run again without output.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics.steps import Execute, Execution
from pytest_tablebench.serializers.program_tables import frame_csv
from pytest_tablebench.tables.table import Table

PATH = "/mnt/tmp.csv"
"""The path of the table in the published prompt: no line of a program may name it."""

_STOPPED = {
    "timeout": "The program took too long and was stopped.",
    "memory": "The program needed too much memory and was stopped.",
    "threads": "The program started too many threads and was stopped.",
    "output": "The program printed too much and was stopped.",
}


def frame_names(tables: Sequence[Table], compat: Compat) -> dict[str, Table]:
    """Return the tables by the names of their frames; `reference` has only the first."""
    shown = tables[:1] if compat == "reference" else tables
    return {
        f"df{number if number > 1 else ''}": content
        for number, content in enumerate(shown, start=1)
    }


def program_step(
    kind: Literal["pot", "icot"],
    code: str,
    tables: Mapping[str, Table],
    compat: Compat,
    earlier: Sequence[str] = (),
) -> Execute:
    """Return the step that runs a program after the earlier ones of its conversation.

    `tables` are keyed by the names of their frames. Raises `TableError` for ragged rows.
    """
    table_files: dict[str, bytes] = {}
    places = {}
    for name, table in tables.items():
        text, lines = frame_csv(table, compat)
        table_files[f"{name}.csv"] = text.encode("utf-8", "surrogatepass")
        places[name] = (f"{name}.csv", lines)
    job = {"kind": kind, "compat": compat, "tables": places, "earlier": list(earlier)}
    table_files["job.json"] = json.dumps(job).encode()
    return Execute(code, table_files, runner=runner_text("_runner.py"))


def observation(execution: Execution) -> str:
    """Return the output of a program as the model sees it, and as `pot` is scored."""
    if execution.outcome in {"ok", "error"}:
        return execution.output
    why = _STOPPED.get(execution.outcome, f"The program was stopped ({execution.outcome}).")
    return f"{execution.output}\n{why}".lstrip("\n")


@cache
def runner_text(name: str) -> str:
    """Return the text of a runner, a module of this package that is never imported."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
