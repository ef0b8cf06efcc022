"""JUnit properties of a case, also for records with hostile texts."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.reports.junit import junit_properties
from pytest_tablebench.results import Record
from tests.support.matrix import MEGABYTE


def make(**changes: object) -> Record:
    facts: dict[str, object] = {
        "case_id": "toy/a/html/none",
        "model": "m",
        "benchmark": "toys",
        "dataset": "toy",
        "example_id": "a",
        "serializer": "html",
        "perturbation": "none",
        "strategy": "direct",
        "modality": "text",
        "outcome": "wrong",
    }
    return Record(**facts | changes)  # type: ignore[arg-type]


def test_properties_are_in_a_fixed_order() -> None:
    record = make(
        score=1 / 3, metric="rouge", raw="41", references=("36", "37"), flags=("truncated",),
        latency_s=0.5, prompt_tokens=10, completion_tokens=0, cost_usd=0.0, from_store=True,
    )  # fmt: skip
    assert junit_properties(record) == [
        ("tablebench.case", "toy/a/html/none"),
        ("tablebench.model", "m"),
        ("tablebench.benchmark", "toys"),
        ("tablebench.dataset", "toy"),
        ("tablebench.example", "a"),
        ("tablebench.serializer", "html"),
        ("tablebench.perturbation", "none"),
        ("tablebench.outcome", "wrong"),
        ("tablebench.flags", "truncated"),
        ("tablebench.metric", "rouge"),
        ("tablebench.score", "0.333333"),
        ("tablebench.expected", "36 | 37"),
        ("tablebench.reply", "41"),
        ("tablebench.latency_s", "0.5"),
        ("tablebench.prompt_tokens", "10"),
        ("tablebench.completion_tokens", "0"),
        ("tablebench.cost_usd", "0.0"),
        ("tablebench.from_store", "true"),
    ]


def test_unknown_properties_are_left_out() -> None:
    names = [name for name, _ in junit_properties(make(outcome="no_answer", reason="timeout"))]
    assert "tablebench.reason" in names
    assert not {"tablebench.score", "tablebench.cost_usd", "tablebench.reply"} & set(names)


@given(st.text(alphabet=st.characters(), max_size=60))
def test_every_property_value_is_valid_xml(text: str) -> None:
    for _, value in junit_properties(make(raw=text, reason=text, references=(text,))):
        element = ET.Element("property", value=value)
        assert ET.fromstring(ET.tostring(element, encoding="utf-8")).get("value") == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("]]></property><evil/>", "]]></property><evil/>"),
        ("& &amp; \" ' <!-- -->", "& &amp; \" ' <!-- -->"),
        ("\x1b[31mred\x07\x00", "\\x1b[31mred\\x07\\x00"),
        ("right \u202e to \u2066 left", "right \\u202e to \\u2066 left"),
        ("lone \ud800 surrogate", "lone \\ud800 surrogate"),
        ("no character \ufffe\uffff", "no character \\ufffe\\uffff"),
        ("line\nbreak\r\n\ttab", "line\\nbreak\\r\\n\\ttab"),
    ],
)
def test_hidden_characters_of_a_reply_are_escaped(reply: str, value: str) -> None:
    assert dict(junit_properties(make(raw=reply)))["tablebench.reply"] == value


def test_a_long_reply_is_cut() -> None:
    assert len(dict(junit_properties(make(raw="x" * 5 * MEGABYTE)))["tablebench.reply"]) == 300
