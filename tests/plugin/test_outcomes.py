"""What becomes of a case: right, wrong, no answer; and what people see of it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from tests.support.toy_bench import ADA, BO, SUITE

ALL_THREE = (
    {"match": "How old is Ada?", "text": "36"},
    {"match": "How old is Bo?", "text": "about forty"},
    {"match": "How old is Cy?", "error": "content_filter"},
)
PLAIN = """
import pytest

@pytest.mark.tablebench("toy")
{marks}
def test_toy(case, answer{fixtures}):
    {body}
"""


def plain(body, *, marks="", fixtures=""):
    return PLAIN.format(body=body, marks=marks, fixtures=fixtures)


def section(result: pytest.RunResult, title: str) -> list[str]:
    """The lines below a section's title line, up to the next title line."""
    lines = result.outlines
    start = next(n for n, line in enumerate(lines) if re.fullmatch(rf"=+ {title} =+", line))
    rest = lines[start + 1 :]
    ends = r"=+ .* =+$|- generated xml file"
    end = next((n for n, line in enumerate(rest) if re.match(ends, line)), len(rest))
    return rest[:end]


def outcomes(bench, folder="run"):
    return {record["example_id"]: record["outcome"] for record in bench.records(folder)}


# The three outcomes


def test_right_wrong_and_no_answer(bench):
    result = bench.run(f"--model={bench.script(*ALL_THREE)}")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert outcomes(bench) == {"ada": "right", "bo": "wrong", "cy": "no_answer"}
    right, wrong, none = bench.records()
    assert (right["score"], right["passed"], right["reason"]) == (1.0, True, None)
    assert (wrong["score"], wrong["passed"], wrong["reason"]) == (0.0, False, None)
    assert (none["score"], none["passed"], none["reason"]) == (None, None, "content_filter")


def test_all_right_is_exit_code_0(bench):
    assert bench.run(f"--model={bench.script({'default': '36'})}", "--bench-limit=1").ret == 0


def test_a_wrong_answer_prints_exactly_three_lines(bench):
    result = bench.run(f"--model={bench.script(*ALL_THREE)}")
    title, *lines = section(result, "FAILURES")
    assert re.fullmatch(r"_+ test_toy\[bo-html-none\] _+", title)
    assert lines == [
        "question: How old is Bo?",
        "expected: 41",
        "got:      about forty  (score 0.00)",
    ]
    assert "Traceback" not in result.stdout.str()
    assert "assertions.py" not in result.stdout.str()


def test_a_case_without_an_answer_prints_its_reason_on_one_line(bench):
    result = bench.run(f"--model={bench.script(*ALL_THREE)}")
    title, *lines = section(result, "ERRORS")
    assert re.fullmatch(r"_+ ERROR at setup of test_toy\[cy-html-none\] _+", title)
    [line] = lines
    assert line.startswith("no answer (content_filter): ")
    assert "Traceback" not in result.stdout.str()


def test_wrong_and_no_answer_look_the_same_from_workers(bench):
    # One subprocess run for all that depends on reports crossing a process border.
    bench.suite(SUITE + plain("assert answer.text == '36'").replace("test_toy", "test_plain"))
    model = bench.script(
        {"match": "How old is Ada?", "text": "36\x1b[31m\udc80 \x00\u202e\r" + "x" * 1_000_000},
        {"match": "How old is Bo?", "text": "about forty"},
        {"match": "How old is Cy?", "error": "content_filter"},
    )
    result = bench.run_apart("-n2", f"--model={model}", "--junitxml=junit.xml")
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
    assert len(bench.records()) == 6


def test_no_answer_is_in_neither_pass_rate_nor_performance(bench):
    bench.run(f"--model={bench.script(*ALL_THREE)}")
    scope = bench.summary()["benchmarks"]["toys"]["datasets"]["toy"]
    assert scope["performance"] == 0.5  # of ada and bo
    assert scope["pass_rate"] == 0.5
    assert scope["no_answer"] == pytest.approx(1 / 3)
    assert scope["n_cases"] == 3
    assert scope["reasons"] == {"content_filter": 1}


