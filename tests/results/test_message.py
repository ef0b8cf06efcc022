"""Messages from a worker to the controller arrive unchanged, with any text."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.results._model_run import ModelRun
from pytest_tablebench.results.message import AnswerCost, CaseMessage, Finding, ReadRecord
from pytest_tablebench.results.record import ScoreRow
from pytest_tablebench.session._messages import (
    EngineNeeds,
    Refused,
    RunPlace,
    SelectedCases,
    decode,
    encode,
)

TEXT = st.text() | st.sampled_from(["\ud800", "\x1b[31m", "\u2028", '"\n'])
COUNT = st.integers(0, 2**40)
COST = st.none() | st.floats(0, 1e6)
CHECKS = st.dictionaries(TEXT, st.none() | st.booleans(), max_size=3)

cells = st.builds(
    ScoreRow, TEXT, TEXT, TEXT, TEXT, TEXT, COST, st.none() | st.booleans(), st.none() | TEXT,
    COUNT, CHECKS,
)  # fmt: skip
records = st.builds(ReadRecord, TEXT, cells, st.tuples(COUNT, COUNT, COUNT))
messages = st.builds(
    CaseMessage,
    TEXT,
    TEXT,
    COUNT,
    st.builds(Finding, TEXT, TEXT, st.none() | st.booleans(), st.booleans(), st.booleans()),
    st.none() | records,
    COUNT,
    st.booleans(),
    st.none() | st.builds(AnswerCost, st.none() | COUNT, st.none() | COUNT, COST),
    st.none() | st.tuples(TEXT, TEXT),
    st.none() | st.tuples(TEXT, st.lists(st.lists(TEXT, max_size=2), max_size=2)),
    st.none()
    | st.tuples(TEXT, TEXT, st.lists(st.dictionaries(TEXT, TEXT, max_size=2), max_size=2)),
    st.none() | st.dictionaries(TEXT, TEXT, max_size=2),
    st.lists(TEXT, max_size=2).map(tuple),
    st.lists(st.builds(AnswerCost, st.none() | COUNT, st.none() | COUNT, COST), max_size=2).map(
        tuple
    ),
)


@given(messages)
def test_a_message_about_a_case_arrives_unchanged(message: CaseMessage) -> None:
    sent = message.encode()
    assert sent.isascii()
    assert CaseMessage.decode(sent) == message


@given(TEXT, st.dictionaries(TEXT, COUNT, max_size=2))
def test_messages_before_the_first_test_arrive_unchanged(text: str, counts: dict[str, int]) -> None:
    for message in (
        EngineNeeds([[text, None, text]], eager=True),  # JSON has lists
        RunPlace({text: text}, [1, text]),  # type: ignore[arg-type]
        RunPlace({}, None),
        SelectedCases(counts, {text: counts}, [{text: text}], [text]),
        SelectedCases(),
        Refused(text),
    ):
        assert encode(message).isascii()
        again = decode(encode(message))
        assert type(again) is type(message)
        assert vars(again) == {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(message).items()
        }


def test_rows_share_equal_values_of_equal_type_only(tmp_path):
    kept = ModelRun("m", tmp_path)

    def cell(passed: Any) -> ScoreRow:
        b, d, e, s, p = json.loads(
            '["b", "d", "example one", "html", "none"]'
        )  # new objects each time
        return kept.shared(
            ScoreRow(b, d, e, s, p, 1.0, True, None, parts={"f1": 1.0}, checks={"f1": passed})
        )

    first, again, other = cell(True), cell(True), cell(1)
    assert first == again
    assert first.example_id is again.example_id
    assert first.parts is again.parts
    assert first.checks is again.checks
    assert first.checks["f1"] is True
    assert other.checks["f1"] is not True
