"""Export to every-eval-ever: for each benchmark an aggregate file and a file of its cases.

Fields of records without a place in the schema of cases become entries of `metadata` under their
own names: text unchanged, other values as JSON. Default values are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.interchange.exporter import (
    LIBRARY,
    PARAMETERS,
    RunTexts,
    json_text,
    moment,
    plain,
    records_by,
    run_uuid,
    tokens_of,
)
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import MEDIA, merge_media
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import shortened, slug

SCHEMA_VERSION = "0.3.0"
"""The version of every-eval-ever's two schemas."""

TAG = "tag:"
"""The prefix of the name of a tag in `metadata`."""

PLACED = {
    *("model", "dataset", "example_id", "score", "passed", "raw", "references", "reason"),
    *("prediction", "tags"),
}
"""The fields of a record that have another place in a row."""

TEXTS = {
    *("case_id", "benchmark", *(axis.name for axis in NAMED)),
    *("outcome", "metric", "part", "prompt_digest", "transcript", "cluster"),
}
ROLES = {"user": "user", "reply": "assistant", "output": "tool"}
_TOOL = "program"

LOCAL = {
    *("schema", "model", "store", "data", "baseline", "api_base", "named_by"),
    *("missing", "imported"),
}
"""The entries of `run.json` that are not exported: exported elsewhere, or local places."""

_FIGURES = {
    "performance": "mean score",
    "pass_rate": "share of cases that are right",
    "robustness": "how little the score depends on serializer and perturbation",
    "no_answer": "share of cases without an answer",
}
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+@=~ -]{0,127}")
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?|data|unknown")


def write_every_eval_ever(
    run: Run,
    folder: Path,
    *,
    model_id: str | None = None,
    organization: str = "unknown",
    relationship: str = "other",
    samples: bool = True,
) -> list[Path]:
    """Write `<uuid>.json` and `<uuid>_samples.jsonl` in `data/<benchmark>/<developer>/<model>/`.

    `model_id` is `developer/model`; None takes the model's name, which must have that form.
    `organization` is the evaluating one, with its `relationship` to the model in the schema's
    words. `samples` says whether to write the cases, with questions, prompts and replies.
    """
    model_id = model_id or run.facts.model
    model_folder = _model_place(model_id)
    texts = RunTexts.of(run) if samples else RunTexts()
    written = []
    for benchmark, records in records_by(run, "benchmark").items():
        subfolder = Path("data", slug(benchmark), *model_folder)
        (folder / subfolder).mkdir(parents=True, exist_ok=True)
        mark = run_uuid(run, benchmark)
        aggregate = _aggregate(run, benchmark, model_id)
        aggregate["source_metadata"] |= {
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        }
        if samples:
            path = subfolder / f"{mark}_samples.jsonl"
            ids = aggregate["evaluation_id"], model_id
            rows = (row_of(record, texts, *ids) for record in records)
            facts = _write_rows(folder / path, rows, path.as_posix())
            aggregate["detailed_evaluation_results"] = facts
            written.append(folder / path)
        text = json.dumps(plain(aggregate), indent=2, default=str) + "\n"
        write_whole(folder / subfolder / f"{mark}.json", text)
        written.append(folder / subfolder / f"{mark}.json")
    if samples:
        merge_media([run.path], folder)
    media = folder / MEDIA
    return [*written, *([media] if media.is_dir() else [])]


def _aggregate(run: Run, benchmark: str, model_id: str) -> dict[str, Any]:
    facts = run.facts
    began, ended = (
        str(int(moment(*times).timestamp()))
        for times in ((facts.start, facts.end), (facts.end, facts.start))
    )
    shared = {name: value for name, value in facts.entries.items() if name not in LOCAL}
    details = {name: json.dumps(value) for name, value in shared.items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{slug(benchmark)}/{model_id}/{ended}",
        "evaluation_timestamp": began,
        "retrieved_timestamp": ended,
        "source_metadata": {"source_name": LIBRARY, "source_type": "evaluation_run"},
        "eval_library": {
            "name": LIBRARY,
            "version": facts.version or "unknown",
            "additional_details": details,
        },
        "model_info": {
            "name": facts.model,
            "id": model_id,
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
            },
        },
        "evaluation_results": list(_results(run, benchmark)),
    }


