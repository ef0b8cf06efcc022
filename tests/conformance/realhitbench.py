"""Replays of RealHiTBench's records: replies, attempts, text metrics, judges, charts.

Whole programs (`chart_program`) are run in the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_tablebench import postprocess, score
from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.metrics._realhit import published_form
from pytest_tablebench.metrics.chart_values import chart_verdict, judge_drawn, judge_printed
from pytest_tablebench.metrics.charts import patched, program_of, realhit_chart, realhit_code
from pytest_tablebench.metrics.judge_reply import read_score
from pytest_tablebench.metrics.replies import read_reply
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile
from tests.support.slices import ROOT

from .programs import LIMITS, drawn, reason_of, values_of
from .realhit_scripts import ATTEMPTS, attempts, score_text
from .replay import Record, differences, replays

NOTE = "<NOTE>"
PARTS = {"em": "EM", "f1": "F1", "rouge_l": "ROUGE-L", "sacrebleu": "SacreBLEU"}
VALUES = {"true": True, "false": False, "unscorable": "unscorable"}
PRINTED = {"true": True, "false": False, "unreadable": "False", "no_output": "None"}
"""What the scripts write of each verdict."""


@replays("realhitbench.reply_parse")
def replay_reply_parse(record: Record) -> list[str]:
    reading = read_reply(record["reply"])
    found = {
        "outcome": reading.outcome,
        "answer": reading.answer,
        "reference_answer": postprocess("realhit_answer_or_reply", record["reply"]),
    }
    return differences(found, record["expected"])


@replays("realhitbench.retry")
def replay_retry(record: Record) -> Iterator[str]:
    alone = isinstance(record["messages"], str)
    messages = (record["messages"],) if alone else record["messages"]
    rule = ATTEMPTS[record["path"]]
    yield from differences(rule.tries, record["max_tries"], "tries")
    conversation = attempts(messages, NOTE, rule)
    prompts, answer = [next(conversation)], None
    try:
        for reply in record["replies"]:
            prompts += [conversation.send(reply)]
    except StopIteration as end:
        answer = end.value
    found = {
        "answer": answer,
        "calls": len(prompts),
        "prompts": [prompt[0] if alone else prompt for prompt in prompts],
    }
    yield from differences(found, record["expected"])


@replays("realhitbench.text_metric")
def replay_text_metric(record: Record) -> Iterator[str]:
    texts = {
        "reference": published_form(record["reference"]),
        # An empty prediction is compared as this mark.
        "prediction": published_form(record["prediction"]) or "#",
    }
    yield from differences(texts, record["processed"], "processed")
    for metric, main in (("realhit", "em"), ("realhit_analysis", "rouge_l")):
        found = score(metric, record["prediction"], [record["reference"]], compat="reference")
        parts = {PARTS[name]: 100 * part for name, part in found.parts.items()}
        yield from differences(parts, record["expected"], metric)
        yield from differences(found.value, found.parts[main], f"{metric} value")


@replays("realhitbench.judge_parse")
def replay_judge_parse(record: Record) -> Iterator[str]:
    value = read_score(record["reply"])
    status = "judge_parse_error" if value is None else "ok"
    found = {"reference": score_text(record["reply"]), "fixed": {"score": value, "status": status}}
    yield from differences(found, record["expected"])


@replays("realhitbench.chart_extract")
def replay_chart_extract(record: Record) -> list[str]:
    text = patched(record["reply"], record["table_path"])
    code = realhit_code(text)
    published, fixed = program_of(code, "reference"), program_of(code, "fixed")
    found = {
        "patched": text,
        "code": code,
        "reference": {"code": published.code, "compiles": published.compiles},
        "fixed": {"layout": fixed.layout, "compiles": fixed.compiles, "code": fixed.code},
    }
    return differences(found, record["expected"])


@replays("realhitbench.chart_compare_printed")
def replay_chart_compare_printed(record: Record) -> Iterator[str]:
    shares = record["chart_type"].startswith("Pie")
    verdict = judge_printed(record["printed"], record["reference"], shares=shares)
    yield from differences(PRINTED[verdict], record["expected"])
    yield from _chart_score(record, record["printed"], "reference")


@replays("realhitbench.chart_compare_values")
def replay_chart_compare_values(record: Record) -> Iterator[str]:
    shares = record["chart_type"].startswith("Pie")
    verdict = judge_drawn([record["y_values"]], record["reference"], shares=shares)
    yield from differences(VALUES[verdict], record["expected"])
    yield from _chart_score(record, [record["y_values"]], "fixed")


def _chart_score(record: Record, prediction: Any, compat: Compat) -> list[str]:
    shares = record["chart_type"].startswith("Pie")
    found = chart_verdict(prediction, [record["reference"]], compat=compat, shares=shares)
    return differences(found == "true", record["expected"] is True, "verdict")


@replays("realhitbench.chart_program")
def replay_chart_program(record: Record) -> Iterator[str]:
    """The whole metric, its program run; `reference_numpy2` is what numpy 2 makes unreadable."""
    table = None
    if record["table"] is not None:
        data = (ROOT / "realhitbench/data/tables" / f"{record['table']}.xlsx").read_bytes()
        table = TableFile(Table(["a"], []), data)
    for compat in COMPAT_MODES:
        expected = record["expected"][compat]
        if expected is None:
            continue  # the specification decided later: pd, plt and np are there
        conversation = realhit_chart(
            record["reply"],
            [record["reference"]],
            compat=compat,
            chart_type=record["chart_type"],
            table=table,
            limits=LIMITS,
        )
        ran, score = drawn(conversation)
        found = {name: score.parts[name] == 1 for name in ("ecr", "pass@1", "unscorable")}
        wanted = {
            "ecr": expected["ecr"],
            "pass@1": expected["pass"] is True,
            "unscorable": expected["pass"] == "unscorable",
        }
        yield from differences(found, wanted, compat)
        if compat == "fixed":
            yield from differences(values_of(ran), expected["y_values"], "y_values")
            yield from differences(reason_of(ran, score), expected.get("reason"), "reason")
