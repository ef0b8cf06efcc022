"""Replays of TReB's records: reading replies, metrics, instruction rules, texts of prompts.

`icot_exec` and `pot_exec` have no replay yet: they say what programs print when they are run.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_tablebench.strategies._interleaved import Interleaved
from pytest_tablebench.strategies._replies import (
    boxed_answer,
    json_answer,
    python_blocks,
    runnable,
)

from .replay import Record, differences, replays

# Replies


@replays("treb.tcot_parse")
def replay_json_answer(record: Record) -> list[str]:
    return differences(json_answer(record["reply"]), record["expected"])


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
    conversation = Interleaved("reference")
    prompts = []
    while not conversation.finished:
        if conversation.program is None:
            user = "<USER later>" if prompts else "<USER first>"
            prompts.append({"user": user, "assistant": conversation.text if prompts else None})
            conversation = conversation.said(next(replies))
        else:
            conversation = conversation.ran(next(outputs))
    found = {
        "generations": len(prompts),
        "prompts": prompts,
        "code_run": list(conversation.programs),
        "generation": conversation.text,
        "answer": conversation.answer,
    }
    yield from differences(found, record["expected"])
    if next(replies, None) is not None or next(outputs, None) is not None:
        yield "replies or outputs were left over"
