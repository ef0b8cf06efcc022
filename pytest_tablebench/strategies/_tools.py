"""Tools: the model calls tools over the tables, and answers from their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

from pytest_tablebench.errors import OUT_OF_TURNS, ModelError, missing_package
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Limits, Step
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.serializers import Content, to_columns
from pytest_tablebench.serializers.content import ToolCall, ToolResult
from pytest_tablebench.serializers.program_tables import Columns, columns_of
from pytest_tablebench.strategies._programs import frame_names, observation, runner_text
from pytest_tablebench.strategies._replies import runnable
from pytest_tablebench.strategies.base import (
    Conversation,
    Said,
    Task,
    at_least,
    system_message,
)
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import SameTable
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.notices import notice

TURNS = 8
"""The default of the largest number of replies."""

MOST_CALLS = 16
"""Calls of one reply that are run."""

MOST_CHARACTERS, SHOWN = 4_000, 3_920
"""Characters of the longest result, and of a longer one that the model sees."""

SYSTEM = """\
You answer questions about tables. You see only which columns a table has; read and compute with \
the tools. You have {turns} replies. When you know the answer, reply without calling a tool: give \
{ask}, in the language of the question."""

LAST = "\n[Your next reply is the last one: answer without a tool.]"


@dataclass(frozen=True)
class ToolTables:
    """The tables of a question by name (`df`, `df2`, ...), for the runners of tools."""

    tables: Mapping[str, Columns]

    def step(self, runner: str, program: str, job: Mapping[str, Any]) -> Execute:
        """Return a program of the sandbox that finds each table as NAME.csv, and `job.json`."""
        size = sum(len(table.file) for table in self.tables.values()) >> 20
        memory = 1024 + 16 * size
        data: dict[str, bytes] = {f"{name}.csv": table.file for name, table in self.tables.items()}
        data["job.json"] = json.dumps({**job, "memory_mib": memory // 2}).encode()
        limits = Limits(10 + size / 2, 30 + size, memory, 100_000, 64 + size)
        return Execute(program, data, limits, runner=runner)


@dataclass(frozen=True)
class Tool:
    """A tool that a model may call.

    Arguments:
        name: as the model calls it.
        description: what it does, for the model.
        arguments: the JSON schema of each argument; all are required.
        run: returns the program of a call, given the tables, its arguments, and the arguments of
            earlier calls of this tool.
        package: a package that it needs; without it the tool is not offered.
        extra: the extra of this package that installs it.
    """

    name: str
    description: str
    arguments: Mapping[str, Mapping[str, Any]]
    run: Callable[[ToolTables, Mapping[str, Any], Sequence[Mapping[str, Any]]], Execute]
    package: str = ""
    extra: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as OpenAI's protocol describes it."""
        properties = {name: dict(schema) for name, schema in self.arguments.items()}
        parameters = {"type": "object", "properties": properties, "required": [*properties]}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    @property
    def is_installed(self) -> bool:
        """Whether its package is installed; otherwise a notice says how to install it."""
        if not self.package or find_spec(self.package) is not None:
            return True
        notice(f"the tool {missing_package(self.name, self.package, self.extra)}")
        return False

    def read(self, written: str) -> dict[str, Any]:
        """Return the arguments of a call. Raises `ValueError` with the fault."""
        try:
            values = parsed_json(written or "{}")
        except (ValueError, RecursionError):
            raise ValueError("the arguments are not JSON") from None
        if not isinstance(values, dict):
            raise ValueError("the arguments are not a JSON object")
        if values.keys() != self.arguments.keys():
            raise ValueError(f"it takes the arguments {', '.join(self.arguments)}, and no others")
        for name, schema in self.arguments.items():
            kind = {"string": str, "integer": int, "number": float | int}.get(
                schema["type"], object
            )
            if isinstance(values[name], bool) or not isinstance(values[name], kind):
                raise ValueError(f"{name} must be of the type {schema['type']}")
        return values


def _over_tables(name: str) -> Callable[..., Execute]:
    def run(tables: ToolTables, arguments: Mapping[str, Any], _: object) -> Execute:
        facts = {n: {"file": f"{n}.csv", "types": t.types} for n, t in tables.tables.items()}
        job = {"tool": name, "arguments": arguments, "tables": facts}
        text = arguments["sql"] if name == "query" else json.dumps(arguments)
        return tables.step(runner_text("_table_tools.py"), text, job)

    return run


def _python(
    tables: ToolTables, arguments: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]]
) -> Execute:
    job = {
        "kind": "icot",
        "compat": "fixed",
        "tables": {name: [f"{name}.csv", 1] for name in tables.tables},
        "earlier": [runnable(call["code"], "fixed") for call in earlier],
    }
    return tables.step(runner_text("_runner.py"), runnable(arguments["code"], "fixed"), job)


_TABLE = {"type": "string", "description": "The name of the table."}

