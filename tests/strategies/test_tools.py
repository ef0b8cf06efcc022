"""Tools: what the model sees of tables and results, and what each odd reply comes to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_tablebench.errors import OUT_OF_TURNS, ModelError
from pytest_tablebench.metrics.steps import Ask, Execute, Execution
from pytest_tablebench.models import Reply
from pytest_tablebench.models.base import as_openai
from pytest_tablebench.serializers.content import ToolCall
from pytest_tablebench.strategies import TOOLS, Said, Tool, Tools, ToolTables
from pytest_tablebench.tables.table import Table
from tests.strategies.driving import PEOPLE, task
from tests.support.sandboxes import shared_sandbox

Turn = str | list[tuple[str, Any]]


def talk(
    turns: list[Turn], *tables: Table, tools: Tools | None = None, **given: Any
) -> tuple[Ask, Said]:
    """The last question of a conversation with these replies, and its answer."""
    conversation = (tools or Tools()).converse(task(*(tables or (PEOPLE,)), **given))
    replies, step = iter(turns), next(conversation)
    last = step
    try:
        while True:
            outcome: Reply | Execution
            if isinstance(step, Ask):
                last, turn = step, next(replies)
                calls = () if isinstance(turn, str) else tuple(
                    ToolCall(f"c{n}", name, text if isinstance(text, str) else json.dumps(text))
                    for n, (name, text) in enumerate(turn)
                )  # fmt: skip
                outcome = Reply(turn if isinstance(turn, str) else "", calls=calls)
            else:
                outcome = shared_sandbox().run(step)
            step = conversation.send(outcome)
    except StopIteration as end:
        assert isinstance(last, Ask)
        return last, end.value


def result_of(name: str, arguments: object, *tables: Table) -> str:
    """What the model sees of one call."""
    asked, _ = talk([[(name, arguments)], "41"], *tables)
    return str(asked.messages[-1].content[0])


def test_the_model_sees_columns_and_never_all_cells() -> None:
    table = Table(["Name", "Name", ""], [[f"n{n}", n, None] for n in range(50)], title="People")
    asked, said = talk(["41"], table)
    assert asked.messages[-1].content == (
        "<The table `df`: People\n50 rows, 3 columns, 401 bytes as CSV. Columns:\n"
        "- Name (text): n0, n1, n2, ...\n- Name 2 (integer): 0, 1, 2, ...\n"
        "- column 3 (text), empty>\nHow old is Bo?"
    )
    assert [tool["function"]["name"] for tool in asked.tools] == [
        *("rows", "search", "query", "python")
    ]
    assert said.parts["turns"] == 1


def test_a_table_that_a_perturbation_hides_is_in_no_reach() -> None:
    asked, _ = talk([[("rows", {"table": "df", "start": 0, "count": 9})], "41"], show=lambda _: "")
    assert "no table 'df'" in str(asked.messages[-1].content[0])


CALLS: list[tuple[str, Any, str]] = [
    ("rows", {"table": "df", "start": 1, "count": 5}, "row,Name,Age\n1,Bo,41\n"),
    ("rows", {"table": "df", "start": 7, "count": 5}, "row,Name,Age\n[no rows]"),
    ("search", {"table": "df", "text": "ADA"}, "row,Name,Age\n0,Ada,36\n"),
    ("query", {"sql": "SELECT sum(Age) AS s FROM df"}, "s\n77\n"),
    ("python", {"code": "df.Age.max()"}, "41\n"),
    ("rows", {"table": "x", "start": 0, "count": 1}, "ValueError: no table 'x'; there are df"),
    ("rows", "{", "Error: the arguments are not JSON"),
    ("rows", "[1]", "Error: the arguments are not a JSON object"),
    ("rows", {"table": "df"}, "Error: it takes the arguments table, start, count, and no others"),
    (
        "rows",
        {"table": "df", "start": True, "count": 1},
        "Error: start must be of the type integer",
    ),
    ("drop", {}, "Error: there is no tool of this name; there are rows, search, query, python"),
]


@pytest.mark.parametrize(("name", "arguments", "result"), CALLS)
def test_each_call_has_one_result(name: str, arguments: object, result: str) -> None:
    assert result_of(name, arguments) == result


def test_long_results_are_cut_and_say_so() -> None:
    long = Table(["n"], [[f"cell number {n}"] for n in range(5000)])
    for name, arguments, end in (
        ("rows", {"table": "df", "start": 0, "count": 5000}, "of 5,000 rows are shown]"),
        ("query", {"sql": "SELECT * FROM df"}, "of 5,000 rows are shown]"),
        ("python", {"code": "print('x' * 9000)"}, "of 9,001 characters are shown]"),
    ):
        result = result_of(name, arguments, long)
        assert result.endswith(end)
        assert "[cut: the first " in result
        assert len(result) <= 4000


def test_calls_of_one_turn_are_run_in_order_and_variables_are_kept() -> None:
    asked, said = talk([[("python", {"code": "x = 40"}), ("python", {"code": "x + 1"})], "41"])
    assert [str(message.content[0]) for message in asked.messages[-2:]] == ["[no output]", "41\n"]
    assert [
        (turn["role"], turn.get("tool_call_id")) for turn in as_openai(asked.messages)[-3:]
    ] == [*(("assistant", None), ("tool", "c0"), ("tool", "c1"))]
    assert said == Said("41", parts={
        "turns": 2.0, "calls": 2.0, "failed_calls": 0.0, "calls_rows": 0.0, "calls_search": 0.0,
        "calls_query": 0.0, "calls_python": 2.0,
    })  # fmt: skip


def test_calls_without_end_are_no_answer() -> None:
    look: Turn = [("search", {"table": "df", "text": "bo"})]
    with pytest.raises(ModelError) as failed:
        talk([look, look], params={"turns": 2})
    assert failed.value.reason == OUT_OF_TURNS


def test_more_calls_than_are_run_in_a_turn_say_so() -> None:
    asked, said = talk([[("nope", {})] * 17, "41"])
    assert "only the first 16 calls" in str(asked.messages[-1].content[0])
    assert said.parts["failed_calls"] == 17


def test_a_package_offers_a_tool_of_its_own() -> None:
    def run(tables: ToolTables, arguments: Any, _: Any) -> Execute:
        return tables.step("print(program.upper(), end='')", arguments["text"], {})

    loud = Tool("loud", "Say it loud.", {"text": {"type": "string"}}, run)
    asked, said = talk([[("loud", {"text": "bo"})], "41"], tools=Tools("mine", (*TOOLS, loud)))
    assert str(asked.messages[-1].content[0]) == "BO"
    assert said.parts["calls_loud"] == 1


def test_without_a_package_its_tool_is_not_offered(caplog: pytest.LogCaptureFixture) -> None:
    absent = Tool("absent", "", {}, TOOLS[0].run, "no_such_package", "sql")
    asked, said = talk(["41"], tools=Tools("mine", (absent,)))
    assert asked.tools == ()
    assert said.flags == ("without_absent",)
    assert "pip install 'pytest-tablebench[sql]'" in caplog.text


SECRET = "/etc/hostname"
QUERIES = [
    f"SELECT * FROM read_csv('{SECRET}')",
    f"SELECT * FROM read_text('{SECRET}')",
    f"SELECT * FROM '{SECRET}'",
    "SELECT * FROM read_text('job.json')",
    "SELECT * FROM 'df.csv'",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM read_csv('http://127.0.0.1/x.csv')",
    f"COPY df TO '{SECRET}.csv'",
    "COPY df TO 'out.csv'",
    f"COPY df FROM '{SECRET}'",
    "EXPORT DATABASE 'out'",
    f"ATTACH '{SECRET}' AS other",
    "ATTACH ':memory:other.db' AS o; COPY FROM DATABASE memory TO o; ATTACH 'o.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "FORCE INSTALL spatial FROM community",
    "SET enable_external_access = true",
    "RESET enable_external_access",
    "SET memory_limit = '100GB'",
    "SET threads = 64",
    "SET lock_configuration = false",
    "PRAGMA database_list; SELECT * FROM read_blob('/proc/self/environ')",
    "SELECT getenv('HOME')",
    "SELECT * FROM job",
    "SELECT * FROM duckdb_secrets(); CREATE SECRET s (TYPE s3)",
    "SELECT count(*) FROM range(1000000000000) t(a), range(1000) u(b)",
    "SELECT string_agg(repeat('x', 1000000), '') FROM range(100000)",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
]
CODES = [
    f"open('{SECRET}').read()",
    "open('/etc/passwd').read()",
    "import os; os.listdir('/')",
    "import os; os.listdir('/tmp')",
    "import socket; socket.create_connection(('127.0.0.1', 80), 1)",
    "import subprocess; subprocess.run(['ls'])",
    "import os; os.fork()",
    "import os; print(open('/proc/1/environ').read())",
    "import duckdb; duckdb.sql(\"SELECT * FROM read_text('/etc/passwd')\").fetchall()",
    "import sqlite3; sqlite3.connect('/tmp/x.db').execute('CREATE TABLE a (b)')",
    "while True: pass",
    "x = 'a' * (1 << 34)",
]


@pytest.mark.parametrize(
    ("name", "text"), [*(("query", q) for q in QUERIES), *(("python", c) for c in CODES)]
)
def test_a_hostile_argument_reaches_nothing(name: str, text: str) -> None:
    argument = {"sql" if name == "query" else "code": text}
    step = next(tool for tool in TOOLS if tool.name == name)
    conversation = Tools().converse(task(PEOPLE))
    next(conversation)
    execute = conversation.send(Reply("", calls=(ToolCall("c", step.name, json.dumps(argument)),)))
    assert isinstance(execute, Execute)
    quick = Execute(
        execute.program,
        execute.files,
        type(execute.limits)(cpu_s=2, wall_s=4, output_bytes=100_000),
        runner=execute.runner,
    )
    ran = shared_sandbox().run(quick)
    assert ran.outcome != "ok", ran.output
    assert "root:" not in ran.output
