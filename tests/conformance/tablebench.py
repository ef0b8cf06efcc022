"""Replays of TableBench's own records: replies, answers, charts, figures by type.

Programs are not run here, so records of whole programs (`chart_program`) have no replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_tablebench import postprocess, score
from pytest_tablebench.metrics._chart_code import python_block
from pytest_tablebench.metrics._chart_values import same_values
from pytest_tablebench.metrics._tablebench_answer import (
    ERRORS,
    answer_items,
    matches,
    normal_form,
)
from pytest_tablebench.metrics._tablebench_summary import Row, overall, published_figures

from .replay import Record, differences, replays

NAMES = {
    "em": "EM",
    "em_with_error_2": "EM_with_error_2",
    "em_with_error_5": "EM_with_error_5",
    "em_with_error_10": "EM_with_error_10",
    "rouge_l": "ROUGE-L",
}


def percentages(parts: Mapping[str, float]) -> dict[str, float]:
    """Parts by their published names, in percent to two places as the records hold them."""
    return {NAMES[name]: round(100 * part, 2) for name, part in parts.items()}


@replays("tablebench.final_answer")
def replay_final_answer(record: Record) -> list[str]:
    return differences(postprocess("tablebench_final_answer", record["reply"]), record["expected"])


@replays("tablebench.python_code")
def replay_python_code(record: Record) -> list[str]:
    return differences(python_block(record["reply"]), record["expected"])


@replays("tablebench.item")
def replay_item(record: Record) -> Iterator[str]:
    texts = {name: normal_form(record[name]) for name in ("answer", "prediction")}
    yield from differences(texts, record["processed"], "processed")
    for compat, expected in record["expected"].items():
        found = score("tablebench_answer", record["prediction"], [record["answer"]], compat=compat)
        parts = percentages({name: found.parts[name] for name in NAMES})
        yield from differences(found.parts["parse@1"], float(record["prediction"] != ""), "parse")
        if "ROUGE-L" not in expected:
            del parts["ROUGE-L"]
        yield from differences(parts, expected, compat)


@replays("tablebench.em_function")
def replay_em_function(record: Record) -> list[str]:
    wanted, given = answer_items(record["answer"]), answer_items(record["prediction"])
    parts = {
        name: matches(wanted, given, error, compat="reference") / len(wanted)
        for name, error in ERRORS.items()
    }
    return differences(percentages(parts), record["expected"])


@replays("tablebench.chart_compare")
def replay_chart_compare(record: Record) -> Iterator[str]:
    wanted, found = record["y_references"], record["y_predictions"]
    chart_type = record["chart_type"]
    same = same_values(wanted, found, shares=chart_type == "pie", compat="reference")
    yield from differences(same, record["expected"])
    answer = [f"y_references = {wanted!r}"]
    whole = score("tablebench_chart", found, answer, compat="reference", chart_type=chart_type)
    yield from differences(whole.value, float(record["expected"]), "value")


@replays("tablebench.by_type")
def replay_by_type(record: Record) -> Iterator[str]:
    rows = [
        Row(row["qtype"], row["qsubtype"], row["answer"], row["parsed_prediction"])
        for row in record["rows"]
    ]
    expected = record["expected"]
    yield from differences(published_figures(rows), expected["reference"], "reference")
    yield from differences({"Overall": round(overall(rows), 2)}, expected["fixed"], "fixed")
