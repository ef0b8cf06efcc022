"""Many cases of d without an answer, by reason and text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pytest_tablebench.reports.failures import grouped_lines, shown_count


def report(case: str, text: str) -> Any:
    longrepr = f"no score (metric_error): {text}"
    return SimpleNamespace(tablebench_case=("m", case), longrepr=longrepr)


def test_two_errors_in_a_dataset_make_two_lines() -> None:
    cell: Any = SimpleNamespace(
        passed=None, score=None, reason="metric_error", dataset="d", example_id="e"
    )
    texts = ["first (em): is broken", "second (em): is broken", "second (em): is broken"]
    reports = [report(f"c{n}", text) for n, text in enumerate(texts)]
    assert grouped_lines({"m": {f"c{n}": cell for n in range(3)}}, reports) == [
        "2 cases of d without an answer (metric_error): second (em): is broken",
        "1 case of d without an answer (metric_error): first (em): is broken",
    ]


def test_two_datasets_make_two_lines() -> None:
    cells: dict[str, Any] = {
        name: SimpleNamespace(
            passed=None, score=None, reason="metric_error", dataset=name, example_id="e"
        )
        for name in ("first", "second")
    }
    reports = [report(name, "em is broken") for name in cells]
    assert grouped_lines({"m": cells}, reports) == [
        "1 case of first without an answer (metric_error): em is broken",
        "1 case of second without an answer (metric_error): em is broken",
    ]


def test_changed_answers_are_no_wrong_answers() -> None:
    cell: Any = SimpleNamespace(passed=True, score=1.0, reason=None, dataset="d", example_id="e")
    changed = report("c", "")
    changed.tablebench_changed = "changed since v1: reworded"
    assert [line.split("  ") for line in grouped_lines({"m": {"c": cell}}, [changed])][1:] == [
        ["d/e", "changed in 1 of 1", "changed since v1: reworded"]
    ]


def test_many_different_texts_are_counted() -> None:
    cell: Any = SimpleNamespace(
        passed=None, score=None, reason="timeout", dataset="d", example_id="e"
    )
    reports = [report(f"c{n}", f"text {n}") for n in range(7)]
    lines = grouped_lines({"m": {f"c{n}": cell for n in range(7)}}, reports)
    assert len(lines) == 6
    assert lines[-1] == "2 more cases of d without an answer (timeout), 2 other texts"


def test_few_failures_are_shown_in_full_and_more_are_grouped() -> None:
    assert [shown_count(failed, None) for failed in (0, 10, 11)] == [0, 10, 0]
    assert [shown_count(failed, 3) for failed in (2, 11)] == [3, 3]
