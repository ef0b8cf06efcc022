"""Lines of the plan of a run."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.reports.plan import plan_report
from pytest_tablebench.running.plan import ModelPlan


@pytest.mark.parametrize(
    ("hits", "snapshot", "expected"),
    [
        (3, True, "m: 3 of 5 answers are in the store. Snapshots of these cannot show that"),
        (1, True, "m: 1 of 5 answers is in the store. Snapshots of these cannot show that"),
        (0, True, None),
        (3, False, None),
    ],
)
def test_the_plan_warns_that_stored_answers_do_not_change_snapshots(
    hits: int, snapshot: bool, expected: str | None
) -> None:
    plan = ModelPlan("m", cases=5, requests=5, hits=hits, calls=5 - hits)
    lines = terminal_lines(plan_report([asdict(plan)], Settings(snapshot=snapshot)).blocks)
    advice = [line for line in lines if "--bench-fresh asks again" in line]
    assert [line.startswith(str(expected)) for line in advice] == [True] * bool(expected)