def test_only_no_answers_have_no_performance(bench):
    result = bench.run("--model=echo/refuses")
    result.assert_outcomes(errors=3)
    scope = bench.summary()["benchmarks"]["toys"]
    assert scope["performance"] is None
    assert scope["pass_rate"] is None
    assert scope["no_answer"] == 1.0
    result.stdout.fnmatch_lines(["toy: no answer by reason: content_filter 3"])


def test_an_error_message_is_harmless_too(bench):
    result = bench.run("--model=echo/refuses")
    result.stdout.fnmatch_lines([r"no answer (content_filter): the filter\x1b[[]31m said no"])
    assert_harmless(result.stdout.str())


def test_a_reply_cut_off_is_scored_and_flagged(bench):
    model = bench.script(
        {"match": "Ada", "text": "36", "finish_reason": "length"},
        name="cut.jsonl",
    )
    bench.run(f"--model={model}", "--bench-limit=1").assert_outcomes(passed=1)
    record = bench.record()
    assert (record["outcome"], record["score"], record["flags"]) == ("right", 1.0, ["truncated"])


def test_a_whole_reply_has_no_flag(bench):
    bench.run("--model=echo/any", "--bench-limit=1")
    assert bench.record()["flags"] == []


def test_an_empty_reply_is_wrong_and_said_to_be_empty(bench):
    result = bench.run(f"--model={bench.script({'default': ''})}", "--bench-limit=1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["got:      (an empty reply)  (score 0.00)"])
    assert bench.record()["raw"] == ""


# How much is shown


@pytest.mark.parametrize(("count", "shown"), [(10, 10), (13, 10)])
def test_the_first_ten_wrong_answers_are_shown(bench, count, shown):
    bench.data(toy=[[f"q{n:02}", f"Which is {n:02}?", [str(n)]] for n in range(count)])
    result = bench.run(f"--model={bench.script({'default': 'no idea'})}")
    result.assert_outcomes(failed=count)
    asked = [line for line in section(result, "FAILURES") if line.startswith("question: ")]
    assert asked == [f"question: Which is {n:02}?" for n in range(shown)]
    rest = [line for line in result.outlines if "not shown above" in line]
    assert len(rest) == (count > shown)
    if rest:
        assert rest[0].startswith("not shown above: 3 more wrong answers")
    assert len(bench.records()) == count


def test_how_many_were_not_shown_is_said_once_for_all_models(bench):
    bench.data(toy=[[f"q{n:02}", f"Which is {n:02}?", [str(n)]] for n in range(6)])
    result = bench.run("--model=echo/one", "--model=echo/two")
    result.assert_outcomes(failed=12)
    [line] = [line for line in result.outlines if "not shown above" in line]
    assert line.startswith("not shown above: 2 more wrong answers")


def test_the_first_ten_without_an_answer_are_shown(bench):
    bench.data(toy=[[f"q{n:02}", f"Which is {n:02}?", [str(n)]] for n in range(12)])
    result = bench.run("--model=echo/refuses")
    lines = section(result, "ERRORS")
    assert sum(line.startswith("no answer (") for line in lines) == 10
    result.stdout.fnmatch_lines(["not shown above: 2 more without an answer*"])


def test_expected_failures_are_not_said_to_be_hidden(bench):
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


def assert_harmless(text: str) -> None:
    """Assert that nothing in it acts on a terminal, but line ends."""
    found = set(
        re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)
    )
    assert not found


