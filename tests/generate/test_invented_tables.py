"""Tables that a model invents: what is asked, what is refused and why, and the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.folder import check_dataset
from pytest_tablebench.generate.llm.prompts import invented, read_table, topics
from pytest_tablebench.generate.pair import RejectedError
from pytest_tablebench.tables.table import Table
from tests.support.openai_server import OpenAIServer
from tests.support.own_folders import only

MODEL = "openai/gpt-4o"
PORTS: dict[str, Any] = {
    "title": "Ports",
    "header": ["port", "sea", "ships"],
    "rows": [["Alba", "north", 12], ["Brig", "south", 8.5], ["Cove", "north", "-3"]],
}


def table(**changed: Any) -> str:
    return json.dumps(PORTS | changed)


def row(cell: object) -> list[list[object]]:
    return [*PORTS["rows"], ["Dale", "north", cell]]


def test_a_table_is_read_from_its_one_object() -> None:
    rows = (("Alba", "north", 12), ("Brig", "south", 8.5), ("Cove", "north", "-3"))
    assert read_table(f"```json\n{table()}\n```") == Table(("port", "sea", "ships"), rows, "Ports")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("| port | ships |", "reply is not JSON"),
        ("<table><tr><td>1</td></tr></table>", "reply is not JSON"),
        (table(name="../../x"), "reply is not a table"),
        (json.dumps([PORTS]), "reply is not a table"),
        (table(rows="port"), "reply is not a table"),
        (table(rows=[[1, 2, 3]] * 2), "table is too small or too large"),
        (table(rows=[[1, 2, 3]] * 31), "table is too small or too large"),
        (table(header=["a"]), "table is too small or too large"),
        (table(header=list(range(13))), "table is too small or too large"),
        (table(rows=[[1] * 1000] * 1000), "reply is too long"),
        (table(rows=[*PORTS["rows"], [1, 2]]), "rows of unequal length"),
        (table(rows=[*PORTS["rows"], "abc"]), "rows of unequal length"),
        (table(header=["port", "sea", " PORT"]), "two columns with one name"),
        (table(header=["port", "sea", 3]), "heading is neither text nor a number"),
        (table(header=["port", "sea", ""]), "heading is neither text nor a number"),
        (table(header=["port", "sea", "<b>ships</b>"]), "heading has HTML in it"),
        (table(header=["port", "sea", "=1"]), "heading is a formula"),
        (table(title="../../x"), "title names a path"),
        (table(title="..\\x"), "title names a path"),
        (table(title="T" * 121), "title is too long"),
        (table(title=None), "title is neither text nor a number"),
        (table(rows=row(None)), "cell is neither text nor a number"),
        (table(rows=row(True)), "cell is neither text nor a number"),
        (table(rows=row([1])), "cell is neither text nor a number"),
        (table(rows=row("?")).replace('"?"', "1e999"), "cell is neither text nor a number"),
        (table(rows=row("?")).replace('"?"', "NaN"), "reply is not JSON"),
        (table(rows=row("<script>alert(1)</script>")), "cell has HTML in it"),
        (table(rows=row("&lt;b&gt;")), "cell has HTML in it"),
        (table(rows=row("=HYPERLINK(1)")), "cell is a formula"),
        (table(rows=row("@SUM(A1)")), "cell is a formula"),
        (table(rows=row("+1+cmd|' /C calc'!A0")), "cell is a formula"),
        (table(rows=row("-2+3")), "cell is a formula"),
        (table(rows=row("\x1b[2J")), "cell has characters that cannot be shown"),
        (table(rows=row("a\u202eb")), "cell has characters that cannot be shown"),
        (table(rows=row("x" * 121)), "cell is too long"),
        (table(rows=row(10**400)), "cell is too long"),
        (table(rows=[*PORTS["rows"], ["Total", "all", 17]]), "summary row or column"),
    ],
)
def test_another_table_is_refused_with_its_reason(reply: str, reason: str) -> None:
    with pytest.raises(RejectedError) as raised:
        read_table(reply)
    assert str(raised.value) == f"invented: {reason}"


def test_tables_of_a_series_are_about_different_topics_in_the_language_asked_for() -> None:
    count = len(topics("en"))
    assert len(topics("zh")) == count
    sources = list(invented(model="m", count=count, seed=0, language="both"))
    steps = [source.step for source in sources if source.step is not None]
    asked = [str(step.messages[1].content) for step in steps]
    assert len(set(asked)) == count
    assert [("Table" in said, "表格" in said) for said in asked[:2]] == [
        (True, False),
        (False, True),
    ]
    # A plan expects a table of about the size that is asked for.
    assert all(6 <= len(read_table(step.expected).rows) <= 15 for step in steps)


HOSTILE = {
    2: table(title="../../x"),
    3: table(rows=row("=1+1")),
    4: table(rows=[[1] * 1000] * 1000),
    5: "I had rather not.",
    6: table(),  # as the first
}


def said(body: dict[str, Any]) -> str:
    """What a model says: tables by number, one question, full marks."""
    told, asked = (str(message["content"]) for message in body["messages"])
    if told.startswith("You invent"):
        number = int(asked.removeprefix("Table ").partition(" ")[0])
        return HOSTILE.get(number, table())
    if '"pairs"' in told:
        pair = {"question": "How many ships has Alba?", "answer": "12"}
        worse = {"question": "Is <img src=x onerror=alert(1)> it?", "answer": "8.5"}
        return json.dumps({"pairs": [pair, worse]})
    return json.dumps({"accuracy": 5, "relevance": 5, "coverage": 5})


def test_a_folder_without_any_table_of_ones_own(
    tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        "generate", "llm", "-o", str(tmp_path / "out"), f"--model={MODEL}", "--per-table=2",
        "--subtask=Table_Query", f"--bench-api-base={server.url}",
        f"--bench-store={tmp_path / 'answers'}",
    ]  # fmt: skip
    assert main(given) == 2
    assert "let the model invent some: --invent N" in capsys.readouterr().err
    assert main([*given, "--invent=6", "--yes"]) == 0
    out = capsys.readouterr().out
    # Six tables, each asked for pairs once, and of two pairs each two marks.
    assert f"at most: {MODEL}: 36 questions, 0 in the answer store, 36 calls to pay" in out
    # Six tables; pairs and two marks of the first and of the last, which are the same.
    assert server.calls == 6 + 3
    assert "1 question from 1 table" in out
    (left_out,) = [line for line in out.splitlines() if line.startswith("tables left out: ")]
    assert set(left_out.removeprefix("tables left out: ").split(", ")) == {
        "invented: title names a path 1",
        "invented: cell is a formula 1",
        "invented: reply is too long 1",
        "invented: reply is not JSON 1",
        "same as another 1",
    }
    assert "rejected: question has HTML in it 1" in out
    assert "$0.0090" in out  # 1,800 and 450 tokens at $2.50 and $10 a million
    dataset = only(tmp_path / "out")
    assert check_dataset(dataset, tmp_path / "out").problems == ()
    (file,) = (tmp_path / "out/tables").iterdir()
    assert file.name.startswith("invented-1-")
    assert file.read_text("utf-8") == (
        '"port","sea","ships"\nAlba,north,12\nBrig,south,8.5\nCove,north,-3\n'
    )
