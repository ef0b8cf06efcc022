"""Records are one line of ASCII each and are read back as written."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results import SCHEMA, Record

MINIMAL: dict[str, Any] = {
    "case_id": "toy/ada/html/none",
    "model": "m",
    "benchmark": "toys",
    "dataset": "toy",
    "example_id": "ada",
    "serializer": "html",
    "perturbation": "none",
    "strategy": "direct",
    "modality": "text",
    "outcome": "right",
}
ANY_TEXT = st.text(st.characters(), max_size=30)  # lone surrogates among them


@given(raw=ANY_TEXT, reference=ANY_TEXT, example_id=ANY_TEXT)
def test_any_text_is_written_in_one_line_and_read_back(raw, reference, example_id):
    fields = {**MINIMAL, "example_id": example_id, "raw": raw, "references": (reference,)}
    line = Record(**fields).to_line()
    assert line.isascii()
    assert line.count("\n") == 1
    assert len(line.splitlines()) == 1
    record = Record.from_line(line)
    assert (record.raw, record.example_id) == (raw, example_id)
    assert list(record.references) == [reference]
    assert record.to_line() == line


@given(score=st.floats(0, 1))
def test_a_score_is_read_back_to_the_last_digit(score):
    line = Record(**MINIMAL, score=score).to_line()
    assert Record.from_line(line).score == score


def test_unknown_values_are_null():
    data = json.loads(Record(**MINIMAL).to_line())
    for name in ("score", "passed", "cost_usd", "prompt_tokens", "completion_tokens", "latency_s"):
        assert data[name] is None
    assert data["from_store"] is False
    assert data["threshold"] is data["part"] is None
    assert (data["tags"], data["steps"]) == ({}, [])
    assert data["schema"] == SCHEMA == 2


def test_the_fields_of_a_judged_case_are_read_back():
    step = {"kind": "ask", "digest": "0" * 16, "outcome": "stop", "cost_usd": 0.5}
    judged: dict[str, Any] = {"score": 0.5, "threshold": 0.25, "metric": "rouge", "part": "rougeL"}
    record = Record(**MINIMAL, **judged, tags={"type": "lookup"}, steps=(step, step))
    reread = Record.from_line(record.to_line(), {"toy": 0.75})
    assert (reread.threshold, reread.part, reread.tags) == (0.25, "rougeL", {"type": "lookup"})
    assert list(reread.steps) == [step, step]


@pytest.mark.parametrize(
    ("score", "metric", "expected"),
    [(1.0, "exact_match", 0.75), (1.0, "assertion", None), (None, None, None)],
)
def test_a_record_of_schema_1_has_the_threshold_that_its_run_names(score, metric, expected):
    line = json.dumps({"schema": 1, **MINIMAL, "score": score, "metric": metric})
    assert Record.from_line(line, {"toy": 0.75}).threshold == expected
    reread = Record.from_line(line, {"other": 0.75})
    assert (reread.threshold, reread.part, reread.tags, reread.steps) == (None, None, {}, ())


def test_an_unknown_field_is_ignored():
    line = json.dumps({"schema": 1, **MINIMAL, "mood": "good"})
    assert Record.from_line(line).case_id == "toy/ada/html/none"


@pytest.mark.parametrize("schema", [3, 99, "1", None, 1.5])
def test_a_newer_schema_is_refused(schema):
    with pytest.raises(SettingsError, match="upgrade pytest-tablebench"):
        Record.from_line(json.dumps({"schema": schema, **MINIMAL}))


@pytest.mark.parametrize("bad", [{"part": ["f1"]}, {"part": 1}, {"threshold": "0.5"}])
def test_a_part_or_threshold_that_is_none_is_a_damaged_line(bad):
    with pytest.raises(ValueError, match="part is not text"):
        Record.from_line(json.dumps({"schema": 2, **MINIMAL, **bad}))


@pytest.mark.parametrize("tags", [["sum"], "sum", None, {"kind": ["sum"]}, {"level": 1}])
def test_tags_of_a_wrong_type_are_a_damaged_line(tags):
    with pytest.raises(ValueError, match="tags"):
        Record.from_line(json.dumps({"schema": 2, **MINIMAL, "tags": tags}))


@pytest.mark.parametrize("steps", [None, ["ask"], [{"picture": 1}], [{"text": []}]])
def test_steps_of_a_wrong_type_are_a_damaged_line(steps):
    with pytest.raises(ValueError, match="steps"):
        Record.from_line(json.dumps({"schema": 2, **MINIMAL, "steps": steps}))


@pytest.mark.parametrize("line", ["", "{", "[]", "3", "null", '{"schema": 1}', '"x"'])
def test_a_line_that_is_no_record_is_a_value_error(line):
    with pytest.raises(ValueError, match=r".+"):
        Record.from_line(line)


def test_every_field_is_documented():
    docs = Path(__file__).parents[2] / "docs"
    schema = json.loads((docs / "schemas/record.schema.json").read_text("utf-8"))
    described = {name for name, facts in schema["properties"].items() if facts["description"]}
    assert {field.name for field in fields(Record)} <= described
    page = (docs / "run-folder.md").read_text("utf-8")
    assert f"schema number, now {SCHEMA}." in page
