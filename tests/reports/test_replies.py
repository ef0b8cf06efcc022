"""The line about replies cut off at the token limit."""

from __future__ import annotations

from typing import Any

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.reports.summary import cut_line
from pytest_tablebench.results import ScoreRow
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.printed import summary_lines


def summary(cut_off: int, truncated: int, cases: int = 50) -> dict[str, Any]:
    cells = [
        ScoreRow(
            *("b", "d", f"e{number}", "csv", "none"),
            score=None if number < cut_off else 1.0,
            passed=None if number < cut_off else True,
            reason="cut_off" if number < cut_off else None,
            tallies={"cut_off": 1.0}
            if number < cut_off
            else {"truncated": 1.0}
            if number < cut_off + truncated
            else {},
        )
        for number in range(cases)
    ]
    return summarize(cells)


def test_the_line_names_the_share_the_limit_and_the_option() -> None:
    run = {"params": {"temperature": 0.0, "max_tokens": 512}}
    assert cut_line(summary(0, 6), RunFacts.from_json(run)) == (
        "12.0 % of the replies were cut off at 512 tokens: --bench-extend-cut 4096 asks only "
        "these again"
    )
    line = cut_line(summary(4, 2), RunFacts.from_json(run))
    assert line is not None
    assert line.endswith("asks only these again (8.0 % contain no answer)")
    assert line in summary_lines(summary(4, 2), RunFacts.from_json(run))


def test_a_datasets_limit_has_priority_and_an_unknown_limit_is_left_out() -> None:
    run = {"params": {"max_tokens": 512}, "by_dataset": {"d": {"params": {"max_tokens": 4096}}}}
    assert "cut off at 4096 tokens: --bench-extend-cut 16384 " in str(
        cut_line(summary(1, 0), RunFacts.from_json(run))
    )
    assert "were cut off: --bench-extend-cut 4096" in str(cut_line(summary(1, 0), RunFacts()))
    extended = {**run, "extend_cut": 8192}
    assert "cut off at 8192 tokens" in str(cut_line(summary(1, 0), RunFacts.from_json(extended)))


def test_the_limits_of_the_replies_have_priority_over_the_limit_of_the_run() -> None:
    figures = summary(0, 2)
    figures["benchmarks"]["b"]["datasets"]["d"]["cut_at"] = [512, 8704]
    line = str(cut_line(figures, RunFacts.from_json({"params": {"max_tokens": 512}})))
    assert "cut off at 512 to 8704 tokens: --bench-extend-cut 34816 asks" in line


def test_without_replies_cut_off_there_is_no_line() -> None:
    assert cut_line(summary(0, 0), RunFacts.from_json({"params": {"max_tokens": 512}})) is None
