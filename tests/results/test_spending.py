"""What each strategy's answers took, beside its score."""

from __future__ import annotations

from typing import Any

from pytest_tablebench.reports.beside_text import strategy_rows
from pytest_tablebench.reports.terminal import summary_lines
from pytest_tablebench.results import Record, summarize
from pytest_tablebench.results._spending import add_spending


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


def test_calls_tokens_seconds_and_cost_stand_beside_each_strategys_score():
    summary = summarize(RECORDS)
    add_spending(summary, lambda: RECORDS)
    found = summary["benchmarks"]["b"]["strategies"]
    assert found["direct"] == {
        "performance": 0.5,
        "n_cases": 2,
        "calls": 2,
        "prompt_tokens": 20,
        "completion_tokens": 4,
        "seconds": 2.0,
        "cost_usd": 0.5,
    }
    loop = found["icot[max_exec=2]"]
    assert (loop["performance"], loop["calls"], loop["seconds"]) == (1.0, 4, 3.5)
    assert loop["cost_usd"] is None  # that of one answer is unknown
    assert strategy_rows(summary["benchmarks"]["b"])[1] == (
        "icot[max_exec=2]", "1.000", "2", "4", "20", "4", "3.5", "-",
    )  # fmt: skip
    assert any(line.startswith("icot[max_exec=2]") for line in summary_lines(summary))


def test_a_run_in_one_strategy_is_not_read_for_it():
    summary = summarize(RECORDS[:2])
    add_spending(summary, lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert "strategies" not in summary["benchmarks"]["b"]
