"""`tablebench generate adversarial` against a server: rounds, votes, counts, cost, and a kill."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.folder import check_dataset
from pytest_tablebench.generate.llm.proposing import COMPARED, AttackedQuestion, ProposedQuestions
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.tables.table import Table
from tests.support.following import expected_steps, pairs_of, priced
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.own_folders import only
from tests.support.runs import until

MODEL = "openai/gpt-4o"
COMMAND = "import sys; from pytest_tablebench.cli import main; sys.exit(main())"
HOLDS = {"answerable": True, "unique": True, "correct": True, "fault": ""}

PROPOSED = {
    "Looking up one cell": [
        ("How old is Ada?", "36"),
        ("Who is 41?", "Bo"),
        ("Who is nice?", "Bo"),
        ("How old is Bo?", "14"),
    ],
    "One number": [
        ("What is the sum of all ages?", "118"),
        ("What is the mean height?", "170"),
        ("What is the greatest age?", "41"),
        ("What is the mean of all ages?", "39"),
    ],
}
FAULTS = {
    "Who is 41?": ("unique", "Bo and Cy are."),
    "Who is nice?": ("answerable", "Nothing is said of that."),
    "Who is nicer?": ("answerable", "Still nothing."),
    "Who is nicest?": ("answerable", "Nor of that."),
    "What is the mean of all ages?": ("correct", "It is 39.33."),
}
REVISED = {
    "Who is 41?": [("Who is the youngest?", "Ada")],
    "Who is nice?": [("Who is nicer?", "Bo")],
    "Who is nicer?": [("Who is nicest?", "Bo")],
    "What is the mean of all ages?": [("How old is Ada in years?", "36"), ("Who is 36?", "Ada")],
}
SOLVED: dict[str, Sequence[str | None]] = {
    "How old is Ada?": ("36", "36", "36"),
    "Who is the youngest?": ("Ada", "prose", "ada"),  # the second one has no vote
    "How old is Bo?": ("41", "14", "41"),
    "What is the sum of all ages?": ("118", "77", "119"),
    "What is the mean height?": (None, "170", None),
}
WAYS = ("First find the columns", "Go through the table row by row", "Work the answer out twice")


def pairs(found: Sequence[tuple[str, str]]) -> str:
    return json.dumps({"pairs": [{"question": q, "answer": a} for q, a in found]})


def block(value: object) -> str:
    return f"I looked at it.\n```json\n{json.dumps(value)}\n```"


def question(body: dict[str, Any], place: int = -1) -> str:
    return str(body["messages"][place]["content"]).rsplit("Question: ", 1)[1].split("\n")[0]


def said(body: dict[str, Any]) -> str:
    """What a model says to one of the four kinds of messages."""
    told, asked = (str(message["content"]) for message in body["messages"][:2])
    if told.startswith("Somebody wrote a question"):
        name = question(body)
        if name == "What is the greatest age?":
            return "It withstands."
        point, fault = FAULTS.get(name, ("", ""))
        return block(HOLDS | ({point: False, "fault": fault} if point else {}))
    if told.startswith("You are shown a table and a question"):
        way = next(number for number, way in enumerate(WAYS) if way in told)
        answer = SOLVED[question(body)][way]
        return "I would say Ada." if answer == "prose" else block({"answer": answer})
    if len(body["messages"]) > 2:
        (pair,) = json.loads(body["messages"][-2]["content"])["pairs"]
        return pairs(REVISED[pair["question"]])
    return pairs(next(found for kind, found in PROPOSED.items() if kind in asked))


def command(tmp_path: Path, server: OpenAIServer, *more: str) -> list[str]:
    (tmp_path / "ages.csv").write_text("name,age\nAda,36\nBo,41\nCy,41\n", encoding="utf-8")
    return [
        "generate", "adversarial", str(tmp_path / "ages.csv"), "-o", str(tmp_path / "out"),
        f"--model={MODEL}", f"--bench-api-base={server.url}",
        f"--bench-store={tmp_path / 'answers'}", *more,
    ]  # fmt: skip


BOTH = ("--per-table=8", "--subtask=Table_Query,Table_General_Operations")


def test_what_withstands_the_critic_is_kept_with_the_answer_of_most_solvers(
    tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(tmp_path, server, *BOTH, "--yes")) == 0
    out = capsys.readouterr().out
    # Two kinds; each of eight questions has three attacks, two revisions and three solvers.
    assert f"at most: {MODEL}: 66 questions, 0 in the answer store, 66 calls to pay" in out
    # 2 for pairs; by question 1+3, 1+1+1+3, 3+2, 1+3, 1+3, 1+3, 1, 1+1.
    assert server.calls == 2 + 4 + 6 + 5 + 4 + 4 + 4 + 1 + 2
    assert server.repeated == []
    assert "3 questions from 1 table" in out
    assert "accepted: 3 of 8" in out
    (rejected,) = [line for line in out.splitlines() if line.startswith("rejected: ")]
    assert set(rejected.removeprefix("rejected: ").split(", ")) == {
        "not answerable after 3 turns 1",
        "solvers do not agree 1",
        "solvers find no answer 1",
        "reply is not JSON 1",
        "revision is not one question 1",
    }
    (course,) = [line for line in out.splitlines() if line.startswith("steps: ")]
    assert set(course.removeprefix("steps: ").split(", ")) == {
        "accepted in turn 1 2",
        "accepted in turn 2 1",
        "answer of the solvers 1",
        "found not unique 1",
        "found not answerable 3",
        "found not correct 1",
        "solver without a vote 1",
    }
    # gpt-4o: $2.50 and $10 a million tokens.
    assert f"asked: 32 calls ({MODEL} 32), 6,400 tokens of prompts, 1,600 of replies, $0.0320" in (
        out
    )
    dataset = only(tmp_path / "out")
    assert check_dataset(dataset, tmp_path / "out").problems == ()
    lines = (tmp_path / "out/questions.jsonl").read_text("utf-8").splitlines()
    assert {
        (row["question"], row["answer"], row["tags"]["turns"], row["tags"]["answer_by"])
        for row in map(json.loads, lines)
    } == {
        ("How old is Ada?", "36", "1", "generator"),
        ("Who is the youngest?", "Ada", "2", "generator"),
        ("How old is Bo?", "41", "1", "solvers"),
    }
    check_transcripts([received.body["messages"] for received in server.requests])


def check_transcripts(bodies: Sequence[Sequence[dict[str, Any]]]) -> None:
    """The generator is told each fault in its turn, and no solver is told an answer."""
    (longest,) = [messages for messages in bodies if len(messages) == 6]
    assert [message["role"] for message in longest] == [
        "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    told = (
        "A critic found that it is not answerable: {}\n"
        "Mend the question or the answer, or write another question of this kind. Write one JSON "
        "object of the same form, with one pair, and nothing else."
    )
    assert [message["content"] for message in longest[2:]] == [
        '{"pairs": [{"question": "Who is nice?", "answer": "Bo"}]}',
        told.format("Nothing is said of that."),
        '{"pairs": [{"question": "Who is nicer?", "answer": "Bo"}]}',
        told.format("Still nothing."),
    ]
    solving = [
        messages[1]["content"]
        for messages in bodies
        if str(messages[0]["content"]).startswith("You are shown a table and a question")
        and "How old is Bo?" in str(messages[1]["content"])
    ]
    # Each of three solvers is shown the table in a format of its own, and not the answer 14.
    assert sorted(text.partition("\n")[2].partition("\n")[0][:11] for text in solving) == [
        "<table>", "name,age", "|name|age|",
    ]  # fmt: skip
    assert not any("14" in text for text in solving)


def test_each_part_has_the_model_that_is_named_for_it() -> None:
    asked: dict[str, list[str]] = {}

    def reply_to(step: Ask) -> str:
        told = str(step.messages[0].content).strip()
        asked.setdefault(str(step.model), []).append(told.partition(" ")[0])
        body = {"messages": [{"content": message.content} for message in step.messages]}
        return said(body)

    maker = ProposedQuestions(
        AttackedQuestion("generator", "critic", ["one", "two", "three"]),
        made="adversarial",
        model="generator",
        per_table=1,
        subtasks=["Table_Query"],
    )
    pairs = pairs_of(maker, Table(("name", "age"), (("Ada", "36"),)), reply_to)
    assert [pair.question for pair in pairs] == ["How old is Ada?"]
    assert asked == {
        "generator": ["You"], "critic": ["Somebody"], "one": ["You"], "two": ["You"],
        "three": ["You"],
    }  # fmt: skip
    assert maker.tally.rejected == {"more than asked for": 3}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_plan_expects_all_that_may_be_asked_of_every_subtask(language: str) -> None:
    maker = ProposedQuestions(
        AttackedQuestion("generator", "critic", ["one", "two", "three"]),
        made="adversarial",
        model="generator",
        subtasks=COMPARED,
        per_table=2 * len(COMPARED),
        language=language,
    )
    steps = Counter(step.model for step in expected_steps(maker, Table(("a",), (("1",),))))
    # A call for pairs for each subtask; of each of two questions in it two revisions, three
    # attacks and three solvers.
    questions = 2 * len(COMPARED)
    assert steps == {
        "generator": len(COMPARED) + 2 * questions, "critic": 3 * questions,
        "one": questions, "two": questions, "three": questions,
    }  # fmt: skip


def test_a_revision_may_mend_the_answer_alone_but_not_become_another_question() -> None:
    proposed = [("Who is 41?", "Ada"), ("Who is 36?", "Ada"), ("Who is the oldest?", "Ada")]
    revised = {
        "Who is 41?": [("Who is 41?", "Bo")],
        "Who is the oldest?": [("Who is 36?", "Ada")],
    }

    def reply_to(step: Ask) -> str:
        told, asked = (str(message.content) for message in step.messages[:2])
        if told.startswith("Somebody wrote a question"):
            body = {"messages": [{"content": asked}]}
            is_wrong = "Answer: Ada" in asked and question(body) in revised
            return block(HOLDS | ({"correct": False, "fault": "No."} if is_wrong else {}))
        if told.startswith("You are shown a table and a question"):
            return block({"answer": "Bo" if "41" in asked.rpartition("Question")[2] else "Ada"})
        if len(step.messages) > 2:
            (pair,) = json.loads(str(step.messages[-2].content))["pairs"]
            return pairs(revised[pair["question"]])
        return pairs(proposed)

    maker = ProposedQuestions(
        AttackedQuestion("g", "c", ["s"] * 3), made="adversarial", model="g",
        subtasks=["Table_Query"], per_table=3,
    )  # fmt: skip
    made = pairs_of(maker, Table(("name", "age"), (("Ada", "36"), ("Bo", "41"))), reply_to)
    assert [(pair.question, pair.answers) for pair in made] == [
        ("Who is 41?", ("Bo",)),
        ("Who is 36?", ("Ada",)),
    ]
    assert maker.tally.rejected == {"duplicate": 1}


def test_at_most_three_solvers(
    tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(tmp_path, server, *["--solver=a"] * 4)) == 2
    assert "name one to three models" in capsys.readouterr().err
    assert main(command(tmp_path, server, "--subtask=Table_Summary")) == 2
    assert "--subtask: unknown subtask 'Table_Summary'" in capsys.readouterr().err


def test_a_killed_command_goes_on_and_pays_nothing_twice(
    tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    held, opened = threading.Event(), threading.Event()

    def decide(body: dict[str, Any]) -> Behaviour:
        if "write 1 of that kind" in body["messages"][0]["content"] and len(body["messages"]) == 2:
            return text(pairs([("Who is 41?", "Bo")]))
        if len(body["messages"]) == 2 or opened.is_set():
            return priced(said(body))
        held.set()
        return replace(priced(said(body)), after=opened, answer=False)

    server.decide = decide
    given = command(tmp_path, server, "--per-table=1", "--subtask=Table_Query", "--yes")
    with subprocess.Popen([sys.executable, "-c", COMMAND, *given]) as process:
        try:
            until(held.is_set, "the revision to be asked for")
        finally:
            process.kill()
    opened.set()
    assert server.calls == 3  # pairs, an attack, and the revision that nobody waits for
    assert not (tmp_path / "out/questions.jsonl").exists()
    assert main(given) == 0
    # The revision again, if nobody kept its reply, its attack, and three solvers.
    assert server.calls in {7, 8}
    assert f"asked: {server.calls - 3} calls" in capsys.readouterr().out
    assert server.repeated == []
    (row,) = (tmp_path / "out/questions.jsonl").read_text("utf-8").splitlines()
    assert json.loads(row)["question"] == "Who is the youngest?"
