"""JUnit properties of a case: readable in both families, and the same under workers.

The suite adds them to items as the plugin does, for records with hostile texts and each outcome.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.reports.junit import junit_properties
from pytest_tablebench.results import Record
from tests.support.matrix import reduced

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
    "x" * 5_000_000,
]

SUITE = f"""
import pytest
from pytest_tablebench.reports.junit import junit_properties
from pytest_tablebench.results import Record
from tests.support.matrix import reduced

TEXTS = {TEXTS[:-1]!a} + ["x" * 5_000_000]
OUTCOMES = ["right", "wrong", "no_answer"]

def record(number, outcome):
    text = TEXTS[number]
    return Record(
        case_id=f"toy/{{number}}/html/none", model=text, benchmark="toys", dataset="toy",
        example_id=text, serializer="html", perturbation="none", strategy="direct",
        modality="text", outcome=outcome, score=None if outcome == "no_answer" else 0.5,
        raw=None if outcome == "no_answer" else text, references=(text, text), reason=text,
    )

@pytest.fixture
def asked(request):
    given = request.node.callspec.params
    number, outcome = given["number"], given["outcome"]
    request.node.user_properties.extend(junit_properties(record(number, outcome)))
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


Cases = dict[str, dict[str, str]]


def run(pytester: pytest.Pytester, family: str, workers: int) -> Cases:
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess(
        "--junitxml=junit.xml", "-o", f"junit_family={family}", "-n", str(workers), "-q",
        "-p", "no:cacheprovider", "--tb=no",
    )  # fmt: skip
    count = len(TEXTS)
    result.assert_outcomes(passed=count, failed=count, errors=count)
    tree = ET.parse(pytester.path / "junit.xml")
    cases = {}
    for case in tree.iter("testcase"):
        properties = [(p.get("name", ""), p.get("value", "")) for p in case.iter("property")]
        assert len(dict(properties)) == len(properties), "a property is there twice"
        cases[case.get("name", "")] = dict(properties)
    return cases


@pytest.mark.parametrize("family", reduced(["xunit1", "xunit2"], "xunit2"))
def test_properties_are_the_same_under_workers(pytester: pytest.Pytester, family: str) -> None:
    alone, spread = run(pytester, family, 0), run(pytester, family, 2)
    assert len(alone) == 3 * len(TEXTS)
    assert alone == spread
    for number, text in enumerate(TEXTS):
        for outcome in ("right", "wrong", "no_answer"):
            properties = alone[f"test_case[{number}-{outcome}]"]
            assert properties["tablebench.case"] == f"toy/{number}/html/none"
            assert properties["tablebench.outcome"] == outcome
            if text.isascii() and text.isprintable() and len(text) < 300:
                assert properties["tablebench.reason"] == text
    assert alone["test_case[4-wrong]"]["tablebench.reply"] == "\\x1b[31mred\\x07\\x00"
    assert alone["test_case[5-wrong]"]["tablebench.reply"] == "right \\u202e to \\u2066 left"
    assert alone["test_case[6-wrong]"]["tablebench.reply"] == "lone \\ud800 surrogate"
    assert alone["test_case[7-wrong]"]["tablebench.reply"] == "no character \\ufffe\\uffff"
    assert alone["test_case[8-wrong]"]["tablebench.reply"] == "line\\nbreak\\r\\n\\ttab"
    assert len(alone["test_case[10-wrong]"]["tablebench.reply"]) == 300
