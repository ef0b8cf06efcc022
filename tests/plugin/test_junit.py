"""JUnit properties of a case: readable in both families, and the same under workers.

The suite adds them to items as the plugin does, for records with hostile texts and each outcome.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.reports.junit import junit_properties
from pytest_tablebench.results import Record
from tests.support.matrix import MEGABYTE, reduced

TEXTS = [
    "plain",
    "<script>alert(1)</script>",
    "]]></property><evil/>",
    "& &amp; \" ' <!-- -->",
    "\x1b[31mred\x07\x00",
    "right \u202e to \u2066 left",
    "lone \ud800 surrogate",
    "no character \ufffe\uffff",
    "line\nbreak\r\n\ttab",
    "=cmd|' /C calc'!A0",
    "x" * 5 * MEGABYTE,
]

OUTCOMES = ("right", "wrong", "no_answer")

SUITE = """
import pytest
from pytest_tablebench.reports.junit import junit_properties
from tests.plugin.test_junit import OUTCOMES, TEXTS, hostile

@pytest.fixture
def asked(request):
    given = request.node.callspec.params
    number, outcome = given["number"], given["outcome"]
    request.node.user_properties.extend(junit_properties(hostile(number, outcome)))
    if outcome == "no_answer":
        raise RuntimeError("no answer")

@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_case(number, outcome, asked):
    assert outcome == "right"
"""


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


def hostile(number: int, outcome: str) -> Record:
    """Return a record with a hostile text in each field that may contain one."""
    text = TEXTS[number]
    answered = {} if outcome == "no_answer" else {"score": 0.5, "raw": text}
    texts = {"model": text, "example_id": text, "references": (text, text), "reason": text}
    return make(case_id=f"toy/{number}/html/none", outcome=outcome, **texts, **answered)


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


def by_case(path: Path) -> dict[str, list[tuple[str, str]]]:
    return {
        case.get("name", ""): [
            (p.get("name", ""), p.get("value", "")) for p in case.iter("property")
        ]
        for case in ET.parse(path).iter("testcase")
    }


@pytest.mark.parametrize("family", reduced(["xunit1", "xunit2"], "xunit2"))
def test_workers_report_the_properties_of_each_record(
    pytester: pytest.Pytester, family: str
) -> None:
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_inprocess(
        "--junitxml=junit.xml", "-o", f"junit_family={family}", "-n1", "-q",
        "-p", "no:cacheprovider", "--tb=no",
    )  # fmt: skip
    result.assert_outcomes(**dict.fromkeys(("passed", "failed", "errors"), len(TEXTS)))
    cases = by_case(pytester.path / "junit.xml")
    assert cases == {
        f"test_case[{number}-{outcome}]": junit_properties(hostile(number, outcome))
        for number in range(len(TEXTS))
        for outcome in OUTCOMES
    }
    replies = [dict(cases[f"test_case[{n}-wrong]"])["tablebench.reply"] for n in range(len(TEXTS))]
    assert replies[0] == "plain"
    assert replies[4:9] == [
        "\\x1b[31mred\\x07\\x00",
        "right \\u202e to \\u2066 left",
        "lone \\ud800 surrogate",
        "no character \\ufffe\\uffff",
        "line\\nbreak\\r\\n\\ttab",
    ]
    assert len(replies[10]) == 300
