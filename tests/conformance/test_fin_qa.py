"""Every golden FinQA score, and every golden result of FinQA's own script."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import Table, score, score_answer
from pytest_tablebench.metrics import run_chain
from pytest_tablebench.metrics._fin_qa_equality import same_programs
from pytest_tablebench.metrics._fin_qa_program import execute, script_rows, tokens_of

from . import vectors

Record = dict[str, Any]

RECORDS = vectors.params(
    "metrics.json",
    lambda record: f"{record['prediction']}-{record['answer']}",
    keep=lambda record: record["metric"] == "fin_qa",
)


def lines(record: Record) -> tuple[str, str]:
    """Prediction and gold program as the metric gets them."""
    [reference] = record["references"]
    chain = record["postprocessors"]
    return run_chain(chain, record["prediction"]), run_chain(chain, reference)


@pytest.mark.parametrize("record", RECORDS)
def test_published_scores(record: Record) -> None:
    prediction, gold = lines(record)
    table, answer = record["table"], record["answer"]
    context = {"compat": "reference", "answer": answer}
    for result in (
        score("fin_qa", prediction, [gold], table=table, **context),
        score("fin_qa", prediction, [gold], table=Table(**table), **context),
        # The dataset has the chain itself.
        score_answer("finqa", record["prediction"], record["references"], table=table, **context),
    ):
        assert dict(result.parts) == pytest.approx(record["expected"], abs=1e-9, rel=0)
        assert result.value == result.parts["program_accuracy"]


@pytest.mark.parametrize("record", RECORDS)
def test_finqas_own_script(record: Record) -> None:
    prediction, gold = lines(record)
    expected = record["official_script_with_list_table"]
    tokens = tokens_of(prediction)
    assert tokens == expected["tokens"]
    outcome = execute(tokens, script_rows(record["table"]))
    assert outcome.invalid == bool(expected["invalid"])
    result = str(outcome.value) if isinstance(outcome.value, complex) else outcome.value
    assert result == expected["result"]
    for first, second, order in (
        (gold, prediction, "equal_program_gold_first"),
        (prediction, gold, "equal_program_prediction_first"),
    ):
        # Where the script stops, whoever calls it counts the programs as different.
        equal = expected[order] is True
        assert same_programs(tokens_of(first), tokens_of(second)) is equal, order


@pytest.mark.parametrize("record", RECORDS)
def test_fixed_scores_are_those_of_finqas_own_script(record: Record) -> None:
    prediction, gold = lines(record)
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


def test_no_record_is_left_out() -> None:
    kinds = [record["metric"] for record in vectors.load("metrics.json")]
    assert kinds.count("fin_qa") == 71
