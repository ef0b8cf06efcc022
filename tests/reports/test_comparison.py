"""Comparisons in the terminal."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.reports.comparison import comparison_report, methods_line
from tests.support.run_folders import GRID, record, write_run

HOSTILE = "\x1b[31m<script>|`@admin`\u202e\nrow"


def compared(tmp_path, before, after, **facts):
    first = write_run(tmp_path / "a", before)
    return compare_runs(first, write_run(tmp_path / "b", after, **facts), allow_unlike=True)


def comparison_lines(comparison, **options):
    return terminal_lines(comparison_report(comparison, **options).blocks)


def columns(line):
    return re.split(r"\s{2,}", line.strip())


def test_the_first_table_shows_each_measure(tmp_path):
    before = {"e1": [1, 0, 0, 0], "e2": [1, 1, 1, 1], "e3": [0, 0, 0, 0]}
    after = {"e1": [1, 1, 0, 0], "e2": [1, 1, 1, 0], "e3": [1, 1, 1, 1]}
    lines = comparison_lines(compared(tmp_path, before, after, model="n"))
    assert lines[0] == f"before  m  ({tmp_path / 'a'}): 12 cases, 0 without an answer"
    assert lines[1] == f"after   n  ({tmp_path / 'b'}): 12 cases, 0 without an answer"
    assert lines[2] == "differs: model: m before, n after (models are what is compared)"
    [row] = [line for line in lines if line.startswith("toy  performance")]
    cells = columns(row)
    # 1/3 and 4.3027 standard errors of .3632 to each side, cut at -1 and 1.
    assert cells[:6] == ["toy", "performance", "0.417", "0.750", "+0.333", "-1.000 to +1.000"]
    assert cells[7:] == ["3", "0", "0.0 % / 0.0 %", "5", "1"]
    [row] = [line for line in lines if columns(line)[0] == "robustness"]
    assert columns(row)[:4] == ["robustness", "0.667", "0.333", "-0.333"]
    [row] = [line for line in lines if line.startswith("  html ")]
    assert columns(row)[1] == "+0.167"  # of 0, -.5 and 1
    assert columns(row)[-2:] == ["2", "1"]


def test_a_benchmark_of_several_datasets_has_a_row(tmp_path):
    cases = [
        record(f"e{n}", *GRID[0], n % 2, dataset=name) for name in ("one", "two") for n in range(3)
    ]
    lines = comparison_lines(compared(tmp_path, cases, cases))
    names = [columns(line)[0] for line in lines if "  performance  " in line]
    assert names == ["toys (all)", "one", "two"]


def test_flips_are_listed_up_to_a_number(tmp_path):
    before = {f"e{n:02}": [0, 0, 0, 0] for n in range(8)}
    after = {name: [1, 1, 1, 1] for name in before}
    lines = comparison_lines(compared(tmp_path, before, after))
    start = lines.index("wrong before, right now: 32")
    assert lines[start + 1] == "  toy/e00/csv/none"
    assert lines[start + 21] == "  ... and 12 more (all of them with --json)"
    assert lines[start + 22] == "right before, wrong now: 0"
    few = comparison_lines(compared(tmp_path / "again", before, after), flips=1)
    assert "  ... and 31 more (all of them with --json)" in few


def test_settings_that_make_runs_unlike_are_marked(tmp_path):
    cases = {"e1": [1, 1, 1, 1], "e2": [0, 0, 0, 0]}
    lines = comparison_lines(compared(tmp_path, cases, cases, seed=3))
    [line] = [line for line in lines if line.startswith("differs: seed")]
    assert line.startswith("differs: seed: 0 before, 3 after (UNLIKE, ")


def test_an_interval_and_a_p_value_that_disagree_are_explained():
    """The interval excludes 0 while the p-value is above .05; their methods differ."""

    def shown(interval, p, measures=("performance",)):
        difference = SimpleNamespace(
            interval=interval, p=p, test="sign-flip over tables", method="t"
        )
        scope = SimpleNamespace(measures={"performance": difference})
        comparison: Any = SimpleNamespace(scopes=[scope])
        return methods_line(comparison, measures)

    line = shown((-0.207, -0.003), 0.124)
    assert line == (
        "an interval and a p-value that disagree come from different methods (interval: t; "
        "p: sign-flip over tables); treat such a difference as unclear"
    )
    assert shown((-0.1, 0.1), 0.03) == line
    assert shown((-0.207, -0.003), 0.04) == shown((-0.1, 0.1), 0.4) == shown(None, 0.4) == ""
    assert shown((-0.207, -0.003), 0.124, measures=("robustness",)) == ""


def test_hostile_text_is_escaped(tmp_path):
    cases = [
        record(
            HOSTILE, *GRID[n % 4], n % 2, dataset=HOSTILE, benchmark=HOSTILE, tail=HOSTILE + str(n)
        )
        for n in range(4)
    ]
    flipped = [record(HOSTILE, *GRID[0], 1, dataset=HOSTILE, tail=HOSTILE)]
    first = write_run(tmp_path / "a", cases, model=HOSTILE, compat=HOSTILE)
    second = write_run(tmp_path / "b", flipped, model=HOSTILE + "2", params={HOSTILE: HOSTILE})
    comparison = compare_runs(first, second, allow_unlike=True)
    assert comparison.better
    assert comparison.only_before
    for line in comparison_lines(comparison):
        assert line.isprintable(), line
