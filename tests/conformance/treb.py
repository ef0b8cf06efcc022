"""Replays of TReB's records: reading replies, metrics, instruction rules, texts of prompts.

What programs print (`icot_exec`, `pot_exec`) is replayed in the sandbox.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Literal

from pytest_tablebench import score
from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.datasets import AnswerForm
from pytest_tablebench.metrics.chinese import is_chinese
from pytest_tablebench.metrics.judge_reply import read_judgement, reference_score
from pytest_tablebench.metrics.steps import Execute, Execution
from pytest_tablebench.models import Reply, as_read
from pytest_tablebench.strategies import Said
from pytest_tablebench.strategies._icot import ICoT
from pytest_tablebench.strategies._programs import frame_names, observation, program_step
from pytest_tablebench.strategies._replies import (
    boxed_answer,
    json_answer,
    python_blocks,
    runnable,
)
from pytest_tablebench.strategies._tcot import table_text
from pytest_tablebench.tables.table import Table
from tests.strategies.driving import task
from tests.support.sandboxes import shared_sandbox

from .replay import Record, differences, replays

# Replies


@replays("treb.tcot_parse")
def replay_json_answer(record: Record) -> list[str]:
    return differences(json_answer(record["reply"], "reference"), record["expected"])


@replays("treb.pot_code")
def replay_program(record: Record) -> list[str]:
    blocks = python_blocks(record["reply"])
    block = blocks[-1].code if blocks else None
    run = None if block is None else runnable(block, "reference")
    lines = [] if block is None else block.split("\n")
    removed = sum(runnable(line, "reference") != line for line in lines)
    found = {"blocks": len(blocks), "block": block, "code_run": run, "removed_lines": removed}
    return differences(found, record["expected"])


@replays("treb.icot_parse")
def replay_boxed_answer(record: Record) -> list[str]:
    return differences(boxed_answer(record["text"], "reference"), record["expected"])


@replays("treb.icot_steps")
def replay_steps(record: Record) -> Iterator[str]:
    """The conversation with the record's replies and outputs: no program is run."""
    replies, outputs = iter(record["replies"]), iter(record["outputs"])
    conversation = ICoT().converse(task(compat="reference", form=AnswerForm(judged="reply")))
    prompts: list[dict[str, str | None]] = []
    programs: list[str] = []
    step = next(conversation)
    said: Said | None = None
    while said is None:
        try:
            if isinstance(step, Execute):
                programs.append(step.program)
                step = conversation.send(Execution("ok", next(outputs, "")))
                continue
            *_, last = step.messages
            user, before = ("later", str(last.content)) if prompts else ("first", None)
            prompts.append({"user": f"<USER {user}>", "assistant": before})
            step = conversation.send(as_read(Reply(next(replies, "")), "reference"))
        except StopIteration as end:
            said = end.value
    found = {
        "generations": len(prompts),
        "prompts": prompts,
        "code_run": programs,
        "generation": said.text,
        "answer": boxed_answer(said.text, "reference"),
    }
    yield from differences(found, record["expected"])
    if next(replies, None) is not None or next(outputs, None) is not None:
        yield "replies or outputs were left over"


# Programs, run in the sandbox


@replays("treb.pot_exec")
def replay_pot_program(record: Record) -> list[str]:
    return differences(told("pot", record["table_csv"], [record["code"]])[0], record["expected"])


@replays("treb.icot_exec")
def replay_icot_programs(record: Record) -> list[str]:
    return differences(told("icot", record["table_csv"], record["blocks"]), record["expected"])


def told(kind: Literal["pot", "icot"], table_csv: str, blocks: Sequence[str]) -> list[str]:
    """Return what a model is told of each block of one conversation."""
    header, *rows = csv.reader(io.StringIO(table_csv))
    tables = frame_names([Table(header, rows)], "reference")
    steps = [
        program_step(kind, block, tables, "reference", blocks[:number])
        for number, block in enumerate(blocks)
    ]
    return [observation(shared_sandbox().run(step)) for step in steps]


# Metrics


@replays("treb.em")
def replay_em(record: Record) -> list[str]:
    modes: dict[str, Compat] = {"em_letters": "reference", "em": "fixed"}
    found = {
        name: score("treb_em", record["prediction"], [record["answer"]], compat=compat).value
        for name, compat in modes.items()
    }
    return differences(found, record["expected"])


@replays("treb.bleu")
def replay_bleu(record: Record) -> Iterator[str]:
    prediction, answer = record["prediction"], record["answer"]
    for compat in COMPAT_MODES:
        share = score("treb_bleu", prediction, [answer], compat=compat).value
        yield from differences(100 * share, record["expected"], compat)
    yield from differences("zh" if is_chinese(answer) else "en", record["language"], "language")


@replays("treb.rouge")
def replay_rouge(record: Record) -> Iterator[str]:
    for compat in COMPAT_MODES:
        found = score("treb_rouge", record["prediction"], [record["answer"]], compat=compat)
        yield from differences(found.value, record["expected"], compat)


@replays("treb.judge_parse")
def replay_judgement(record: Record) -> list[str]:
    reply, prediction = record["reply"], record["prediction"]
    found = {
        "reference": reference_score(reply, prediction),
        "fixed": asdict(read_judgement(reply, prediction)),
    }
    return differences(found, record["expected"])


@replays("treb.instruction_rule")
def replay_instruction(record: Record) -> list[str]:
    rule = {"rule": record["rule"], "arguments": record["arguments"]}
    found = {
        compat: 100 * score("treb_instruction", record["answer"], [], compat=compat, **rule).value
        for compat in COMPAT_MODES
    }
    return differences(found, record["expected"])


# Prompts


@replays("treb.table_text")
def replay_table_text(record: Record) -> list[str]:
    if record["mode"] == "TCoT":  # shows no table
        return differences("", record["expected"])
    shape = record["frame_shape"]
    found = table_text(
        record["mode"],
        record["html" if record["mode"] == "TCoT_html" else "markdown"],
        shape=None if shape is None else tuple(shape),
        header_rows=record["header_rows"],
        context=record["context_length"],
        compat="reference",
    )
    return differences(found.text, record["expected"])


def question_text(
    question: str,
    *,
    instruction: str = "",
    titles: Sequence[str] | None = None,
) -> str:
    """Return the instruction, where there is one, the question, and the tables' titles.

    Without `titles` (None) nothing stands behind the question; of no titles a line end does.
    """
    before = f"{instruction}\n" if instruction else ""
    behind = "" if titles is None else "\n" + "\n".join(titles)
    return f"{before}{question}{behind}"


@replays("treb.question_text")
def replay_question_text(record: Record) -> list[str]:
    found = question_text(
        record["question"],
        instruction=record["instruction"] if record["if_instruction"] else "",
        titles=record["title"] if record["if_title"] else None,
    )
    return differences(found, record["expected"])
