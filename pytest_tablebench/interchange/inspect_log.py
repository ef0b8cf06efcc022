"""Export to Inspect: one `.eval` log for each dataset of a run, for `inspect view`."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from pytest_tablebench.config.axes import GRID, MODES, names_on
from pytest_tablebench.interchange.every_eval_ever import LOCAL, messages_of
from pytest_tablebench.interchange.exporter import (
    LIBRARY,
    PARAMETERS,
    RunTexts,
    json_text,
    moment,
    plain,
    records_by,
    run_uuid,
    scopes_of,
    tokens_of,
)
from pytest_tablebench.results.record import CUTS, Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import slug

VERSION = 2
"""The version of Inspect's log format."""

_ROLES = {"system", "user", "assistant", "tool"}
_PLACED = {
    *("model", "dataset", "score", "raw", "prediction", "references", "reason", "metric"),
    *("passed", "repeat", "latency_s", "prompt_tokens", "completion_tokens"),
}
_FIGURES = ("performance", "robustness", "pass_rate", "no_answer")


def write_inspect(run: Run, folder: Path) -> list[Path]:
    """Write `<time>_<dataset>_<id>.eval` for each dataset: a zip of JSON files.

    It does not need Inspect. A sample is an example in one configuration, an epoch is a repeat. A
    case without an answer has an error and no score, like Inspect's failed samples.
    """
    texts, written = RunTexts.of(run), []
    created = moment(run.facts.start, run.facts.end).astimezone(UTC)
    for dataset, records in records_by(run, "dataset").items():
        log = _Log(run, dataset, records, texts, created)
        stamp = created.strftime("%Y-%m-%dT%H-%M-%S-00-00")
        path = folder / f"{stamp}_{slug(dataset)}_{log.task_id}.eval"
        with tempfile.SpooledTemporaryFile(max_size=32_000_000) as file:
            log.write(file)
            file.seek(0)
            write_whole(path, iter(lambda f=file: f.read(1 << 20), b""))  # type: ignore[misc]
        written.append(path)
    return written


