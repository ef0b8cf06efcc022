"""Scores by skill, against figures worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from pytest_tablebench.papers._skills import BEST_SKILL, BEST_SUBTASK, MEAN, by_skill
from pytest_tablebench.results.run import RunRow


def row(  # noqa: PLR0917 - the fields of a record
    dataset: str,
    strategy: str,
    score: float | None,
    example_id: str = "1",
    tags: Mapping[str, str] | None = None,
    cost_usd: float | None = 0.5,
) -> RunRow:
    return RunRow(
        "b", dataset, example_id, "html", "none", score, None, None, strategy=strategy,
        tags=tags or {}, cost_usd=cost_usd, case_id="", model="m",
    )  # fmt: skip


SCORES = {
    # dataset: skill, score in tcot and in pot
    "query": ("TBO", 0.6, 1.0),
    "selection": ("TBO", 0.8, 0.2),
    "summary": ("TU", 0.5, None),
    "retrieval": ("TU", 0.3, 0.9),
}


def rows() -> Iterator[RunRow]:
    for dataset, (skill, tcot, pot) in SCORES.items():
        for strategy, score in (("tcot", tcot), ("pot", pot)):
            if score is not None:
                yield row(dataset, strategy, score, tags={"skill": skill})
    yield row("other", "tcot", 0.0)


def test_scores_take_the_best_strategy_per_subtask_per_skill_or_overall() -> None:
    skills = by_skill(rows())
    assert skills["skills"][BEST_SUBTASK] == pytest.approx({"TBO": 0.9, "TU": 0.7})
    # Only tcot was asked both subtasks of TU. In TBO the mean of pot is .6, of tcot .7.
    assert skills["skills"][BEST_SKILL] == pytest.approx({"TBO": 0.7, "TU": 0.4})
    assert skills["skills"][MEAN] == pytest.approx({"TBO": 0.65, "TU": 0.55})
    assert skills["overall"] == pytest.approx({BEST_SUBTASK: 0.8, BEST_SKILL: 0.55, MEAN: 0.6})
    assert {name: subtask["best_modes"] for name, subtask in skills["subtasks"].items()} == {
        "query": ["pot"],
        "selection": ["tcot"],
        "summary": ["tcot"],
        "retrieval": ["pot"],
    }


def test_all_strategies_of_a_tie_are_the_best() -> None:
    tags = {"skill": "TBO"}
    tie = [row("query", strategy, 0.0, tags=tags) for strategy in ("tcot", "pot", "icot")]
    assert by_skill(tie)["subtasks"]["query"]["best_modes"] == ["icot", "pot", "tcot"]


def test_the_overall_score_needs_every_skill() -> None:
    assert by_skill(rows(), ("TBO",))["overall"][MEAN] == pytest.approx(0.65)
    assert by_skill(rows(), ("TBO", "DA"))["overall"] == {
        BEST_SUBTASK: None,
        BEST_SKILL: None,
        MEAN: None,
    }


def test_formats_are_averaged_within_an_example_and_missing_answers_left_out() -> None:
    tags = {"skill": "DA"}
    skills = by_skill(
        [
            row("outliers", "tcot", 1.0, "1", tags),
            row("outliers", "tcot", 0.0, "1", tags),
            row("outliers", "tcot", 1.0, "2", tags),
            row("outliers", "tcot", None, "3", tags),
        ]
    )
    assert skills["skills"][MEAN] == {"DA": 0.75}
    nothing = by_skill([row("outliers", "tcot", None, "1", tags)])
    assert nothing["skills"][BEST_SUBTASK] == {"DA": None}
    assert by_skill([row("outliers", "tcot", 1.0)]) == {}


def test_each_strategy_has_a_cost_unless_a_case_lacks_one() -> None:
    modes = by_skill(rows())["modes"]
    assert (modes["tcot"]["cases"], modes["tcot"]["cost_usd"]) == (4, 2.0)
    assert modes["pot"] == {
        "skills": pytest.approx({"TBO": 0.6, "TU": 0.9}),
        "cases": 3,
        "cost_usd": 1.5,
        "cost_per_case": 0.5,
    }
    unknown = row("query", "pot", 1.0, "2", {"skill": "TBO"}, None)
    assert by_skill([*rows(), unknown])["modes"]["pot"]["cost_usd"] is None
