"""Non-inferiority of efforts on pairs, with figures by formula."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from pytest_tablebench.claims._cheapest import choose
from pytest_tablebench.claims.gates import judge_gates
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.config.axes import AXES
from pytest_tablebench.reports._same_question import setting_lines

EFFORT = next(axis for axis in AXES if axis.name == "effort")


def records(scores: dict[str, list[float]], **further: Any) -> list[dict[str, Any]]:
    return [
        {
            "dataset": "d",
            "benchmark": "b",
            "example_id": str(number),
            "effort": effort,
            "serializer": "html",
            "perturbation": "none",
            "strategy": "direct",
            "modality": "text",
            "score": score,
            "passed": score == 1,
            **further,
        }
        for effort, column in scores.items()
        for number, score in enumerate(column)
    ]


def block(scores: dict[str, list[float]], margin: float = 0.01) -> dict[str, Any]:
    summary = summarize(records(scores), margins={"effort": margin})
    entry: dict[str, Any] = summary["benchmarks"]["b"]["efforts"]
    return entry


SPREAD = [0.5, 0.52] * 50
"""Scores with differences to 0.51 of 0.01 either way."""


def test_an_effort_with_the_same_scores_is_not_worse() -> None:
    paired = block({"high": [0.51] * 100, "low": SPREAD})["settings"]["low"]["paired"]
    # n = 100, standard deviation 0.01 sqrt(100 / 99): the standard error is 0.01 / sqrt(99).
    se = 0.01 / math.sqrt(99)
    assert paired["difference"] == pytest.approx(0)
    assert paired["ci95"] == pytest.approx([-t.ppf(0.975, 99) * se, t.ppf(0.975, 99) * se])
    assert paired["p"] == pytest.approx(t.sf(0.01 / se, 99), rel=1e-6)
    assert (paired["state"], paired["more_examples"]) == ("not worse", None)


def test_an_effort_below_the_margin_is_worse() -> None:
    paired = block({"high": [0.6] * 100, "low": SPREAD})["settings"]["low"]["paired"]
    assert (paired["state"], paired["difference"]) == ("worse", pytest.approx(-0.09))


def test_a_wider_margin_decides_what_a_narrow_one_leaves_undecided() -> None:
    scores = {"high": [1.0, 0.0] * 30, "low": [0.0, 1.0] + [1.0, 0.0] * 29}
    states = {
        margin: block(scores, margin)["settings"]["low"]["paired"]["state"]
        for margin in (0.01, 0.1)
    }
    assert states == {0.01: "undecided", 0.1: "not worse"}


def test_the_number_of_further_examples_would_decide() -> None:
    scores = {"high": [1.0, 0.0] * 30, "low": [0.0, 1.0] + [1.0, 0.0] * 29}
    paired = block(scores)["settings"]["low"]["paired"]
    # The variance of the differences is 2 / 59; (1.96 + 0.8416)^2 (2 / 59) / 0.01^2 examples
    # decide in 80 % of runs.
    total = (1.96 + 0.8416) ** 2 * (2 / 59) / 0.01**2
    assert paired["more_examples"] == pytest.approx(total - 60, rel=0.02)


def test_holm_corrects_for_several_efforts() -> None:
    """One-sided p-values of about 0.02 pass alone, and fail among two."""
    low = [0.51 + 0.1 * sign for sign in (1, -1) for _ in range(50)]
    one_se = 0.1 / math.sqrt(99)
    margin = float(t.isf(0.02, 99)) * one_se
    alone = block({"high": [0.51] * 100, "low": low}, margin)["settings"]["low"]["paired"]
    assert (alone["state"], alone["p"]) == ("not worse", pytest.approx(0.02, rel=1e-4))
    both = block({"high": [0.51] * 100, "low": low, "medium": low[::-1]}, margin)["settings"]
    states = {name: both[name]["paired"]["state"] for name in ("low", "medium")}
    assert states == dict.fromkeys(("low", "medium"), "undecided")


def test_examples_of_one_table_count_as_one() -> None:
    scores = {"high": [0.51] * 100, "low": [0.5] * 50 + [0.52] * 50}
    cells = records(scores)
    for record in cells:
        record["cluster"] = str(int(record["example_id"]) // 50)
    (entry,) = summarize(cells)["benchmarks"].values()
    paired = entry["efforts"]["settings"]["low"]["paired"]
    # Two tables with a mean of +0.01 and -0.01: the standard error is 0.01, with one degree.
    assert paired["ci95"] == pytest.approx([-0.01 * t.ppf(0.975, 1), 0.01 * t.ppf(0.975, 1)])
    assert paired["state"] == "undecided"


def test_a_run_without_efforts_has_no_figures_of_them() -> None:
    cells = records({"low": [1.0, 0.0]})
    assert "efforts" not in summarize(cells)["benchmarks"]["b"]
    for record in cells:
        del record["effort"]
    assert "efforts" not in summarize(cells)["benchmarks"]["b"]


def figures(prices: dict[str, float | None], states: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {
            "usd_per_answer": price,
            "tokens_per_answer": None,
            **(
                {}
                if name == "high"
                else {
                    "paired": {
                        "state": states[name],
                        "difference": -0.001,
                        "ci95": [-0.005, 0.003],
                        "more_examples": 120 if states[name] == "undecided" else None,
                    }
                }
            ),
        }
        for name, price in prices.items()
    }


PRICES: dict[str, float | None] = {"none": 1.0, "low": 2.0, "high": 8.0}


@pytest.mark.parametrize(
    ("prices", "states", "cheapest", "sentence"),
    [
        (
            PRICES,
            {"none": "worse", "low": "not worse"},
            "low",
            "b: the cheapest effort that is not worse than high is low (difference -0.001, 95 % "
            "interval -0.005 to +0.003, margin 0.01), at 25.0 % of its price",
        ),
        (
            PRICES,
            {"none": "undecided", "low": "not worse"},
            "low",
            "b: the cheapest effort that is not worse than high is low (difference -0.001, 95 % "
            "interval -0.005 to +0.003, margin 0.01), at 25.0 % of its price; about 120 more "
            "examples would tell for none",
        ),
        (
            PRICES,
            {"none": "worse", "low": "undecided"},
            None,
            "b: undecided whether a cheaper effort than high is not worse by more than 0.01: about "
            "120 more examples would tell for low",
        ),
        (
            PRICES,
            {"none": "worse", "low": "worse"},
            "high",
            "b: the cheapest effort that is not worse is high, the highest: every cheaper one is "
            "worse by more than 0.01",
        ),
        (
            {"none": None, "low": 2.0, "high": 8.0},  # without prices, the order of efforts counts
            {"none": "not worse", "low": "not worse"},
            "none",
            "b: the cheapest effort that is not worse than high is none (difference -0.001, 95 % "
            "interval -0.005 to +0.003, margin 0.01)",
        ),
    ],
)
def test_the_cheapest_effort_is_named_in_one_sentence(
    prices: dict[str, float | None], states: dict[str, Any], cheapest: str | None, sentence: str
) -> None:
    entries = figures(prices, states)
    choice = choose(entries, "high", EFFORT)
    assert choice["cheapest"] == cheapest
    content = {"reference": "high", "margin": 0.01, "settings": entries, **choice}
    assert setting_lines({"benchmarks": {"b": {"efforts": content}}}) == [sentence]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=12))
def test_an_effort_is_never_both_not_worse_and_worse(pairs: list[tuple[float, float]]) -> None:
    scores = {"low": [low for low, _ in pairs], "high": [high for _, high in pairs]}
    paired = block(scores)["settings"]["low"]["paired"]
    low, high = paired["ci95"]
    expected = "not worse" if low > -0.01 else "worse" if high < -0.01 else "undecided"
    assert paired["state"] == expected


def test_a_name_in_brackets_is_an_effort_last() -> None:
    cells = records({"none": [0.0, 0.0], "high": [1.0, 1.0]})
    texts = ["d[none].performance >= 0.5", "d[effort=none].performance >= 0.5"]
    estimates = [result.value for result in judge_gates(cells, texts)]
    assert estimates == [0.5, 0.0]  # the perturbation none, with both efforts; the effort none
