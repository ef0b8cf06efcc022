"""Calls, tokens, time and cost of each strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_tablebench.claims.summary import add_spending, spent_on, summarize
from pytest_tablebench.results import Record
from tests.support.printed import summary_lines


def record(example: str, strategy: str, score: float, **further: Any) -> Record:
    return Record(
        case_id=f"d/{example}/html/none/{strategy}",
        model="m",
        benchmark="b",
        dataset="d",
        example_id=example,
        serializer="html",
        perturbation="none",
        strategy=strategy,
        modality="text",
        outcome="right" if score else "wrong",
        score=score,
        passed=bool(score),
        metric="exact_match",
        raw="x",
        **{"latency_s": 1.0, "prompt_tokens": 10, "completion_tokens": 2, **further},
    )


LOOP = (
    {"kind": "ask", "model": None},
    {"kind": "execute", "model": None},
    {"kind": "ask", "model": None},
    {"kind": "ask", "model": "judge"},
)
RECORDS = [
    record("1", "direct", 1.0, cost_usd=0.25),
    record("2", "direct", 0.0, cost_usd=0.25),
    record("1", "icot[max_exec=2]", 1.0, steps=LOOP, latency_s=2.5),
    record("2", "icot[max_exec=2]", 1.0, steps=LOOP, cost_usd=1.0),
]


def test_the_summary_has_calls_tokens_time_and_cost_of_each_strategy():
    summary = summarize(RECORDS)
    add_spending(summary, lambda: RECORDS)
    spending = summary["benchmarks"]["b"]["strategies"]
    assert spending["direct"] == {
        "performance": 0.5,
        "n_cases": 2,
        "calls": 2,
        "prompt_tokens": 20,
        "completion_tokens": 4,
        "seconds": 2.0,
        "cost_usd": 0.5,
    }
    loop = spending["icot[max_exec=2]"]
    assert (loop["performance"], loop["calls"], loop["seconds"]) == (1.0, 4, 3.5)
    assert loop["cost_usd"] is None  # the cost of one answer is unknown
    [line] = [line for line in summary_lines(summary) if line.startswith("icot[max_exec=2]")]
    assert line.split() == ["icot[max_exec=2]", "1.000", "2", "4", "20", "4", "3.5", "-"]


def test_a_run_with_a_single_strategy_is_not_read_again():
    summary = summarize(RECORDS[:2])
    add_spending(summary, lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert "strategies" not in summary["benchmarks"]["b"]


def test_a_request_that_several_cases_share_counts_once():
    def step(key: str, tokens: int, **further: Any) -> dict[str, Any]:
        taken = {"prompt_tokens": tokens, "completion_tokens": 1, "latency_s": 0.5}
        return {"kind": "ask", "key": key, "model": None, "cost_usd": 0.1, **taken, **further}

    judge = step("judge", 99, model="judge")
    run = {"kind": "execute", "key": "program", "model": None, "latency_s": 2.0}
    first = record("1", "treethinker", 1.0, steps=(step("tree", 7), step("a", 10), run, judge))
    second = record("2", "treethinker", 1.0, steps=(step("tree", 7), step("b", 10), run))
    spending = spent_on([first, second])
    assert spending["calls"] == 3
    assert (spending["prompt_tokens"], spending["completion_tokens"]) == (7 + 10 + 10, 3)
    assert spending["seconds"] == 3 * 0.5 + 2.0
    assert spending["cost_usd"] == pytest.approx(0.3)
    # The same messages with another reply limit or in another repeat are separate calls.
    twice = record("1", "treethinker", 1.0, steps=(step("a", 10), step("a", 10)))
    assert spent_on([twice, twice])["calls"] == 2
    assert spent_on([twice, replace(twice, repeat=2)])["calls"] == 4
    # A single question is identified by its prompt and its repeat.
    alike = [record("1", "direct", 1.0, prompt_digest="d", repeat=n) for n in (1, 1, 2)]
    assert spent_on(alike)["calls"] == 2
