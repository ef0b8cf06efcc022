"""The seeded generator behind every draw, and the lottery that splits one file in three."""

from __future__ import annotations

import pytest

from pytest_tablebench.seeds import seeded_random

from . import vectors


@pytest.mark.parametrize(
    "record",
    vectors.params(
        "sampling.json",
        lambda record: repr(record["sub_seed"]),
        keep=lambda record: record["kind"] == "generator",
    ),
)
def test_generator_draws_the_published_numbers(record):
    draw = seeded_random(record["sub_seed"])
    assert [draw.random() for _ in record["first_randoms"]] == record["first_randoms"]
    numbers = list(range(10))
    draw.shuffle(numbers)  # goes on from the numbers drawn
    assert numbers == record["shuffled_range_10"]


@pytest.mark.parametrize(
    "record",
    vectors.params(
        "sampling.json",
        lambda record: f"n={record['n']}",
        keep=lambda record: record["kind"] == "split_lottery",
    ),
)
def test_split_lottery_gives_the_published_splits(record):
    names, weights = list(record["mix"]), []
    for share in record["mix"].values():
        source, _, percent = share.removesuffix("%]").partition("[")
        assert source == "test"
        weights.append(int(percent) / 100)
    draw = seeded_random("test")
    splits: dict[str, list[int]] = {name: [] for name in names}
    for index in range(record["n"]):
        [name] = draw.choices(names, weights=weights)
        splits[name].append(index)
    assert splits == record["expected"]
