"""The first and the last lines of the terminal report."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.claims.gates import GateResult
from pytest_tablebench.claims.outliers import Outlier
from pytest_tablebench.documents.formats import fitting, left_out_lines
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.reports.terminal import (
    fitted,
    new_failure_blocks,
    next_lines,
    no_case_lines,
    outlier_blocks,
    rerun_line,
)
from pytest_tablebench.results.run_facts import RunFacts


def outlier(name: str, value: float, dataset: str = "d", kind: str = "serializer") -> Outlier:
    difference = Estimate(value - 0.5, value - 0.6, value - 0.4, examples=20)
    return Outlier(dataset, kind, name, value, 0.5, difference)


def test_the_lowest_outliers_are_named_and_the_others_counted() -> None:
    lines = terminal_lines(outlier_blocks([outlier("csv", 0.1), outlier("sum", 0.2, kind="kind")]))
    assert lines[1:] == [
        "  serializer csv  0.100  -0.400  (-0.500 to -0.300)",
        "  kind=sum        0.200  -0.300  (-0.400 to -0.200)",
    ]
    many = [outlier(f"s{place}", 0.1, dataset=f"d{place % 2}") for place in range(7)]
    lines = terminal_lines(outlier_blocks([*many, outlier("html", 0.9)]))
    assert len(lines) == 7
    assert lines[1].startswith("  d0 serializer s0 ")
    assert lines[-1] == "  and 2 more below and 1 above the mean"
    assert outlier_blocks([outlier("html", 0.9)]) == outlier_blocks([]) == []


def compared(worse: int, better: int, lost: int) -> Any:
    return SimpleNamespace(
        worse=tuple(f"d/e{place}/html/none" for place in range(worse)),
        better=("d/x/html/none",) * better,
        answers=SimpleNamespace(lost=lost),
    )


def test_new_failures_are_counted_and_some_named() -> None:
    first, *named, last = terminal_lines(new_failure_blocks(compared(7, 1, 2), None))
    assert first == (
        "new failures against the baseline: 7 cases; 1 right that was wrong; "
        "2 without an answer that had one"
    )
    assert named == [f"  d/e{place}/html/none" for place in range(5)]
    assert last == "  ... and 2 more (--bench-show=N names N)"
    assert len(terminal_lines(new_failure_blocks(compared(7, 1, 0), 7))) == 8
    assert len(terminal_lines(new_failure_blocks(compared(7, 1, 0), 0))) == 1


def gate(**values: Any) -> Any:
    """Return a gate that 23 examples decide."""
    facts: dict[str, Any] = {"gate": "d.performance >= 0.25", "bound": 0.25, "n_needed": 23}
    return GateResult(**facts | values)


def test_the_last_lines_name_the_next_commands(tmp_path: Path) -> None:
    (tmp_path / "report.html").touch()
    rerun = rerun_line(["suites/test_d.py::test_d[e 1]"], ["--bench-data=my data"], all_failed=True)
    assert rerun == (
        "run it again: pytest 'suites/test_d.py::test_d[e 1]' '--bench-data=my data' "
        "(all failed tests: the same command with --lf)"
    )
    lines = next_lines(
        tmp_path, [gate(), gate(state="holds", n_needed=None)], "d/e 1/html/none", rerun
    )
    assert lines == [
        f"open the report: {tmp_path / 'report.html'}",
        f"see a wrong answer: tablebench show {tmp_path} 'd/e 1/html/none'",
        rerun,
        "to decide d.performance >= 0.25: about 23 examples; --bench-limit asks more",
    ]
    (tmp_path / "report.html").unlink()
    assert next_lines(tmp_path, [gate(n_needed=None)]) == [f"run folder: {tmp_path}"]


@pytest.mark.parametrize(
    ("there_are", "addition"),
    [(16, "there are only 16"), (23, "--bench-limit asks more"), (None, "--bench-limit asks more")],
)
def test_a_gate_that_needs_more_examples_than_the_dataset_has_is_marked(
    tmp_path, there_are, addition
) -> None:
    counted = []

    def count(text: str, most: int) -> int | None:
        counted.append((text, most))
        return there_are

    [_, line] = next_lines(tmp_path, [gate()], there_are=count)
    assert line.endswith(f"about 23 examples; {addition}")
    assert counted == [("d.performance >= 0.25", 23)]


def test_a_narrow_terminal_wraps_prose_and_drops_columns() -> None:
    prose = "one two three four five six"
    assert fitted([prose, "a  row of  a table that is wide"], 14) == [
        "one two three",
        "  four five",
        "  six",
        "a  row of  a table that is wide",
    ]
    assert fitted([prose], None) == [prose]
    rows = [("", "first", "second", "third"), ("a", "1", "2", "3")]
    assert fitting(rows, 17, fewest=2) == ["   first  second", "a      1       2"]
    assert fitting(rows, 3, fewest=2) == ["   first", "a      1"]


def test_a_session_without_cases_names_a_command_that_has_cases() -> None:
    _, command = no_case_lines(["--bench-dataset=starter", "--bench-data=my data"])
    named = "pytest --pyargs pytest_tablebench.suites"
    assert command == f"  {named} --bench-dataset=starter '--bench-data=my data'"


def test_reasons_for_cases_that_do_not_apply_are_counted_if_there_are_several() -> None:
    run: dict[str, Any] = {
        "by_dataset": {"a": {"does_not_apply": {"why": 91}}, "b": {"does_not_apply": {}}}
    }
    assert left_out_lines(RunFacts.from_json(run)) == ["a: 91 cases do not apply: why"]
    run["by_dataset"]["a"]["does_not_apply"]["or"] = 1200
    assert left_out_lines(RunFacts.from_json(run)) == [
        "a: 1,291 cases do not apply: why 91, or 1,200"
    ]
