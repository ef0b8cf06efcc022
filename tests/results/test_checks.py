"""Several tests of a case make one record, in any order of their messages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.results import read_records
from pytest_tablebench.results.message import (
    AnswerCost,
    CaseMessage,
    Finding,
    JoinedCase,
    MadeRecord,
    join_checks,
)
from pytest_tablebench.results.writer import RunWriter
from tests.support.present import present
from tests.support.run_folders import record

BASE, TONE = ("item-0", "test_base"), ("item-1", "test_tone")


def test_a_test_with_several_items_passes_only_if_all_its_items_pass() -> None:
    findings = [
        Finding("a", "kind", True),
        Finding("b", "kind", False, failed=True),
        Finding("c", "rude", True),
        Finding("d", "rude", None, failed=True),
        Finding("e", "both", True),
        Finding("f", "both", None),  # skipped
        Finding("g", "skipped", None),
    ]
    expected = {"both": True, "kind": False, "rude": None}
    assert join_checks(findings) == expected
    assert join_checks(reversed(findings)) == expected
    assert list(join_checks(reversed(findings))) == sorted(expected)


def test_the_last_attempt_of_an_item_counts() -> None:
    case = JoinedCase()
    case.add(Finding("a", "kind", False, failed=True, last=False), (0, 0, 0))
    assert case.finished == 0
    case.add(Finding("a", "kind", True), (1, 1, 0))
    assert (case.checks, case.finished) == ({"kind": True}, 1)
    assert case.unseen(right=True, gated=frozenset()) == []


@pytest.mark.parametrize(
    ("finding", "right", "judged", "unseen"),
    [
        (Finding("a", "t", False, failed=True), True, (), True),
        (Finding("a", "t", False, failed=True), True, ("t",), False),
        (Finding("a", "t", False, failed=True), False, (), False),  # the record counts it
        (Finding("a", "t", None, failed=True), True, ("t",), True),  # another test had an answer
        (Finding("a", "t", None, failed=True), False, (), False),
        (Finding("a", "t", None, failed=True, broken=True), False, ("t",), True),
        (Finding("a", "t", False, failed=True, broken=True), False, (), True),
        (Finding("a", "t", False), True, (), False),  # expected to fail
        (Finding("a", "t", True), True, (), False),
    ],
)
def test_failures_that_neither_the_record_nor_a_gate_counts_are_unseen(
    finding, right, judged, unseen
) -> None:
    case = JoinedCase({"a": finding})
    assert case.unseen(right=right, gated=frozenset(judged)) == (["t"] if unseen else [])


# In the process that writes the run


def message(
    finding: tuple[str, str],
    passed: bool | None,
    *,
    metric: str = "m",
    score: float = 1.0,
    **more: Any,
) -> CaseMessage:
    """Return an item's message about the case: an answer, and whether its test passed."""
    answered, paid, last = (more.get(name, True) for name in ("answered", "paid", "last"))
    sent = record(
        "e1", "html", "none", score if answered else None, metric=metric,
        reason=None if answered else "timeout", checks={finding[1]: passed},
        cost_usd=0.5 if paid else 0.0, from_store=not paid,
    )  # fmt: skip
    rank = int(answered), int(paid), -int(finding[0][-1])
    return CaseMessage(
        sent.case_id,
        "m",
        1,
        Finding(*finding, passed, passed is not True, False, last),
        MadeRecord(sent, rank),
        calls=int(paid),
        from_store=not paid,
        spent=AnswerCost(1, 1, 0.5),
    )


@pytest.fixture
def writer(tmp_path):
    run_writer = RunWriter(Settings(models=("m",)), {"m": tmp_path / "run"})
    run_writer.learn({"cases": {"m": 1}, "items": {"m": 2}})
    yield run_writer
    present(run_writer.model_runs["m"].folder).close()