@pytest.mark.parametrize("reply", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_reply_reaches_no_terminal_and_harms_no_file(bench, reply):
    bench.data(toy=[ADA])
    result = bench.run(f"--model={bench.script({'default': reply})}", "--junitxml=junit.xml", "-rA")
    result.assert_outcomes(failed=1)
    assert_harmless(result.stdout.str())
    assert len(section(result, "FAILURES")) == 4
    record = bench.record()
    assert record["raw"] == reply
    [case] = ET.parse(bench.path / "junit.xml").getroot().iter("testcase")
    [failure] = case.iter("failure")
    assert failure.text.startswith("question: How old is Ada?\nexpected: 36\ngot:      ")


def test_hostile_questions_and_answers_are_harmless_too(bench):
    bench.data(toy=[["x", "How\x1b[31m\nold?", ["\x1b]0;owned\x07\u202e"]]])
    result = bench.run("--model=echo/any")
    assert_harmless(result.stdout.str())
    assert len(section(result, "FAILURES")) == 4


@pytest.mark.parametrize("reply", ["\x1b[31mred\x1b[0m", "a\n\x1b[2Jb\r", "\u202ea\nb", "\ud800\n"])
def test_a_hostile_reply_in_a_plain_assert_is_harmless_too(bench, reply):
    bench.suite(plain("assert answer.text == 'one\\ntwo'"))
    result = bench.run(f"--model={bench.script({'default': reply})}", "--bench-limit=1", "-vv")
    result.assert_outcomes(failed=1)
    assert_harmless(result.stdout.str())


def test_a_hostile_reply_that_a_test_prints_is_harmless_too(bench):
    bench.suite(plain("print(answer.text); assert 0"))
    result = bench.run(f"--model={bench.script({'default': HOSTILE['title']})}", "--bench-limit=1")
    result.assert_outcomes(failed=1)
    assert r"\x1b]0;owned\x07" in result.outlines
    assert_harmless(result.stdout.str())


# Tests in users' own words


def test_plain_asserts_count_0_or_1(bench):
    bench.suite(plain("assert '3' in answer.text"))
    model = bench.script(*ALL_THREE)
    bench.run(f"--model={model}").assert_outcomes(passed=1, failed=1, errors=1)
    right, wrong, none = bench.records()
    assert (right["metric"], right["score"], right["passed"]) == ("assertion", 1.0, True)
    assert (wrong["metric"], wrong["score"], wrong["passed"]) == ("assertion", 0.0, False)
    assert (none["outcome"], none["score"]) == ("no_answer", None)
    assert right["prediction"] is None
    assert right["raw"] == "36"


def test_a_plain_assert_after_ours_keeps_the_score_and_fails_the_case(bench):
    bench.suite(
        plain("assert_exact_match(case, answer); assert len(answer.text) > 5").replace(
            "import pytest", "import pytest\nfrom pytest_tablebench import assert_exact_match"
        )
    )
    bench.run("--model=echo/any", "--bench-limit=1").assert_outcomes(failed=1)
    record = bench.record()
    assert (record["outcome"], record["passed"]) == ("wrong", False)
    assert (record["score"], record["metric"]) == (1.0, "exact_match")


def test_an_expected_failure_is_scored_as_what_it_is(bench):
    bench.suite(SUITE.replace("def ", "@pytest.mark.xfail\ndef "))
    result = bench.run(f"--model={bench.script(*ALL_THREE)}")
    result.assert_outcomes(xpassed=1, xfailed=2)
    assert result.ret == 0
    assert outcomes(bench) == {"ada": "right", "bo": "wrong", "cy": "no_answer"}


def test_a_strictly_expected_failure_that_passes_is_right(bench):
    bench.suite(SUITE.replace("def ", "@pytest.mark.xfail(strict=True)\ndef "))
    bench.run("--model=echo/any", "--bench-limit=1").assert_outcomes(failed=1)
    assert outcomes(bench) == {"ada": "right"}


@pytest.mark.parametrize(
    "suite",
    [
        SUITE.replace("def ", "@pytest.mark.skip(reason='not today')\ndef "),
        plain("pytest.skip('not today')"),
    ],
    ids=["mark", "in-the-test"],
)
def test_skipped_cases_leave_no_record(bench, suite):
    bench.suite(suite)
    result = bench.run("--model=echo/any", "-rs")
    result.assert_outcomes(skipped=3)
    assert result.ret == 0
    assert bench.records() == []
    result.stdout.fnmatch_lines(["SKIPPED*not today"])


def test_a_skip_mark_asks_nothing(bench):
    bench.suite(SUITE.replace("def ", "@pytest.mark.skip\ndef "))
    bench.run("--model=echo/any")
    assert bench.calls("ask") == []


def test_a_bug_in_the_test_is_no_wrong_answer(bench):
    bench.suite(plain("1 / 0"))
    result = bench.run("--model=echo/any", "--bench-limit=1")
    result.assert_outcomes(failed=1)
    record = bench.record()
    assert (record["outcome"], record["reason"]) == ("no_answer", "test_error")
    assert record["score"] is None
    assert record["raw"] == "36"
    result.stdout.fnmatch_lines(["*ZeroDivisionError: division by zero", "*test_suite.py:*"])


@pytest.mark.parametrize("body", ["assert False, 'broken'", "raise OSError('broken')"])
@pytest.mark.parametrize("order", ["case, answer, other", "other, case, answer"])
def test_another_fixture_that_fails_is_no_wrong_answer(bench, body, order):
    source = SUITE.replace("case, answer):", f"{order}):")
    bench.suite(f"{source}\n\n@pytest.fixture\ndef other():\n    {body}\n")
    result = bench.run("--model=echo/any", "--bench-limit=1")
    result.assert_outcomes(errors=1)
    record = bench.record()
    assert (record["outcome"], record["reason"]) == ("no_answer", "test_error")
    assert record["score"] is None
    assert bench.facts()["status"] == "complete"
    assert len(bench.calls("ask")) == (order.startswith("case"))
    result.stdout.fnmatch_lines(["*broken*"])


def test_a_failing_teardown_keeps_the_case_right(bench):
    source = SUITE.replace("case, answer):", "case, answer, other):")
    bench.suite(
        f"{source}\n\n@pytest.fixture\ndef other():\n    yield\n    raise OSError('late')\n"
    )
    result = bench.run("--model=echo/any", "--bench-limit=1")
    result.assert_outcomes(passed=1, errors=1)
    assert bench.record()["outcome"] == "right"


def test_a_case_never_asked_is_no_answer(bench):
    bench.suite(PLAIN.format(body="pass", marks="", fixtures="").replace(", answer", ""))
    bench.run("--model=echo/any", "--bench-limit=1").assert_outcomes(passed=1)
    record = bench.record()
    assert (record["outcome"], record["reason"]) == ("no_answer", "not_asked")


def test_a_table_that_cannot_be_perturbed_is_no_answer(bench):
    result = bench.run(
        "--model=echo/any",
        "--bench-limit=1",
        "--bench-perturbation=duplicate_rows[row_indices=[7],times=2]",
    )
    result.assert_outcomes(errors=1)
    assert bench.record()["reason"] == "unusable_table"
    result.stdout.fnmatch_lines(["no answer (unusable_table): *row_indices*7*"])
    assert bench.calls("ask") == []


def test_too_few_demonstrations_are_no_answer_and_named(bench):
    result = bench.run("--model=echo/any", "--bench-limit=1", "--bench-shots=9")
    result.assert_outcomes(errors=1)
    assert bench.record()["reason"] == "unusable_data"
    result.stdout.fnmatch_lines(["no answer (unusable_data): *--bench-shots*"])


# Thresholds

HALF = {"default": "36, 99"}
SCORED = (
    SUITE.replace("assert_exact_match(case", "assert_score(case")
    .replace("import assert_exact_match", "import assert_score")
    .replace("(case, answer)\n", "(case, answer, part='partial')\n")
)
"""`36, 99` for the one expected item 36: F1 over items = 2 * 1 / (2 + 1) = 0.667."""


@pytest.mark.parametrize(
    ("marker", "option", "ini", "passes"),
    [
        ("", None, None, False),  # the dataset's 1.0
        (", threshold=0.66", None, None, True),
        (", threshold=0.67", None, None, False),
        ("", "toy=0.66", None, True),
        ("", None, "toy=0.66", True),
        (", threshold=0.67", "toy=0.66", None, True),
        (", threshold=0.67", None, "toy=0.66", True),
        (", threshold=0.1", "toy=0.67", None, False),
        ("", "toy=0.67", "toy=0.1", False),
        (", threshold=0", None, None, True),
    ],
)
def test_thresholds_by_marker_option_and_ini(bench, marker, option, ini, passes):
    bench.suite(SCORED.replace('"toy"', f'"toy"{marker}'))
    if ini:
        bench.pytester.makeini(f"[pytest]\nbench_threshold = {ini}\n")
    extra = [f"--bench-threshold={option}"] if option else []
    result = bench.run(f"--model={bench.script(HALF)}", "--bench-limit=1", *extra)
    result.assert_outcomes(**{"passed" if passes else "failed": 1})
    record = bench.record()
    assert record["score"] == pytest.approx(2 / 3)
    assert record["passed"] is passes


def test_thresholds_move_the_pass_rate_only(bench):
    bench.suite(SCORED)
    model = bench.script(HALF)
    for folder, extra in (("strict", []), ("mild", ["--bench-threshold=toy=0.5"])):
        bench.run(f"--model={model}", "--bench-limit=1", *extra, results=folder)
    strict, mild = (bench.summary(name)["benchmarks"]["toys"] for name in ("strict", "mild"))
    assert (strict["pass_rate"], mild["pass_rate"]) == (0.0, 1.0)
    assert strict["performance"] == mild["performance"] == pytest.approx(2 / 3)


# Beside other tests and under other options


def test_verbose_shows_the_usual_words(bench):
    result = bench.run("-v", f"--model={bench.script(*ALL_THREE)}")
    result.stdout.fnmatch_lines(
        [
            "test_suite.py::test_toy[[]ada-html-none[]] PASSED*",
            "test_suite.py::test_toy[[]bo-html-none[]] FAILED*",
            "test_suite.py::test_toy[[]cy-html-none[]] ERROR*",
        ]
    )
    assert not re.search(r"\d/3 right", result.stdout.str())


def test_quiet_shows_the_usual_letters(bench):
    result = bench.run("-q", f"--model={bench.script(*ALL_THREE)}")
    assert re.search(r"^\.FE +\[100%\]$", result.stdout.str(), re.MULTILINE)
    assert not re.search(r"\d/3 right", result.stdout.str())


def test_foreign_tests_keep_their_letters_and_failures(bench):
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


def test_foreign_failures_are_all_shown_however_many_of_ours_are_hidden(bench):
    bench.data(toy=[[f"q{n:02}", f"Which is {n:02}?", [str(n)]] for n in range(12)])
    foreign = "".join(f"def test_{n}():\n    assert {n} == 99\n" for n in range(12))
    bench.suite(foreign, name="test_z_foreign.py")
    result = bench.run("--model=echo/any")
    result.assert_outcomes(failed=24)
    assert sum("assert" in line and "== 99" in line for line in section(result, "FAILURES")) == 24
    assert sum(line.startswith("question") for line in section(result, "FAILURES")) == 10


def test_junit_counts_the_three_outcomes(bench):
    bench.run(f"--model={bench.script(*ALL_THREE)}", "--junitxml=junit.xml")
    [suite] = ET.parse(bench.path / "junit.xml").getroot().iter("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    names = [case.get("name") for case in suite.iter("testcase")]
    assert names == [f"test_toy[{name}-html-none]" for name in ("ada", "bo", "cy")]


def test_the_same_case_in_two_tests_has_two_records(bench):
    bench.suite(SUITE + plain("assert 0").replace("test_toy", "test_other"))
    bench.run("--model=echo/any", "--bench-limit=1").assert_outcomes(passed=1, failed=1)
    assert [record["outcome"] for record in bench.records()] == ["right", "wrong"]
