"""Replies in any output of a test are escaped for terminals and CI runners."""

from __future__ import annotations

import re

import pytest

from tests.support.matrix import reduced
from tests.support.outcomes import PLAIN, plain
from tests.support.toy_bench import ADA

REPLY = "\x1b]0;owned\x07\r\u202e one ##[error]two ##vso[task.complete]\n \t::error::three"

STYLES = ["auto", "long", "short", "line", "native", "no"]
ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMAND = re.compile(r"##(\[|vso\[)|^\s*::", re.MULTILINE)

BODIES = {
    "assertion": "assert 0, answer.text",
    "comparison": "assert answer.text == 'one'",
    "raised": "raise ValueError(answer.text)",
    "failed": "pytest.fail(answer.text)",
    "failed_briefly": "pytest.fail(answer.text, pytrace=False)",
    "skipped": "pytest.skip(answer.text)",
    "expected_failure": "pytest.xfail(answer.text)",
    "printed": "print(answer.text)",
    "printed_and_failed": "print(answer.text); assert 0",
    "warned": "import warnings; warnings.warn(answer.text)",
    "logged": "import logging; logging.warning(answer.text); assert 0",
    "chained": """
    try:
        int(answer.text)
    except ValueError as error:
        raise KeyError(answer.text) from error
""",
    "group": "raise ExceptionGroup(answer.text, [ValueError(answer.text)])",
    "note": "error = ValueError('x'); error.add_note(answer.text); raise error",
    "section": "request.node.add_report_section('call', answer.text, answer.text); assert 0",
    "after": "request.addfinalizer(lambda: pytest.fail(answer.text))",
}


def suite() -> str:
    tests = (
        plain(body, fixtures=", request").replace("test_toy", f"test_{name}")
        for name, body in BODIES.items()
    )
    return "".join(tests)


def assert_harmless(text: str) -> None:
    assert "INTERNALERROR" not in text
    lines = [line for line in text.split("\n") if ACTING.search(line) or COMMAND.search(line)]
    assert not lines


@pytest.mark.parametrize("style", reduced(STYLES, "long", "line", "native"))
def test_a_hostile_reply_in_a_users_test_is_escaped(bench, style):
    bench.data(toy=[ADA])
    bench.suite(suite())
    model = bench.script({"default": REPLY})
    result = bench.run(f"--model={model}", f"--tb={style}", "-rA", "--showlocals")
    text = result.stdout.str()
    assert_harmless(text)
    # It is shown as escapes.
    assert r"\x1b]0;owned\x07" in text
    assert r"#\x23[error]two" in text
    if style != "line":  # shows first lines alone
        assert r"\x3a:error::three" in text


def test_a_hostile_reply_in_a_users_test_is_escaped_under_workers(bench):
    bench.data(toy=[ADA])
    bench.suite(suite())
    model = bench.script({"default": f"{REPLY}\udc80"})
    result = bench.run("-n1", f"--model={model}", "--tb=native", "-rA", "-v")
    assert_harmless(result.stdout.str())


def test_a_hostile_reply_as_exit_reason_is_escaped(bench):
    bench.suite(plain("pytest.exit(answer.text)"))
    result = bench.run(f"--model={bench.script({'default': REPLY})}")
    assert_harmless(result.stdout.str())
    result.stdout.fnmatch_lines([r"!* _pytest.outcomes.Exit: \x1b]0;owned\x07*"])


REFUSES = """
class Refuses:
    def complete(self, request):
        said = "http://me:hun/ter2@h\\x1b[2J ##[error]key\\n::error::here"
        raise ModelError(said, reason="auth", whole_run=True)


def pytest_tablebench_register_provider(register):
    register("refuses", lambda model, settings: Refuses())
"""


def test_a_hostile_error_that_ends_the_run_is_escaped(bench):
    bench.adapt(add=REFUSES)
    bench.suite(PLAIN.format(marks="", fixtures="", body="pass"))
    result = bench.run("--model=refuses/all", "--bench-retries=0", "--tb=native", "-rA")
    assert_harmless(result.stdout.str())
    result.stdout.fnmatch_lines([r"!* tablebench stopped after 3 cases *//***@h\x1b*#\x23*!*"])
    assert "ter2" not in result.stdout.str()
