"""Rules that comparisons of runs follow for all scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.claims.gates import judge_gates
from pytest_tablebench.results import read_records
from tests.support.present import present
from tests.support.run_folders import record, write_run

SCORES = st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
RUNS = st.dictionaries(
    st.sampled_from(["e1", "e2", "e3", "e4", "e5"]),
    st.tuples(*[st.tuples(SCORES, SCORES)] * 4),
    min_size=1,
)


def toy(comparison, measure):
    [scope] = [s for s in comparison.scopes if (s.kind, s.name) == ("dataset", "toy")]
    return scope.measures[measure]


def run_pair(factory: pytest.TempPathFactory, cells) -> tuple[Path, Path]:
    folder = factory.mktemp("runs")
    sides = [{name: [cell[side] for cell in row] for name, row in cells.items()} for side in (0, 1)]
    return write_run(folder / "a", sides[0]), write_run(folder / "b", sides[1])


@given(RUNS)
def test_swapping_the_runs_flips_every_sign(tmp_path_factory, cells):
    first, second = run_pair(tmp_path_factory, cells)
    forth, back = compare_runs(first, second), compare_runs(second, first)
    assert (forth.better, forth.worse) == (back.worse, back.better)
    assert (forth.answers.gained, forth.answers.lost) == (back.answers.lost, back.answers.gained)
    for scope_forth, scope_back in zip(forth.scopes, back.scopes, strict=True):
        for measure, difference in scope_forth.measures.items():
            turned = scope_back.measures[measure]
            assert difference.examples == turned.examples
            assert (difference.before, difference.after) == (turned.after, turned.before)
            if difference.interval is not None:
                low, high = present(turned.interval)
                assert difference.interval == pytest.approx((-high, -low))


@given(RUNS)
def test_a_run_against_itself_is_identical(tmp_path_factory, cells):
    first, _ = run_pair(tmp_path_factory, cells)
    comparison = compare_runs(first, first)
    assert comparison.better == comparison.worse == ()
    assert comparison.differences == ()
    for compared in comparison.scopes:
        for difference in compared.measures.values():
            assert difference.value in (None, 0.0)
            assert difference.value is None or difference.identical or difference.note


@given(RUNS)
def test_differences_agree_with_a_second_implementation(tmp_path_factory, cells):
    comparison = compare_runs(*run_pair(tmp_path_factory, cells))
    rows = []
    for row in cells.values():
        pairs = [(a, b) for a, b in row if a is not None and b is not None]
        if pairs:
            rows.append(sum(b - a for a, b in pairs) / len(pairs))
    difference = toy(comparison, "performance")
    assert difference.examples == len(rows)
    assert difference.left_out == len(cells) - len(rows)
    if rows:
        assert difference.value == pytest.approx(sum(rows) / len(rows), abs=1e-12)


ASKED = st.dictionaries(
    st.sampled_from(["e1", "e2", "e3", "e4", "e5", "e6"]),
    # Two formats, two repeats of each. A run without an example did not ask it.
    st.tuples(*[st.none() | st.lists(SCORES, min_size=4, max_size=4)] * 2),
    min_size=2,
)


def write_repeated_run(folder: Path, runs: dict[str, list[float | None] | None]) -> Path:
    cases = [
        record(example, serializer, "none", score, tail=tail)
        for example, scores in runs.items()
        for (serializer, tail), score in zip(
            [("csv", ""), ("csv", "/r2"), ("html", ""), ("html", "/r2")], scores or (), strict=False
        )
    ]
    cases = [replace(case, repeat=2 if case.case_id.endswith("/r2") else 1) for case in cases]
    return write_run(folder, cases)


@given(ASKED)
def test_gates_and_comparisons_compute_the_same_difference(tmp_path_factory, runs):
    both = [example for example, sides in runs.items() if None not in sides]
    assume(both)
    parent = tmp_path_factory.mktemp("runs")
    first, second = (
        write_repeated_run(
            parent / name, {example: sides[place] for example, sides in runs.items()}
        )
        for place, name in enumerate("ab")
    )
    comparison = compare_runs(first, second)
    measures = ("performance", "pass_rate", "robustness")
    gates = [f"toy.{measure} >= baseline" for measure in measures]
    results = judge_gates(list(read_records(second)), gates, list(read_records(first)))
    for measure, result in zip(measures, results, strict=True):
        difference = toy(comparison, measure)
        assert difference.examples == result.examples
        if result.examples:
            assert difference.left_out == result.n_left_out
            assert difference.value == pytest.approx(result.value, abs=1e-12)
        if result.interval is not None and result.state != "undecided":
            assert difference.interval == pytest.approx(result.interval, abs=1e-9)
