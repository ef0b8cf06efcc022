"""What the kill measurement concludes from the load server's log and counts."""

from __future__ import annotations

from benchmarks.engine import asked_again, delivered_answers
from benchmarks.engine_runs import Grid


def test_an_answer_counts_as_delivered_unless_it_was_taken_back() -> None:
    log = [
        "aa 1.0 answered",
        "bb 1.5 answered",
        "bb 1.6 unread",
        "cc 2.0 answered",
        "cc 2.1 unread",
        "cc 3.0 answered",
    ]
    assert delivered_answers(log) == {"aa": 1.0, "cc": 3.0}


def test_only_delivered_prompts_with_new_requests_were_asked_again() -> None:
    before = {"aa": [1, 1], "bb": [1, 1], "cc": [1, 0]}
    after = {"aa": [2, 2], "bb": [1, 1], "cc": [2, 1], "dd": [1, 1]}
    assert asked_again(["aa", "bb"], before, after) == ["aa"]


def test_a_scaled_grid_has_whole_tables_of_statements() -> None:
    assert Grid(200).cases == 1000
    assert Grid(1000, 5, 4).cases == 20_000
    assert Grid(200).times(0.1) == Grid(20)
    assert Grid(200).times(0.001) == Grid(5)
