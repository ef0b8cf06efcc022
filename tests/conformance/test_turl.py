"""Every golden score of column type annotation, one column at a time and over batches."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import score, score_answer
from pytest_tablebench.metrics import run_chain

from . import vectors


def approximately(expected: dict[str, float]) -> Any:
    return pytest.approx(expected, abs=1e-9, rel=0)


def records(metric: str) -> list[Any]:
    return vectors.params(
        "metrics.json",
        lambda record: str(record.get("prediction", record.get("predictions"))),
        keep=lambda record: record["metric"] == metric,
    )


@pytest.mark.parametrize("record", records("turl"))
def test_one_column(record: dict[str, Any]) -> None:
    references = record["references"]
    prediction = run_chain(record["postprocessors"], record["prediction"])
    processed = [run_chain(record["postprocessors"], reference) for reference in references]
    assert {"prediction": prediction, "references": processed} == record["processed"]
    for result in (
        score("turl", prediction, processed, compat="reference"),
        # The dataset has the chain itself.
        score_answer("turl_cta", record["prediction"], references, compat="reference"),
    ):
        assert dict(result.parts) == approximately(record["expected"])
        assert result.value == result.parts["f1_micro"]


@pytest.mark.parametrize("record", records("turl_batch"))
def test_a_batch_and_each_of_its_columns(record: dict[str, Any]) -> None:
    chain = record["postprocessors"]
    predictions = [run_chain(chain, text) for text in record["predictions"]]
    references = [[run_chain(chain, text) for text in texts] for texts in record["references"]]
    result = score("turl_batch", predictions, references, compat="reference")
    assert dict(result.parts) == approximately(record["expected"])
    assert result.value == result.parts[record["main_score"]]
    assert len(record["instances"]) == len(predictions)
    for prediction, accepted, expected in zip(
        predictions, references, record["instances"], strict=True
    ):
        instance = score("turl", prediction, accepted, compat="reference")
        assert dict(instance.parts) == approximately(expected)


def test_no_record_is_left_out() -> None:
    kinds = [record["metric"] for record in vectors.load("metrics.json")]
    assert (kinds.count("turl"), kinds.count("turl_batch")) == (25, 8)
