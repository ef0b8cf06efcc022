"""Convert records to rows of every-eval-ever's instance-level file, and back.

Fields without a place in the schema become entries of `metadata` under their own names: text
unchanged, other values as JSON. Default values are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from hashlib import sha256
from typing import Any

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.interchange.exporter import RunTexts, json_text, tokens_of
from pytest_tablebench.results.record import Record
from pytest_tablebench.util.entries import parsed_json

SCHEMA_VERSION = "0.3.0"
"""The version of every-eval-ever's two schemas."""

TAG = "tag:"
"""The prefix of the name of a tag in `metadata`."""

_PLACED = {
    *("model", "dataset", "example_id", "score", "passed", "raw", "references", "reason"),
    *("prediction", "tags"),
}
"""The fields of a record that have another place in a row."""

_TEXTS = {
    *("case_id", "benchmark", *(axis.name for axis in NAMED)),
    *("outcome", "metric", "part", "prompt_digest", "transcript", "cluster"),
}
_ROLES = {"user": "user", "reply": "assistant", "output": "tool"}
_ROLE_OF_TURN = {message: turn for turn, message in _ROLES.items()}
_TOOL = "program"


def result_id(dataset: str, figure: str) -> str:
    """Return the id of an aggregate result, which its rows contain."""
    return f"{dataset}::{figure}"


def row_of(record: Record, texts: RunTexts, evaluation_id: str, model_id: str) -> dict[str, Any]:
    """Return the row of a case.

    A case without an answer has `error`, an empty output, and `outcome` in its metadata. The
    schema requires a score nevertheless, which is a meaningless 0.
    """
    prompt, turns = texts.prompt(record), texts.turns(record)
    references = [str(reference) for reference in record.references]
    raw_input = texts.question_or_prompt(record)
    mark = json.dumps({"raw": raw_input, "reference": references}, sort_keys=True)
    seconds = record.latency_s
    row: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id,
        "model_id": model_id,
        "evaluation_name": record.dataset,
        "evaluation_result_id": result_id(record.dataset, "performance"),
        "sample_id": record.example_id,
        "sample_hash": sha256(mark.encode("ascii")).hexdigest(),
        "input": {"raw": raw_input, "formatted": prompt, "reference": references},
        "evaluation": {"score": record.score or 0.0, "is_correct": record.passed is True},
        "error": (record.reason or "no answer") if record.score is None else None,
        "token_usage": tokens_of(record),
        "performance": None if seconds is None else {"latency_ms": seconds * 1000},
        "metadata": _metadata(record),
    }
    if turns:
        messages = messages_of(prompt, turns)
        calls = sum(len(message.get("tool_calls") or ()) for message in messages)
        row["interaction_type"] = "agentic" if calls else "multi_turn"
        row |= {"output": None, "messages": messages}
        row["evaluation"] |= {"num_turns": len(turns), "tool_calls_count": calls}
        if record.raw is not None:
            row["metadata"]["raw"] = record.raw
    else:
        row["interaction_type"] = "single_turn"
        row |= {"output": {"raw": [] if record.raw is None else [record.raw]}, "messages": None}
    row["answer_attribution"] = _attribution(record, row["messages"])
    return row


def _attribution(record: Record, messages: Sequence[Any] | None) -> list[dict[str, Any]]:
    if record.prediction is None:
        return []
    last = len(messages) - 1 if messages else 0
    return [
        {
            "turn_idx": last,
            "source": f"messages[{last}].content" if messages else "output.raw",
            "extracted_value": json_text(record.prediction),
            "extraction_method": record.metric or "none",
            "is_terminal": True,
        }
    ]


def _metadata(record: Record) -> dict[str, str]:
    entries: dict[str, str] = {}
    placed = _PLACED
    if tokens_of(record) is not None:
        placed = placed | {"prompt_tokens", "completion_tokens"}
    if record.latency_s is not None and record.latency_s * 1000 / 1000 == record.latency_s:
        placed = placed | {"latency_s"}
    for item in fields(Record):
        value: Any = getattr(record, item.name)
        value = tuple(value) if isinstance(value, list) else value
        made = item.default_factory
        usual = item.default if made is MISSING else made()
        if item.name not in placed and value != usual:
            entries[item.name] = value if item.name in _TEXTS else json.dumps(value, default=str)
    if record.prediction is not None and not isinstance(record.prediction, str):
        entries["prediction"] = json.dumps(record.prediction, default=str)
    return entries | {f"{TAG}{name}": text for name, text in record.tags.items()}


def messages_of(prompt: str | None, turns: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return prompt and turns as messages; programs are tool calls, outputs the tool's replies."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt or ""}]
    call = 0
    for role, text in turns:
        if role == "program":
            call += 1
            tool_call = {"id": f"call-{call}", "name": _TOOL, "arguments": {"text": text}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [tool_call]})
        elif role == "output":
            messages.append({"role": "tool", "content": text, "tool_call_id": [f"call-{call}"]})
        else:
            messages.append({"role": _ROLES.get(role, role), "content": text})
    return [{"turn_idx": place, **message} for place, message in enumerate(messages)]


def turns_of(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the messages after the prompt as the turns of a transcript."""
    turns = []
    for message in messages:
        role, content = str(message.get("role")), message.get("content")
        for call in message.get("tool_calls") or ():
            arguments = call.get("arguments") or {}
            text = arguments.get("text") if set(arguments) == {"text"} else json.dumps(arguments)
            turns.append(("program", str(text)))
        if content is not None:
            turns.append((_ROLE_OF_TURN.get(role, role), str(content)))
    return turns


def recorded_fields(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a record in the metadata of a row that this package wrote.

    Raises `ValueError` for an entry that should be JSON and is not.
    """
    names = {item.name for item in fields(Record)} | {"raw", "prediction"}
    values: dict[str, Any] = {}
    for name, text in metadata.items():
        if name in names - _PLACED | {"raw", "prediction"}:
            values[name] = text if name in _TEXTS | {"raw"} else parsed_json(text)
    values["tags"] = {
        name.removeprefix(TAG): text for name, text in metadata.items() if name.startswith(TAG)
    }
    return values