def lines(writer: RunWriter) -> list[dict[str, Any]]:
    text = (writer.model_runs["m"].path / "records.jsonl").read_text("ascii")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("metric", "outcome", "score"), [("m", "right", 1), ("assertion", "wrong", 0)]
)
def test_two_tests_make_one_record_in_any_order(
    writer, is_reversed, metric, outcome, score
) -> None:
    messages = [
        message(BASE, True, metric=metric),
        message(
            TONE, False, metric=metric, score=0.0 if metric == "assertion" else 1.0, paid=False
        ),
    ]
    for sent in reversed(messages) if is_reversed else messages:
        writer.receive(sent)
    assert writer.complete("m")
    summary = summary_of(writer.finish(1, summary_of)["m"])["benchmarks"]["toys"]
    [line] = lines(writer)
    assert line["checks"] == {"test_base": True, "test_tone": False}
    assert (line["outcome"], line["score"], line["passed"]) == (outcome, score, score == 1)
    assert (line["cost_usd"], line["from_store"]) == (0.5, False)  # of the test that paid
    assert writer.counts == {"right": score, "wrong": 1 - score, "no_answer": 0, "scored": 0}
    assert (summary["pass_rate"], summary["n_cases"]) == (score, 1)
    checks = summary["datasets"]["toy"]["checks"]
    assert {name: check["pass_rate"] for name, check in checks.items()} == line["checks"]
    data = writer.run_facts("m").entries
    assert (data["calls_paid"], data["store_hits"], data["cases_recorded"]) == (1, 0, 1)


def test_a_run_cut_off_before_the_second_test_keeps_the_record(writer) -> None:
    writer.receive(message(TONE, True))
    [kept] = read_records(writer.model_runs["m"].path)
    assert (kept.outcome, kept.checks) == ("right", {"test_tone": True})
    assert not writer.complete("m")


def test_the_message_with_an_answer_makes_the_record(writer) -> None:
    writer.receive(message(BASE, None, answered=False))
    writer.receive(message(TONE, True))
    [line] = lines(writer)[-1:]
    assert (line["outcome"], line["reason"]) == ("right", None)
    assert line["checks"] == {"test_base": None, "test_tone": True}
    assert writer.unseen(set()) == {"test_base": 1}


def test_a_further_attempt_of_an_item_replaces_its_record(writer) -> None:
    writer.receive(message(BASE, True, last=False))
    writer.receive(message(BASE, None, answered=False))
    [kept] = read_records(writer.model_runs["m"].path)
    assert (kept.outcome, kept.checks) == ("no_answer", {"test_base": None})
    writer.finish(0, summary_of)
    assert len(lines(writer)) == 1


def test_a_skipped_second_test_leaves_the_record_and_finishes_the_case(writer) -> None:
    writer.receive(message(BASE, True))
    finding = Finding(*TONE, None)
    skipped = replace(message(TONE, None, paid=False), record=None, finding=finding)
    assert writer.receive(skipped).finished == 2
    assert writer.complete("m")
    [line] = lines(writer)
    assert line["checks"] == {"test_base": True}


def test_a_folder_that_cannot_be_finished_does_not_stop_the_others(tmp_path):
    writer = RunWriter(Settings(models=("m", "n")), {"m": tmp_path / "one", "n": tmp_path / "two"})
    writer.learn({"cases": {"m": 1, "n": 1}, "items": {"m": 1, "n": 1}})
    for model in ("m", "n"):
        writer.receive(replace(message(BASE, True), model=model))
    (tmp_path / "one" / "records.jsonl").unlink()
    finished = writer.finish(0, summary_of)
    assert list(finished) == ["n"]
    assert (tmp_path / "two" / "summary.json").is_file()
    [problem] = writer.unfinished
    assert "records.jsonl" in problem


def test_a_record_made_in_this_process_is_not_copied_before_writing(writer):
    sent = message(BASE, True)
    received = writer.receive(sent)
    assert received.record is sent.record
    [line] = lines(writer)
    assert line == json.loads(sent.record.record.to_line())


def test_a_record_from_another_process_equals_the_one_sent(writer):
    sent = message(BASE, True)
    arrived = CaseMessage.decode(sent.encode())
    assert sent.record is not None
    assert arrived.record is not None
    assert arrived.record.record.to_line() == sent.record.line
    assert arrived.record.row == sent.record.row
    received = writer.receive(arrived)
    assert received.record is not None
    assert received.record.line == sent.record.line
