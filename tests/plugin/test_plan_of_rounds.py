"""The plan of strategies with several rounds prices known steps and names the others."""

from __future__ import annotations

from tests.support.toy_bench import CALLED

ROUNDS = """
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message


class Twice:
    name = "twice"

    def converse(self, task):
        first = yield Ask((Message("user", task.prompt),))
        second = yield Ask((Message("user", f"really {first.text}?"),))
        return second.text


def pytest_tablebench_register_strategy(register):
    register(Twice())
"""

FURTHER = "these figures leave out further steps of twice"


def figures(lines: list[str]) -> dict[str, str]:
    """Return the rows of the plan's table."""
    names = ("cases", "distinct requests", "in the store", "calls")
    rows = {}
    for line in lines:
        for name in names:
            if line.startswith(f"  {name} "):
                rows[name] = line.removeprefix(f"  {name}").strip()
    return rows


def test_the_plan_names_steps_that_depend_on_missing_answers(bench):
    bench.pytester.makeconftest(CALLED + ROUNDS)
    options = ("--model=echo/any", "--bench-limit=2", "--bench-store=answers")
    ways = ("--bench-strategy=tcot,pot,icot[max_exec=1],treethinker", "--bench-plan")
    lines = bench.run(*options, *ways).outlines
    # tcot and pot ask once, and the tree of one table is asked once: 2 + 2 + 2 + 1.
    assert figures(lines)["calls"] == "7"
    further = "leave out further steps of icot (1 to 2 calls a case), treethinker (2 calls a case)"
    assert any(further in line for line in lines)
    both = ("--bench-strategy=direct,twice", "--bench-plan")
    before = bench.run(*options, *both)
    # Two questions, two strategies: the second step of `twice` depends on the first answer.
    assert figures(before.outlines) == {
        "cases": "4",
        "distinct requests": "4",
        "in the store": "0",
        "calls": "4",
    }
    assert any(FURTHER in line for line in before.outlines)
    assert bench.calls("ask") == []
    bench.run(*options, "--bench-strategy=twice")
    # Both first answers are 36, so both second questions are the same.
    assert len(bench.calls("ask")) == 3
    after = bench.run(*options, *both)
    assert figures(after.outlines) == {
        "cases": "4",
        "distinct requests": "5",
        "in the store": "3",
        "calls": "2",
    }
    assert not any(FURTHER in line for line in after.outlines)
    assert len(bench.calls("ask")) == 3


JUDGED = """

def asks(prediction, references, **_):
    reply = yield Ask((Message("user", f"{prediction}? {'x' * 60}"),))


def pytest_tablebench_register_metric(register):
    register("asks", asks)
"""


def test_the_plan_prices_judge_calls_with_the_expected_answer(bench):
    bench.pytester.makeconftest(
        CALLED.replace('metric = "exact_match"', 'metric = "asks"') + ROUNDS + JUDGED
    )
    options = ("--model=echo/any", "--bench-judge=other/any", "--bench-limit=3")
    lines = bench.run(*options, "--bench-plan").outlines
    place = next(n for n, line in enumerate(lines) if "plan of judge other/any" in line)
    assert figures(lines[place:])["calls"] == "3"
    # 64 characters at four for each token, and a reply of 512 for each.
    assert any("prompt tokens" in line and "about 48 " in line for line in lines[place:])
    assert any("at most 1,536" in line for line in lines[place:])
    assert any("judge other/any: 3 answers are not stored yet" in line for line in lines)