TOOLS: tuple[Tool, ...] = (
    Tool(
        "rows",
        "Return rows of a table by number, from 0.",
        {
            "table": _TABLE,
            "start": {"type": "integer", "description": "The number of the first row."},
            "count": {"type": "integer", "description": "How many rows."},
        },
        _over_tables("rows"),
    ),
    Tool(
        "search",
        "Return the rows of a table in which a cell contains a text, whatever its case.",
        {"table": _TABLE, "text": {"type": "string", "description": "The text."}},
        _over_tables("search"),
    ),
    Tool(
        "query",
        "Run one SQL query of DuckDB. Each table can be queried by its name.",
        {"sql": {"type": "string", "description": "The query."}},
        _over_tables("query"),
        "duckdb",
        "sql",
    ),
    Tool(
        "python",
        "Run Python and return what it prints, or the value of its last expression. Each table is "
        "a pandas data frame with its name; pandas is `pd`, numpy is `np`. Variables are kept.",
        {"code": {"type": "string", "description": "The code."}},
        _python,
    ),
)
"""The tools of the strategy `tools`."""


class Tools:
    """The model sees the columns of the tables, calls tools, and answers.

    A package offers other tools by registering `Tools("mine", (*TOOLS, Tool(...)))`.
    """

    serializer = "columns"
    parameters: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"turns": at_least(1)}

    def __init__(self, name: str = "tools", tools: Sequence[Tool] = TOOLS) -> None:
        self.name = name
        self.tools = {tool.name: tool for tool in tools}
        self.measures = (
            "turns",
            "calls",
            "failed_calls",
            *(f"calls_{name}" for name in self.tools),
        )

    def rounds(self, params: Mapping[str, Any]) -> tuple[int, int]:
        """Return the smallest and the largest number of replies."""
        return 1, params.get("turns", TURNS)

    def converse(self, task: Task) -> Conversation:
        """Ask, run the calls of each reply, and return the first reply without a call."""
        turns = task.params.get("turns", TURNS)
        # A perturbation may hide the tables.
        visible = [table for table in task.tables if task.show is None or task.show(table)]
        names = {id(table): name for name, table in frame_names(visible, "fixed").items()}
        tables = ToolTables({names[id(table)]: columns_of(SameTable(table)) for table in visible})
        offered = {name: tool for name, tool in self.tools.items() if tool.is_installed}
        calls = _Calls(offered, tables)
        instruction = SYSTEM.format(turns=turns, ask=task.form.ask)

        def show(table: Table) -> Content:
            name = names.get(id(table))
            return "" if name is None else f"The table `{name}`: {to_columns(table)}"

        user = Message("user", task.rewritten(show))
        messages = (*system_message(task.form, instruction), user)
        schemas = tuple(tool.schema for tool in offered.values())
        missing = tuple(f"without_{name}" for name in self.tools if name not in offered)
        for turn in range(1, turns + 1):
            reply: Reply = yield Ask(messages, tools=schemas)
            if not reply.calls:
                flags = ("tool_failed",) * (calls.counts["failed_calls"] > 0)
                calls.counts["turns"] = turn
                figures = {name: float(count) for name, count in calls.counts.items()}
                return Said(reply.text, (*flags, *missing), figures)
            if turn == turns:
                break
            last = LAST if turn == turns - 1 else ""
            messages = (*messages, reply.turn, *(yield from calls.results(reply.calls, last)))
        raise ModelError(
            f"the last of {turns} replies calls a tool instead of answering", reason=OUT_OF_TURNS
        )


class _Calls:
    """Runs the calls of one conversation, and counts them."""

    def __init__(self, tools: Mapping[str, Tool], tables: ToolTables) -> None:
        self._tools = tools
        self._tables = tables
        self._earlier: dict[str, list[Mapping[str, Any]]] = {name: [] for name in tools}
        by_tool = (f"calls_{name}" for name in tools)
        self.counts = dict.fromkeys(("turns", "calls", "failed_calls", *by_tool), 0)

    def results(
        self, calls: Sequence[ToolCall], last: str
    ) -> Generator[Step, Execution, list[Message]]:
        """Return the results of a reply's calls, one message each, the last with a note."""
        messages = []
        for index, call in enumerate(calls):
            self.counts["calls"] += 1
            try:
                if index >= MOST_CALLS:
                    raise ValueError(f"only the first {MOST_CALLS} calls of a reply are run")
                text = yield from self._result(call)
            except ValueError as error:
                self.counts["failed_calls"] += 1
                text = f"Error: {error}"
            if len(text) > MOST_CHARACTERS:
                count = f"{SHOWN:,} of {len(text):,}"
                text = f"{text[:SHOWN]}\n[cut: the first {count} characters are shown]"
            note = last if index == len(calls) - 1 else ""
            messages.append(Message("tool", (ToolResult(call.id, text + note),)))
        return messages

    def _result(self, call: ToolCall) -> Generator[Step, Execution, str]:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ValueError(f"there is no tool of this name; there are {', '.join(self._tools)}")
        self.counts[f"calls_{tool.name}"] += 1
        arguments = tool.read(call.arguments)
        earlier = self._earlier[tool.name]
        ran = yield tool.run(self._tables, arguments, earlier)
        earlier.append(arguments)
        if ran.outcome == "ok":
            return ran.output or "[no output]"
        self.counts["failed_calls"] += 1
        return observation(ran)
