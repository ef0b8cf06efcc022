"""`tablebench generate llm` against a server: from tables to a folder, with yield and cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.folder import check_dataset, folder_datasets
from tests.support.following import priced
from tests.support.openai_server import Behaviour, OpenAIServer, error
from tests.support.own_folders import only

MODEL = "openai/gpt-4o"
PAIRS = {
    "Looking up one cell": [
        {"question": "How old is Ada?", "answer": "36"},
        {"question": "how old  is Ada?", "answer": "36"},
        {"question": "Is Bo 41, or how old?", "answer": "41"},
    ],
    "One number": [
        {"question": "What is the sum of all ages?", "answer": "77"},
        {"question": "What is the mean of all ages?", "answer": 38.5},
        {"question": "What is the greatest age, less the least?", "answer": "a few"},
    ],
    "A statement": "I would rather not.",
}


def said(body: dict[str, Any]) -> str:
    """What a model says: pairs to a kind of question, a low mark for one of the sums."""
    told, asked = (str(message["content"]) for message in body["messages"])
    if '"pairs"' in told:
        found = next(pairs for kind, pairs in PAIRS.items() if kind in asked)
        return found if isinstance(found, str) else f"```json\n{json.dumps({'pairs': found})}\n```"
    strict = "keep it out" in told
    low = 4 if strict and "sum of all ages" in asked else 5
    return json.dumps({"accuracy": low, "relevance": 5, "coverage": 5})


def command(tmp_path: Path, server: OpenAIServer, out: str, *more: str) -> list[str]:
    (tmp_path / "ages.csv").write_text("name,age\nAda,36\nBo,41\n", encoding="utf-8")
    return [
        "generate", "llm", str(tmp_path / "ages.csv"), "-o", str(tmp_path / out),
        f"--model={MODEL}", f"--bench-api-base={server.url}",
        f"--bench-store=file://{tmp_path / 'answers'}", "--per-table=9",
        "--subtask=Table_Query,Table_General_Operations,Table_Fact_Checking", *more,
    ]  # fmt: skip


def test_tables_become_a_folder_of_what_both_discriminators_give_full_marks(
    tmp_path: Path,
    server: OpenAIServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one"))
    assert main(command(tmp_path, server, "mine", "--yes")) == 0
    out = capsys.readouterr().out
    # Three kinds of question, and for three pairs of each two marks.
    assert f"at most: {MODEL}: 21 questions, 0 in the answer store, 21 calls to pay" in out
    # Three calls for pairs; three pairs are whole, and each is marked twice.
    assert server.calls == 9
    assert "2 questions from 1 table" in out
    assert "by subtask: Table_Query 1, Table_General_Operations 1" in out
    assert "accepted: 2 of 7" in out
    for reason in (
        "duplicate 1",
        "answer in question 1",
        "marked down for accuracy 1",
        "answer is not a number 1",
        "reply is not JSON 1",
    ):
        assert reason in out
    # gpt-4o: $2.50 and $10 a million tokens.
    assert f"asked: 9 calls ({MODEL} 9), 1,800 tokens of prompts, 450 of replies, $0.0090" in out

    dataset = only(tmp_path / "mine")
    assert check_dataset(dataset, tmp_path / "mine").problems == ()
    rows = [
        json.loads(line)
        for line in (tmp_path / "mine/questions.jsonl").read_text("utf-8").splitlines()
    ]
    assert {(row["question"], row["answer"], row["metric"]) for row in rows} == {
        ("How old is Ada?", "36", "text"),
        ("What is the mean of all ages?", "38.5", "number"),
    }
    assert {row["tags"]["skill"] for row in rows} == {"TBO", "TCO"}

    # All is in the store, which machines share: the same questions cost nothing on another one,
    # and nobody has to say yes.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert main(command(tmp_path, server, "again")) == 0
    assert server.calls == 9
    assert "asked: 0 calls" in capsys.readouterr().out
    written = [(tmp_path / name / "questions.jsonl").read_bytes() for name in ("mine", "again")]
    assert written[0] == written[1]


def test_what_a_server_refuses_is_left_out(
    tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    refused: list[str] = []

    def refusing(body: dict[str, Any]) -> Behaviour:
        if "temperature" in body:
            refused.append("temperature")
            return error(400, "Unsupported parameter: 'temperature' is not supported.")
        if any(message["role"] == "system" for message in body["messages"]):
            refused.append("system")
            return error(400, "System role not supported")
        body["messages"] *= 2  # the turn of the system stands in that of the user
        return priced(said(body))

    server.decide = refusing
    assert main(command(tmp_path, server, "mine", "--yes", "--bench-param=temperature=0.3")) == 0
    out = capsys.readouterr().out
    # At most the three concurrent calls are refused for each reason; nine are answered.
    assert set(refused) == {"temperature", "system"}
    assert max(map(refused.count, refused)) <= 3
    assert server.calls == len(refused) + 9
    assert "2 questions from 1 table" in out
    assert out.count("temperature is left out from now on") == 1
    assert out.count("system is left out from now on") == 1


def scripted(tmp_path: Path, name: str, *lines: dict[str, str]) -> str:
    script = tmp_path / f"{name}.jsonl"
    script.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return f"tablebench/scripted:{script}"


def chinese(tmp_path: Path, *more: str) -> list[str]:
    """The command for one Chinese question, and one low mark that the second model gives."""
    (tmp_path / "tables").mkdir(exist_ok=True)
    (tmp_path / "tables/ages.csv").write_text("姓名,年龄\n阿达,36\n波,41\n", encoding="utf-8")
    pairs = [{"question": "阿达多大?", "answer": "36"}, {"question": "波多大?", "answer": "41"}]
    full = {"accuracy": 5, "relevance": 5, "coverage": 5}
    model = scripted(
        tmp_path, "model", {"match": "编写 2 道", "text": json.dumps({"pairs": pairs})}
    )
    first = scripted(tmp_path, "first", {"match": "唯一正确的答案", "text": json.dumps(full)})
    second = scripted(
        tmp_path,
        "second",
        {"match": "问题:波", "text": json.dumps({**full, "relevance": 3})},
        {"match": "挡在外面", "text": json.dumps(full)},
    )
    return [
        "generate", "llm", str(tmp_path / "tables"), "-o", str(tmp_path / "out"),
        f"--model={model}", f"--discriminator={first}", f"--discriminator={second}",
        "--per-table=2", "--subtask=Table_Query", "--bench-store=none", *more,
    ]  # fmt: skip


def test_nothing_is_asked_before_one_says_so_and_each_model_has_its_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(chinese(tmp_path)) == 0
    planned = capsys.readouterr().out.splitlines()
    for line, calls in zip(planned, ("1 call to", "2 calls to", "2 calls to"), strict=False):
        assert f", {calls} pay" in line
    assert planned[3] == "nothing was asked or written; add --yes to ask"
    assert not (tmp_path / "out").exists()
    assert main(chinese(tmp_path, "--yes")) == 0
    out = capsys.readouterr().out
    assert "1 question from 1 table" in out
    assert "rejected: marked down for relevance 1" in out
    assert "asked: 5 calls" in out
    assert ", without 5 replies that lack a count, price unknown" in out  # unknown is no zero
    (row,) = (tmp_path / "out/questions.jsonl").read_text("utf-8").splitlines()
    assert json.loads(row)["question"] == "阿达多大?"


def test_where_models_have_no_answer_that_is_said_and_no_folder_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = chinese(tmp_path, "--yes")
    scripted(tmp_path, "model", {"match": "道", "error": "auth"})
    assert main(given) == 2
    said = capsys.readouterr().err
    assert "no question could be made; rejected: no reply: auth 1; asked: 0 calls" in said
    assert "1 request without a reply" in said
    assert not list(folder_datasets(tmp_path / "out"))


def test_two_discriminators_at_most(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(chinese(tmp_path, "--discriminator=third")) == 2
    assert "name one or two models" in capsys.readouterr().err


PROVIDER = """
import json
from pytest_tablebench.models import Reply


class Clerk:
    def __init__(self, model, settings):
        self.model = model

    def complete(self, request):
        said = str(request.messages)
        if "1 to 5" in said or "discriminat" in said:
            return Reply(json.dumps({"accuracy": 5, "relevance": 5, "coverage": 5}))
        return Reply(json.dumps({"pairs": [{"question": "How old is Ada?", "answer": "36"}]}))


def pytest_tablebench_register_provider(register):
    register("clerk", Clerk)
"""


def test_a_provider_of_the_folders_conftest_makes_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conftest.py").write_text(PROVIDER, encoding="utf-8")
    (tmp_path / "ages.csv").write_text("name,age\nAda,36\nBo,41\n", encoding="utf-8")
    given = ["--model=clerk/own", "--subtask=Table_Query", "--per-table=1", "--bench-store=none"]
    assert main(["generate", "llm", "ages.csv", "-o", "out", "--yes", *given]) == 0
    assert "asked: 3 calls (clerk/own 3)" in capsys.readouterr().out
    assert "How old is Ada?" in (tmp_path / "out/questions.jsonl").read_text("utf-8")
