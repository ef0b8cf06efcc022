"""Every golden post-processor, F1 of texts, WikiTableQuestions and TabFact score."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import postprocess, score, score_answer
from pytest_tablebench.metrics import run_chain

from . import vectors

DATASETS = {"wikitq": "wikitq", "tab_fact": "tabfact"}
"""Which dataset's chain and metric a kind of record speaks about."""


def approximately(expected: dict[str, float]) -> Any:
    return pytest.approx(expected, abs=1e-9, rel=0)


def records(*metrics: str) -> list[Any]:
    return vectors.params(
        "metrics.json",
        lambda record: f"{record.get('name', record['metric'])}-{record.get('prediction', '')}",
        keep=lambda record: record["metric"] in metrics,
    )


@pytest.mark.parametrize("record", records("postprocessor"))
def test_postprocessor(record: dict[str, Any]) -> None:
    result = postprocess(record["name"], record["input"])
    assert result == record["expected"]
    assert type(result) is type(record["expected"])
    assert result == record.get("expected_for_reference", result)


@pytest.mark.parametrize("record", records("f1_strings"))
def test_f1_strings(record: dict[str, Any]) -> None:
    assert record["postprocessors"] == []
    result = score("f1_strings", record["prediction"], record["references"], compat="reference")
    assert dict(result.parts) == approximately(record["expected"])
    assert result.value == result.parts["f1_strings"]


@pytest.mark.parametrize("record", records("wikitq", "tab_fact"))
def test_one_answer(record: dict[str, Any]) -> None:
    metric, references = record["metric"], record["references"]
    prediction = run_chain(record["postprocessors"], record["prediction"])
    processed = [run_chain(record["postprocessors"], reference) for reference in references]
    assert {"prediction": prediction, "references": processed} == record["processed"]
    main = {"wikitq": "f1_strings", "tab_fact": "f1_micro"}[metric]
    for result in (
        score(metric, prediction, processed, compat="reference"),
        # The dataset has the chain itself.
        score_answer(DATASETS[metric], record["prediction"], references, compat="reference"),
    ):
        assert dict(result.parts) == approximately(record["expected"])
        assert result.value == result.parts[main]


@pytest.mark.parametrize("record", records("tab_fact_batch"))
def test_tab_fact_batch(record: dict[str, Any]) -> None:
    chain = record["postprocessors"]
    predictions = [run_chain(chain, text) for text in record["predictions"]]
    references = [[run_chain(chain, text) for text in texts] for texts in record["references"]]
    result = score("tab_fact_batch", predictions, references, compat="reference")
    assert dict(result.parts) == approximately(record["expected"])
    assert result.value == result.parts[record["main_score"]]


def test_no_record_is_left_out() -> None:
    kinds = [record["metric"] for record in vectors.load("metrics.json")]
    counted = {kind: kinds.count(kind) for kind in ("postprocessor", "f1_strings", "wikitq")}
    assert counted == {"postprocessor": 83, "f1_strings": 23, "wikitq": 28}
    assert (kinds.count("tab_fact"), kinds.count("tab_fact_batch")) == (17, 5)
