"""TableBench: the golden scores of its chain, and the golden lottery that splits its one file."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import postprocess, score_answer
from pytest_tablebench.datasets.torr.tablebench import TABLEBENCH, split_lottery

from . import vectors

CHAIN = [
    "take_first_non_empty_line",
    "lower_case",
    "remove_punctuations",
    "remove_articles",
    "fix_whitespace",
]


@pytest.mark.parametrize(
    "record",
    vectors.params(
        "metrics.json",
        lambda record: record["prediction"],
        keep=lambda record: record["metric"] == "rouge" and record["postprocessors"] == CHAIN,
    ),
)
def test_the_published_scores(record: dict[str, Any]) -> None:
    text = record["prediction"]
    for name in CHAIN:
        text = postprocess(name, text)
    assert text == record["processed"]["prediction"]
    for dataset in TABLEBENCH:
        assert list(dataset.chain("reference")) == CHAIN
        result = score_answer(
            dataset.name, record["prediction"], record["references"], compat="reference"
        )
        assert dict(result.parts) == pytest.approx(record["expected"], abs=1e-9, rel=0)
        assert result.value == result.parts["rougeL"]


@pytest.mark.parametrize(
    "record",
    vectors.params(
        "sampling.json",
        lambda record: f"n={record['n']}",
        keep=lambda record: record["kind"] == "split_lottery",
    ),
)
def test_the_published_splits(record: dict[str, Any]) -> None:
    assert record["mix"] == {"train": "test[20%]", "validation": "test[20%]", "test": "test[60%]"}
    splits = split_lottery(record["n"])
    for name, expected in record["expected"].items():
        assert [index for index, split in enumerate(splits) if split == name] == expected


def test_no_record_is_left_out() -> None:
    kinds = [record.get("postprocessors") for record in vectors.load("metrics.json")]
    assert kinds.count(CHAIN) == 10