class _Log:
    """The log of one dataset."""

    def __init__(
        self, run: Run, dataset: str, records: Sequence[Record], texts: RunTexts, created: datetime
    ) -> None:
        self.run, self.dataset, self.records, self.texts = run, dataset, records, texts
        self.created = created.isoformat()
        self.task_id = run_uuid(run, f"inspect {dataset}").hex[:22]
        metrics = {record.metric for record in records if record.metric}
        self.scorer = metrics.pop() if len(metrics) == 1 else "score"
        self.several = [
            axis.name for axis in MODES if len({names_on(r, (axis,)) for r in records}) > 1
        ]

    def write(self, file: IO[bytes]) -> None:
        summaries = []
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as log:
            start = {"version": VERSION, "eval": self._spec(), "plan": {}}
            _put(log, "_journal/start.json", start)
            for sample in map(self._sample, self.records):
                _put(log, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
                summaries.append(_summary(sample))
            _put(log, "summaries.json", summaries)
            _put(log, "header.json", self._header())

    def _spec(self) -> dict[str, Any]:
        facts = self.run.facts
        ids = list(dict.fromkeys(map(self._id, self.records)))
        params = facts.parameters
        return {
            "eval_id": run_uuid(self.run, f"eval {self.dataset}").hex[:22],
            "run_id": run_uuid(self.run, "run").hex[:22],
            "created": self.created,
            "task": self.dataset,
            "task_id": self.task_id,
            "dataset": {"name": self.dataset, "samples": len(ids), "sample_ids": ids},
            "model": facts.model,
            "model_generate_config": {
                name: params[name] for name in PARAMETERS if type(params.get(name)) in {int, float}
            },
            "config": {
                "epochs": max(record.repeat for record in self.records),
                "fail_on_error": False,
            },
            "packages": {LIBRARY: facts.version or "unknown"},
            "scorers": [{"name": self.scorer}],
            "metadata": {name: value for name, value in facts.entries.items() if name not in LOCAL},
        }

    def _header(self) -> dict[str, Any]:
        facts = self.run.facts
        ended = moment(facts.end, facts.start).astimezone(UTC).isoformat()
        scope = scopes_of(self.run)[self.dataset]
        lost = sum(record.score is None for record in self.records)
        score = {
            "name": self.scorer,
            "scorer": self.scorer,
            "scored_samples": len(self.records) - lost,
            "unscored_samples": lost,
            "metrics": {
                name: {"name": name, "value": scope[name]}
                for name in _FIGURES
                if scope.get(name) is not None
            },
        }
        return {
            "version": VERSION,
            "status": "success" if facts.is_complete else "cancelled",
            "eval": self._spec(),
            "plan": {},
            "results": {
                "total_samples": len(self.records),
                "completed_samples": len(self.records) - lost,
                "scores": [score],
            },
            "stats": {"started_at": self.created, "completed_at": ended},
        }

    def _id(self, record: Record) -> str:
        axes = (*(axis.name for axis in GRID), *self.several)
        # A sample's id is a path in the zip, and names in an imported run may be any text.
        return "/".join(slug(getattr(record, name), 100) for name in ("example_id", *axes))

    def _sample(self, record: Record) -> dict[str, Any]:
        prompt, turns = self.texts.prompt(record), self.texts.turns(record)
        answer = [] if turns or record.raw is None else [("reply", record.raw)]
        sample: dict[str, Any] = {
            "id": self._id(record),
            "epoch": record.repeat,
            "input": self.texts.question_or_prompt(record),
            "target": [str(reference) for reference in record.references],
            "messages": [*map(_message, messages_of(prompt, [*turns, *answer]))],
            "output": _output(record),
            "metadata": {
                name: value for name, value in record.values.items() if name not in _PLACED
            },
            "model_usage": {} if (used := tokens_of(record)) is None else {record.model: used},
            "total_time": record.latency_s,
            "scores": {},
        }
        if record.score is None:
            reason = record.reason or "no answer"
            sample["error"] = {"message": reason, "traceback": "", "traceback_ansi": ""}
        else:
            sample["scores"][self.scorer] = {
                "value": record.score,
                "answer": json_text(record.prediction),
                "metadata": {"metric": record.metric, "passed": record.passed},
            }
        return sample


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message in Inspect's format, which has four roles."""
    role = message["role"] if message["role"] in _ROLES else "assistant"
    entry: dict[str, Any] = {"role": role, "content": message["content"] or ""}
    if calls := message.get("tool_calls"):
        entry["tool_calls"] = [
            {
                "id": call["id"],
                "function": call["name"],
                "arguments": call["arguments"],
                "type": "function",
            }
            for call in calls
        ]
    if ids := message.get("tool_call_id"):
        entry["tool_call_id"] = ids[0]
    return entry


def _output(record: Record) -> dict[str, Any]:
    output: dict[str, Any] = {"model": record.model, "choices": [], "usage": tokens_of(record)}
    if record.raw is not None:
        message = {"role": "assistant", "content": record.raw, "model": record.model}
        why = "max_tokens" if any(name in record.tallies for name in CUTS) else "stop"
        output |= {"choices": [{"message": message, "stop_reason": why}], "completion": record.raw}
    return output


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sample's entry in the list of samples, with a shortened input."""
    names = ("id", "epoch", "target", "scores", "model_usage", "total_time")
    shown = {name: sample[name] for name in names}
    error = sample.get("error")
    return shown | {
        "input": sample["input"][:1000],
        "error": error["message"] if error else None,
        "completed": True,
        "message_count": len(sample["messages"]),
    }


def _put(log: zipfile.ZipFile, name: str, value: Any) -> None:
    entry = zipfile.ZipInfo(name)  # its date is fixed, so that the same run gives the same bytes
    entry.compress_type = zipfile.ZIP_DEFLATED
    log.writestr(entry, json.dumps(plain(value), default=str))
