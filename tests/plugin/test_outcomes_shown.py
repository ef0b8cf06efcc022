"""Wrong and missing answers on the terminal, hostile replies, and other tests."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from tests.support.outcomes import ALL_THREE, plain
from tests.support.present import present
from tests.support.toy_bench import ADA, BO, SUITE


def section(result: pytest.RunResult, title: str) -> list[str]:
    """Return the lines of a section, between its title line and the next one."""
    lines = result.outlines
    start = next(n for n, line in enumerate(lines) if re.fullmatch(rf"=+ {title} =+", line))
    rest = lines[start + 1 :]
    ends = r"=+ .* =+$|- generated xml file"
    end = next((n for n, line in enumerate(rest) if re.match(ends, line)), len(rest))
    return rest[:end]


def assert_harmless(text: str) -> None:
    """Assert that a text contains no control characters except line ends."""
    characters = set(
        re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)
    )
    assert not characters


# The three outcomes


def test_a_wrong_answer_prints_three_lines_and_a_missing_one_its_reason(bench):
    result = bench.run(f"--model={bench.script(*ALL_THREE)}")
    title, *lines = section(result, "FAILURES")
    assert re.fullmatch(r"_+ test_toy\[bo-html-none\] _+", title)
    assert lines == [
        "question: How old is Bo?",
        "expected: 41",
        "got:      about forty  (score 0.00)",
    ]
    title, line = section(result, "ERRORS")
    assert re.fullmatch(r"_+ ERROR at setup of test_toy\[cy-html-none\] _+", title)
    assert line.startswith("no answer (content_filter): ")
    assert "Traceback" not in result.stdout.str()
    assert "assertions.py" not in result.stdout.str()


def test_wrong_and_missing_answers_are_shown_the_same_under_workers(bench):
    # One run under a worker checks all reports that cross a process border.
    bench.suite(SUITE + plain("assert answer.text == '36'").replace("test_toy", "test_plain"))
    model = bench.script(
        {"match": "How old is Ada?", "text": "36\x1b[31m\udc80 \x00\u202e\r" + "x" * 1_000_000},
        {"match": "How old is Bo?", "text": "about forty"},
        {"match": "How old is Cy?", "error": "content_filter"},
    )
    result = bench.run("-n1", f"--model={model}", "--junitxml=junit.xml")
    result.assert_outcomes(failed=4, errors=2)
    text = result.stdout.str()
    assert "INTERNALERROR" not in text
    lines = section(result, "FAILURES")
    start = lines.index("question: How old is Bo?")
    assert re.fullmatch(r"_+ test_toy\[bo-html-none\] _+", lines[start - 1])
    assert lines[start + 1 : start + 3] == [
        "expected: 41",
        "got:      about forty  (score 0.00)",
    ]
    assert all(line.startswith("___") for line in lines[start + 3 : start + 4])
    lines = section(result, "ERRORS")
    assert [line[:31] for line in lines if not line.startswith("_")] == [
        "no answer (content_filter): scr",
    ] * 2
    assert_harmless(text)
    ET.parse(bench.path / "junit.xml")
    assert len(bench.records()) == 3  # the first test makes them


# How much is shown


def test_more_wrong_answers_are_grouped_by_example(bench):
    bench.data(toy=[[f"q{n:02}", f"Which is {n:02}?", [str(n)]] for n in range(12)])
    script = [
        {"match": "Which is 07?", "text": "7"},
        {"match": "Which is 08?", "error": "content_filter"},
        {"default": "\x1b[31m no idea"},
    ]
    formats = ["--bench-serializer=html,csv", "--bench-perturbation=none"]
    result = bench.run(f"--model={bench.script(*script)}", *formats)
    result.assert_outcomes(failed=20, passed=2, errors=2)
    text = result.stdout.str()
    assert "FAILURES" not in text
    assert "FAILED" not in text
    [first] = [line for line in result.outlines if line.startswith("toy/q00")]
    assert re.match(r"toy/q00 +wrong in 2 of 2 +0 / .*no idea$", first)
    above = result.outlines[result.outlines.index(first) - 1]
    assert above.strip() == "expected / got"
    assert above.index("expected") == first.index("0 / ")
    assert "\x1b" not in first
    assert sum("wrong in 2 of 2" in line for line in result.outlines) == 10
    result.stdout.fnmatch_lines(["no answer (content_filter): *"])  # two are too few to group


def test_the_number_of_hidden_answers_is_shown_once_for_all_models(bench):
    bench.data(toy=[[f"q{n:02}", f"Which is {n:02}?", [str(n)]] for n in range(6)])
    result = bench.run("--model=echo/one", "--model=echo/two", "--bench-show=10")
    result.assert_outcomes(failed=12)
    questions = [line for line in section(result, "FAILURES") if line.startswith("question: ")]
    assert len(questions) == 10
    [line] = [line for line in result.outlines if "not shown above" in line]
    assert line.startswith("not shown above: 2 more wrong answers")


def test_expected_failures_do_not_count_as_hidden(bench):
    bench.data(toy=[[f"q{n:02}", f"Which is {n:02}?", [str(n)]] for n in range(12)])
    bench.suite(SUITE.replace("def ", "@pytest.mark.xfail\ndef "))
    result = bench.run("--model=echo/any")
    result.assert_outcomes(xfailed=12)
    assert "not shown above" not in result.stdout.str()


def test_long_questions_and_replies_are_cut(bench):
    bench.data(toy=[["long", "Why " + "so " * 500 + "?", ["a" * 5000]]])
    result = bench.run(f"--model={bench.script({'default': 'b' * 1_000_000})}")
    lines = section(result, "FAILURES")
    assert len(lines) == 4
    assert max(map(len, lines)) < 400
    assert bench.record()["raw"] == "b" * 1_000_000


# Hostile replies

HOSTILE = {
    "colour": "\x1b[31mred\x1b[0m",
    "clear-screen": "\x1b[2J\x1b[H",
    "title": "\x1b]0;owned\x07",
    "8-bit-escape": "\x9b31m",
    "carriage-return": "wrong\rright",
    "backspace": "wrong\b\b\b\b\b",
    "right-to-left": "\u202eabc\u202c",
    "isolate": "\u2067abc\u2069",
    "zero": "a\x00b",
    "surrogate": "a\ud800b\udfff",
    "line-separator": "a\u2028b\x85c\x0bd",
    "lines": "a\nb\r\nc",
    "json": '"}\n{"case_id": "x"}',
    "xml": "]]></failure><x a='&'/>",
    "non-character": "\uffff\ufffe",
}


def test_hostile_replies_are_escaped_on_the_terminal_and_in_files(bench):
    bench.data(toy=[[name, f"How is {name}?", ["36"]] for name in HOSTILE])
    script = [{"match": f"How is {name}?", "text": reply} for name, reply in HOSTILE.items()]
    options = ("--junitxml=junit.xml", "-rA", "--bench-show=20")
    result = bench.run(f"--model={bench.script(*script)}", *options)
    result.assert_outcomes(failed=len(HOSTILE))
    assert_harmless(result.stdout.str())
    assert len(section(result, "FAILURES")) == 4 * len(HOSTILE)
    assert {record["example_id"]: record["raw"] for record in bench.records()} == HOSTILE
    for case in ET.parse(bench.path / "junit.xml").getroot().iter("testcase"):
        [failure] = case.iter("failure")
        assert re.match(r"question: How is \S+\?\nexpected: 36\ngot:      ", present(failure.text))


def test_hostile_questions_and_expected_answers_are_escaped(bench):
    bench.data(toy=[["x", "How\x1b[31m\nold?", ["\x1b]0;owned\x07\u202e"]]])
    result = bench.run("--model=echo/any")
    assert_harmless(result.stdout.str())
    assert len(section(result, "FAILURES")) == 4


# Other tests and options

WORDS = (("ada", "PASSED"), ("bo", "FAILED"), ("cy", "ERROR"))


@pytest.mark.parametrize(
    ("option", "lines"),
    [
        ("-v", [rf"\[{name}-html-none\] {word}" for name, word in WORDS]),
        ("-q", [r"^\.FE +\[100%\]$"]),
    ],
)
def test_verbose_and_quiet_show_the_usual_words_and_letters(bench, option, lines):
    text = bench.run(option, f"--model={bench.script(*ALL_THREE)}").stdout.str()
    assert all(re.search(line, text, re.MULTILINE) for line in lines)
    assert not re.search(r"\d/3 right", text)


def test_other_tests_keep_their_letters_and_failures(bench):
    bench.data(toy=[ADA, BO])
    bench.suite(
        "def test_good():\n    pass\n\ndef test_bad():\n    assert 1 + 1 == 3\n",
        name="test_a_foreign.py",
    )
    result = bench.run("--model=echo/any")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["test_a_foreign.py .F*", "test_suite.py*"])
    result.stdout.fnmatch_lines(["*test_bad*", ">*assert 1 + 1 == 3", "E*assert (1 + 1) == 3"])
    assert len(bench.records()) == 2


def test_failures_of_other_tests_are_shown_though_ours_are_grouped(bench):
    bench.data(toy=[[f"q{n:02}", f"Which is {n:02}?", [str(n)]] for n in range(12)])
    foreign = "".join(f"def test_{n}():\n    assert {n} == 99\n" for n in range(12))
    bench.suite(foreign, name="test_z_foreign.py")
    result = bench.run("--model=echo/any")
    result.assert_outcomes(failed=24)
    assert sum("assert" in line and "== 99" in line for line in section(result, "FAILURES")) == 24
    assert sum(line.startswith("question") for line in section(result, "FAILURES")) == 0
