"""A judge about gold answers: in both orders, blind, and only if it may be paid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_tablebench.audit.asking import questions, with_verdicts
from pytest_tablebench.audit.ranking import Audit, audit_runs, preferred_answer
from pytest_tablebench.cli import main
from pytest_tablebench.errors import ModelError
from tests.audit.audit_runs import write_starter_run
from tests.support.runs import examples


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return three runs whose models agree against the first three golds of twenty."""
    folder = tmp_path_factory.mktemp("asking")
    pairs = [
        (example, f"wrong {number}" if number < 3 else ", ".join(example.references))
        for number, example in enumerate(examples(20))
    ]
    return [write_starter_run(folder / name, pairs) for name in "abc"]


@pytest.fixture(scope="module")
def plain(runs: list[Path]) -> Audit:
    return audit_runs(runs)


def test_only_suspects_with_another_answer_are_asked_about(plain: Audit) -> None:
    chosen = list(questions(plain))
    assert len(chosen) == 3
    assert {question.answer for question in chosen} == {"wrong 0", "wrong 1", "wrong 2"}
    assert len(list(questions(plain, top=2))) == 2


def test_the_prompts_differ_only_in_the_order(plain: Audit) -> None:
    question = next(questions(plain))
    gold = ", ".join(question.suspect.gold)
    prompts = [
        next(question.ask(*answers)).messages[0].content
        for answers in ((gold, question.answer), (question.answer, gold))
    ]
    assert question.suspect.question in prompts[0]
    assert "<table" in prompts[0]
    assert prompts[0].partition("First answer")[0] == prompts[1].partition("First answer")[0]
    for prompt in prompts:
        assert "gold" not in prompt.split("Question:")[1]
    assert f"First answer: {gold}" in prompts[0]
    assert f"Second answer: {gold}" in prompts[1]


def converse(question, *replies: str):
    """Drive the conversation with a reply in each order."""
    conversation = question.converse()
    outcomes = []
    for child, reply in zip(next(conversation), replies, strict=True):
        next(child)
        try:
            child.send(type("Reply", (), {"text": reply}))
        except StopIteration as end:
            outcomes.append(end.value)
        except Exception as error:
            outcomes.append(error)
    try:
        conversation.send(outcomes)
    except StopIteration as end:
        return end.value


def right(name: str) -> str:
    return json.dumps({"right": name})


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        (("first", "second"), "first"),
        (("second", "first"), "second"),
        (("both", "both"), "both"),
        (("neither", "neither"), "neither"),
        (("first", "first"), "the orders disagree"),
        (("second", "both"), "the orders disagree"),
        (("second", "maybe"), "no usable reply"),
    ],
)
def test_verdicts_in_both_orders(replies: tuple[str, str], outcome: str, plain: Audit) -> None:
    question = next(questions(plain))
    assert converse(question, *map(right, replies)) == outcome


def test_verdicts_change_the_ranking(plain: Audit) -> None:
    chosen = list(questions(plain))
    outcomes = ["first", "the orders disagree", "second"]
    judged, counts = with_verdicts(plain, chosen, outcomes, "judge")
    names = [question.suspect.example_id for question in chosen]
    suspicion = {suspect.example_id: suspect.suspicion for suspect in judged.suspects}
    before = {suspect.example_id: suspect.suspicion for suspect in plain.suspects}
    assert suspicion[names[0]] < before[names[0]]
    assert suspicion[names[1]] == before[names[1]]
    assert suspicion[names[2]] > before[names[2]]
    assert judged.suspects[0].example_id == names[2]
    assert counts == {"first": 1, "second": 1, "the orders disagree": 1}
    failed, counts = with_verdicts(plain, chosen, [ModelError("x", reason="timeout")] * 3, "judge")
    assert counts == {"no usable reply": 3}
    assert failed.suspects == plain.suspects


def test_the_command_asks_only_with_yes(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "judge.jsonl"
    # This judge always prefers the answer that stands first.
    script.write_text(json.dumps({"default": right("first")}) + "\n")
    ask = ["--ask", f"tablebench/scripted:{script}", "--bench-store", "none"]
    assert main(["audit", *map(str, runs), *ask]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "6 questions, 0 in the answer store, 6 calls to pay" in lines[-2]
    assert lines[-1] == "nothing was asked; add --yes to ask"
    assert main(["audit", *map(str, runs), *ask, "--yes", "--ask-top", "2"]) == 0
    output = capsys.readouterr().out
    assert "the orders disagree 2" in output
    assert "asked: 4 calls" in output


def test_the_preferred_answer_has_most_weight(plain: Audit) -> None:
    assert preferred_answer(plain.suspects[0].evidence) in {"wrong 0", "wrong 1", "wrong 2"}
    assert preferred_answer(()) is None
