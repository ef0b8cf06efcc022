"""Outliers among configurations and tags; figures worked out by hand."""

from __future__ import annotations

import pytest

from pytest_tablebench.claims.outliers import Outlier, outliers
from pytest_tablebench.results import ScoreTable


def table(scores: list[tuple[str, str, float]], tags: dict[str, str] | None = None) -> ScoreTable:
    """Return a table of (example, serializer, score); `tags` gives each example's kind."""
    common = {"benchmark": "b", "dataset": "d", "perturbation": "none"}
    return ScoreTable.from_records(
        {
            **common,
            "example_id": example,
            "serializer": serializer,
            "score": score,
            "passed": score == 1,
            "tags": {"kind": tags[example]} if tags else {},
        }
        for example, serializer, score in scores
    )


def test_a_serializer_with_lower_scores_is_an_outlier() -> None:
    """csv scores .2 or .4 less than html, so half of that less than the mean of both."""
    scores = []
    for place in range(8):
        gap = 0.2 if place % 2 else 0.4
        scores += [(f"e{place}", "html", 0.9), (f"e{place}", "csv", 0.9 - gap)]
    low, high = outliers(table(scores))
    assert (low.kind, low.name, low.difference.examples) == ("serializer", "csv", 8)
    # Four differences of -.2 and four of -.1: mean -.15, s = .05 sqrt(8/7), se = s / sqrt(8) =
    # .0188982. Two parts share 5 %: t of 7 degrees at .0125 outside each end is 2.841244.
    assert low.value == pytest.approx(0.6)
    assert low.whole == pytest.approx(0.75)
    assert low.difference.interval == pytest.approx((-0.203694, -0.096306), abs=1e-5)
    assert high.name == "html"
    assert high.difference.low == pytest.approx(0.096306, abs=1e-5)


def test_a_difference_within_chance_is_no_outlier() -> None:
    scores = []
    for place in range(8):
        gap = 0.3 if place % 2 else -0.25
        scores += [(f"e{place}", "html", 0.5), (f"e{place}", "csv", 0.5 - gap)]
    assert outliers(table(scores)) == []


def test_a_tag_is_compared_with_random_draws_of_equal_size() -> None:
    """Ten of twenty are of kind a, all wrong; the others are all right.

    Mean .5, variance 20 * .25 / 19 = .263158; of a mean of 10 drawn of 20: .263158 / 10 / 2 =
    .0131579, se .114708; t of 19 degrees at .0125 outside each end is 2.433440: reach .279135.
    """
    tags = {f"e{place:02}": "a" if place < 10 else "b" for place in range(20)}
    scores = [(example, "html", float(kind == "b")) for example, kind in tags.items()]
    low, high = outliers(table(scores, tags))
    assert (low.kind, low.name, low.value, low.whole) == ("kind", "a", 0.0, 0.5)
    assert low.difference.interval == pytest.approx((-0.779135, -0.220865), abs=1e-4)
    assert isinstance(high, Outlier)
    assert high.name == "b"


def test_a_tag_with_few_examples_is_not_judged() -> None:
    tags = {f"e{place:02}": "a" if place < 4 else "b" for place in range(20)}
    scores = [(example, "html", float(kind == "b")) for example, kind in tags.items()]
    assert outliers(table(scores, tags)) == []  # nor is the rest of the examples


def test_a_single_configuration_has_no_outliers() -> None:
    assert outliers(table([("e1", "html", 1.0), ("e2", "html", 0.0)])) == []
