"""FinQA's own script beside our `fixed` scores, over every golden record."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import score
from pytest_tablebench.metrics import run_chain

from . import vectors

RECORDS = vectors.params(
    "metrics.json",
    lambda record: f"{record['prediction']}-{record['answer']}",
    keep=lambda record: record["metric"] == "fin_qa",
)


@pytest.mark.parametrize("record", RECORDS)
def test_fixed_scores_are_those_of_finqas_own_script(record: dict[str, Any]) -> None:
    chain = record["postprocessors"]
    prediction, gold = (
        run_chain(chain, text) for text in (record["prediction"], record["references"][0])
    )
    if "table-" in prediction:
        pytest.skip("spelled with a hyphen: accepted on purpose, see the unit tests")
    expected = record["official_script_with_list_table"]
    runs = not expected["invalid"] and expected["result"] != "n/a"
    result = expected["result"] if runs else 123456.0
    parts = score("fin_qa", prediction, [gold], table=record["table"], exe_ans=result).parts
    assert parts["program_accuracy"] == float(expected["equal_program_gold_first"] is True)
    # What follows the last bracket is cut before executing, as the published metric does.
    if prediction.endswith(")"):
        assert parts["execution_accuracy"] == float(runs)
