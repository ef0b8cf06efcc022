"""Replays of TableBench's own records: replies, answers, charts, figures by type.

Whole programs (`chart_program`) are run in the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_tablebench import postprocess, score
from pytest_tablebench.config.compat import COMPAT_MODES
from pytest_tablebench.metrics._tablebench import (
    ERRORS,
    answer_items,
    matches,
)
from pytest_tablebench.metrics.chart_values import same_values, tablebench_verdict
from pytest_tablebench.metrics.charts import python_block, tablebench_chart
from pytest_tablebench.metrics.replies import plain_text
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile
from tests.conformance.tablebench_summary import Row, overall, published_figures

from .programs import LIMITS, drawn, reason_of, values_of
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
    texts = {name: plain_text(record[name]) for name in ("answer", "prediction")}
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
    same = same_values(wanted, found, shares=chart_type == "pie")
    yield from differences(same, record["expected"])
    answer = [f"y_references = {wanted!r}"]
    shares = chart_type == "pie"
    verdict = tablebench_verdict(found, answer, compat="reference", shares=shares)
    yield from differences(verdict == "true", record["expected"], "verdict")


@replays("tablebench.chart_program")
def replay_chart_program(record: Record) -> Iterator[str]:
    table = TableFile(Table(record["columns"], record["rows"]))
    for compat in COMPAT_MODES:
        conversation = tablebench_chart(
            record["reply"],
            [record["answer"]],
            compat=compat,
            chart_type=record["chart_type"],
            table=table,
            limits=LIMITS,
        )
        ran, score = drawn(conversation)
        expected = record["expected"][compat]
        names = {"ecr": "ecr", "parse": "parse@1", "pass": "pass@1"}
        found = {key: score.parts[names[key]] == 1 for key in names if key in expected}
        wanted = {key: expected[key] for key in found}
        yield from differences(found, wanted, compat)
        if "y_values" in expected:
            yield from differences(values_of(ran), expected["y_values"], "y_values")
        if "reason" in expected:
            yield from differences(reason_of(ran, score), expected["reason"], "reason")


@replays("tablebench.by_type")
def replay_by_type(record: Record) -> Iterator[str]:
    rows = [
        Row(row["qtype"], row["qsubtype"], row["answer"], row["parsed_prediction"])
        for row in record["rows"]
    ]
    expected = record["expected"]
    yield from differences(published_figures(rows), expected["reference"], "reference")
    yield from differences({"Overall": round(overall(rows), 2)}, expected["fixed"], "fixed")