def _model_place(model_id: str) -> tuple[str, str]:
    """Return the folders of a developer and a model, by the datastore's rules."""
    parts = model_id.split("/")
    is_valid = len(parts) > 1 and all(
        _PART.fullmatch(part) and not _RESERVED.fullmatch(part) and part[-1] not in ". "
        for part in parts
    )
    if not is_valid:
        raise SettingsError(
            f"--model-id: {shortened(model_id, 80)!r} does not name the developer; write "
            f"developer/model, as on the Hugging Face hub (openai/gpt-4o)"
        )
    return parts[0].replace(":", "_"), "_".join(parts[1:]).replace(":", "_")


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]], name: str) -> dict[str, Any]:
    digest, count = sha256(), 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for count, row in enumerate(rows, start=1):  # noqa: B007
            line = json.dumps(plain(row)).encode("ascii") + b"\n"  # ASCII has no other line ends
            digest.update(line)
            yield line

    write_whole(path, lines())
    return {
        "format": "jsonl",
        "file_path": name,
        "hash_algorithm": "sha256",
        "checksum": digest.hexdigest(),
        "total_rows": count,
    }


def _results(run: Run, benchmark: str) -> Iterator[dict[str, Any]]:
    """Yield the figures of a benchmark's datasets, and its own if it has several datasets."""
    figures = summary_of(run)["benchmarks"][benchmark]
    scopes = dict(figures["datasets"])
    if set(scopes) != {benchmark}:
        scopes[benchmark] = figures
    for name, scope in scopes.items():
        for figure, meaning in _FIGURES.items():
            value = scope.get(figure)
            if value is not None:
                yield _result(run, name, figure, meaning, scope)


def _result(
    run: Run, name: str, figure: str, meaning: str, scope: Mapping[str, Any]
) -> dict[str, Any]:
    files = run.facts.files(name)
    source: dict[str, Any] = {"dataset_name": name, "source_type": "other"}
    if files:
        source["additional_details"] = {f"sha256:{file}": str(mark) for file, mark in files.items()}
    score: dict[str, Any] = {
        "score": scope[figure],
        "details": {name: str(scope[name]) for name in ("n_examples", "n_cases")},
    }
    interval = (scope.get("ci95") or {}).get(figure)
    if interval:
        low, high = interval
        score["uncertainty"] = {
            "confidence_interval": {
                "lower": low,
                "upper": high,
                "confidence_level": 0.95,
                "method": "clusters are tables, or examples if the run names no tables",
            },
            "num_samples": scope["n_examples"],
        }
    return {
        "evaluation_result_id": result_id(name, figure),
        "evaluation_name": name,
        "source_data": source,
        "metric_config": {
            "evaluation_description": meaning,
            "metric_id": f"tablebench.{figure}",
            "metric_name": figure,
            "metric_unit": "proportion",
            "lower_is_better": figure == "no_answer",
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
        },
        "score_details": score,
        "generation_config": _generation(run.facts),
    }


def _generation(run: RunFacts) -> dict[str, Any]:
    """Return the parameters sent, those without a name in the schema as additional details."""
    params = dict(run.parameters)
    named = {
        name: params.pop(name)
        for name in PARAMETERS
        if type(params.get(name)) in ({int} if name == "max_tokens" else {int, float})
    }
    details = {str(name): json.dumps(value, default=str) for name, value in params.items()}
    return {"generation_args": named, "additional_details": details}


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
    placed = PLACED
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
            entries[item.name] = value if item.name in TEXTS else json.dumps(value, default=str)
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
            messages.append({"role": ROLES.get(role, role), "content": text})
    return [{"turn_idx": index, **message} for index, message in enumerate(messages)]
