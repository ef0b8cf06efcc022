"""Figures by the corrected gold: of a table whose records were replaced or left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from pytest_tablebench import judge_gates
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.results import Record, ScoreTable
from pytest_tablebench.results.corrected import corrected_cases, corrected_counts
from tests.support.run_folders import GRID, record

SCORES = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0])


def entry(score: float | None, *, left_out: bool = False) -> dict[str, Any]:
    """Return the `corrected` of a record."""
    if left_out:
        return {"verdict": "broken", "left_out": "the table is broken"}
    if score is None:
        return {"verdict": "wrong"}
    return {"verdict": "wrong", "score": score, "passed": score >= 1, "parts": {"em": score}}


@st.composite
def runs(draw: st.DrawFn) -> list[Record]:
    """Draw records of two datasets, some of them with corrections."""
    records = []
    for example in draw(st.lists(st.integers(0, 9), min_size=1, max_size=8, unique=True)):
        dataset = draw(st.sampled_from(["one", "two"]))
        kind = draw(st.sampled_from(["plain", "changed", "left out"]))
        for cell in GRID[: draw(st.integers(1, 3))]:
            score = draw(SCORES)
            case = record(f"e{example}", *cell, score, dataset=dataset)
            case = replace(case, parts={} if score is None else {"em": score})
            if kind != "plain":
                other = None if score is None else draw(st.sampled_from([0.0, 0.5, 1.0]))
                case = replace(case, corrected=entry(other, left_out=kind == "left out"))
            records.append(case)
    return records


def by_corrected_gold(records: list[Record]) -> list[Record]:
    """Return the records that a run over the corrected data would have."""
    corrected = []
    for case in records:
        if case.corrected is None:
            corrected.append(case)
        elif "left_out" not in case.corrected:
            names = {"score", "passed", "parts"} & case.corrected.keys()
            fields = {name: case.corrected[name] for name in names}
            corrected.append(replace(case, **fields, corrected=None))
    return corrected


@settings(max_examples=30)
@for_all(runs())
def test_figures_equal_those_of_a_run_over_corrected_data(records: list[Record]) -> None:
    expected = ScoreTable.from_records(by_corrected_gold(records))
    corrected = ScoreTable.from_records(records).corrected
    assert summarize(corrected) == summarize(expected)
    from_file = ScoreTable.from_records([case.values for case in records])
    expected = ScoreTable.from_records([case.values for case in by_corrected_gold(records)])
    assert summarize(from_file.corrected) == summarize(expected)


@settings(max_examples=30)
@for_all(runs())
def test_a_gate_on_corrected_figures_equals_a_gate_on_corrected_data(records: list[Record]) -> None:
    measures = ("performance >= 0.5", "em >= 0.5", "no_answer <= 0.1")
    corrected = judge_gates(records, [f"all@corrected.{measure}" for measure in measures])
    expected = judge_gates(by_corrected_gold(records), [f"all.{measure}" for measure in measures])
    # Without a record left, the scope is unknown by other names.
    assert [replace(result, gate="", reason="") for result in corrected] == [
        replace(result, gate="", reason="") for result in expected
    ]


def test_examples_are_counted_once() -> None:
    records = [
        replace(record("e1", *GRID[0], 1.0), corrected=entry(0.0)),
        replace(record("e1", *GRID[1], 1.0), corrected=entry(None)),
        replace(record("e2", *GRID[0], 1.0), corrected=entry(None, left_out=True)),
        replace(record("e2", *GRID[1], 1.0), corrected=entry(None, left_out=True)),
        replace(record("e3", *GRID[0], 1.0), corrected={**entry(1.0), "verdict": "right"}),
        record("e4", *GRID[0], 1.0),
    ]
    counts = corrected_counts(corrected_cases(records))
    assert counts == {"changed": 1, "left_out": 1, "reasons": {"the table is broken": 1}}


@pytest.mark.parametrize(
    "corrected",
    [
        [],
        "x",
        {},
        {"verdict": 1},
        {"verdict": "wrong", "score": 2},
        {"verdict": "wrong", "score": "1"},
        {"verdict": "wrong", "passed": []},
        {"verdict": "wrong", "parts": {"em": "1"}},
        {"verdict": "wrong", "left_out": 3},
    ],
)
def test_a_damaged_corrected_score_is_refused(corrected: Any) -> None:
    line = replace(record("e1", *GRID[0], 1.0), corrected=corrected).to_line()
    with pytest.raises(ValueError, match="its corrected score is damaged"):
        Record.from_line(line)


def test_a_field_of_this_name_in_other_records_is_ignored() -> None:
    case = {**record("e1", *GRID[0], 1.0).values, "corrected": True}
    table = ScoreTable.from_records([case])
    assert table.corrected is table
