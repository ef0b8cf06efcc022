"""Import evaluations as a run folder: check every row, then write the files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange._foreign import (
    Evaluation,
    EvaluationRow,
    check_row,
    checked_record,
    foreign_fields,
)
from pytest_tablebench.interchange.every_eval_ever import PLACED, ROLES, TAG, TEXTS
from pytest_tablebench.interchange.exporter import LIBRARY, PARAMETERS, RunTexts
from pytest_tablebench.results import RunFolder
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import TEXTS as TEXTS_FILE
from pytest_tablebench.results.texts import example_key, merge_media
from pytest_tablebench.serializers.content import digest_of
from pytest_tablebench.util.entries import listing, mapping, parsed_json
from pytest_tablebench.util.names import counted, shortened

_TURNS = {message: turn for turn, message in ROLES.items()}
_UNKNOWN: Mapping[str, str] = {
    "raw": "replies",
    "prompt_digest": "prompts",
    "threshold": "thresholds",
    "latency_s": "times",
    "prompt_tokens": "tokens",
    "cost_usd": "costs",
}
"""Fields of a record, with the name of the fact that is unknown if all records lack it."""


def import_run(
    evaluations: Sequence[Evaluation], out: Path, *, model: str | None = None
) -> list[str]:
    """Write the evaluations of one model as one run folder; return lines for the terminal.

    All are checked before anything is written. `model` is the name of the model in the run; None
    takes it from the files.

    Raises `DataError` with file and line of a malformed case, and for evaluations with several
    models or with a case twice; `SettingsError` for a folder with a run.
    """
    if not evaluations:
        raise DataError("these files contain no evaluation")
    model = model or _only_model(evaluations)
    texts = RunTexts()
    records: dict[str, tuple[Record, str]] = {}
    for evaluation in evaluations:
        for row in evaluation.rows:
            check_row(row)
        for row, fields in _cases(evaluation):
            ours = _is_ours(evaluation)
            record = _record(row, fields | {"model": model}, texts, ours=ours)
            if record.case_id in records:
                case, first = shortened(record.case_id, 120), records[record.case_id][1]
                raise DataError(f"{row.place}: {case} occurs twice, first in {first}")
            records[record.case_id] = record, row.place
    case_records = [record for record, _ in records.values()]
    if not case_records:
        raise DataError(f"{evaluations[0].path}: contains no case")
    facts = _run_facts(evaluations, case_records, model)
    run = Run(out, facts, new_records=case_records)
    run.labels = ()
    summary = summary_of(run)  # raises `DataError` for records that form no table
    folder = RunFolder(out)
    try:
        for record in case_records:
            folder.append(record.to_line())
        texts.write(out / TEXTS_FILE)
        # Images are next to the folder `data` of data/<benchmark>/<developer>/<model>/<uuid>.json.
        parents = (evaluation.path.parents for evaluation in evaluations)
        merge_media(dict.fromkeys(above[4] for above in parents if len(above) > 4), out)
        folder.write_summary(summary)
        folder.write_run(facts.entries)
    finally:
        folder.close()
    datasets = counted(len({record.dataset for record in case_records}), "dataset")
    lost = sum(record.score is None for record in case_records)
    lines = [
        f"imported {counted(len(case_records), 'case')} of {datasets}, {lost:,} without an answer, "
        f"from {', '.join(facts.imported['libraries'])}"
    ]
    if unknown := facts.imported["unknown"]:
        lines.append(f"unknown, because the files do not contain it: {', '.join(unknown)}")
    return lines


def _cases(evaluation: Evaluation) -> Iterable[tuple[EvaluationRow, dict[str, Any]]]:
    is_ours = _is_ours(evaluation)
    if not is_ours and not any(row.fields for row in evaluation.rows):
        yield from foreign_fields(evaluation)
        return
    for row in evaluation.rows:
        if not is_ours:
            yield row, dict(row.fields)
            continue
        try:
            fields = _recorded_fields(row.data.get("metadata") or {})
        except ValueError as error:
            raise DataError(f"{row.place}: metadata: {shortened(str(error), 200)}") from None
        about = {"dataset": row.data["evaluation_name"], "example_id": row.data["sample_id"]}
        yield row, fields | about


def _record(row: EvaluationRow, fields: dict[str, Any], texts: RunTexts, *, ours: bool) -> Record:
    """Return the record of a case, and add its texts to `texts`."""
    data = row.data
    question, messages = data["input"], data.get("messages")
    prompt: str | None = question.get("formatted") or (None if ours else question["raw"] or None)
    fields["references"] = tuple(question["reference"])
    if fields.get("outcome") == "no_answer":
        fields |= {"score": None, "passed": None, "reason": data.get("error") or "unknown"}
    else:
        fields.setdefault("score", float(data["evaluation"]["score"]))
        scored = fields.get("outcome") == "scored"
        fields["passed"] = None if scored else data["evaluation"]["is_correct"]
    if messages is not None:
        # The messages before the first reply are the prompt.
        roles = [message["role"] not in {"user", "system"} for message in messages]
        end = roles.index(True) if True in roles else len(roles)
        if not (ours or question.get("formatted")):
            prompt = "\n\n".join(str(message.get("content") or "") for message in messages[:end])
        turns = _turns_of(messages[end:])
        digest = fields.get("transcript") or digest_of(json.dumps(turns))
        fields["transcript"] = digest
        texts.transcripts[digest] = turns
        replies = [text for role, text in turns if role == "reply"]
        fields.setdefault(
            "raw", replies[-1] if replies and fields.get("outcome") != "no_answer" else None
        )
    elif data["output"]["raw"]:
        fields["raw"] = data["output"]["raw"][0]
    final = [entry for entry in data["answer_attribution"] if entry.get("is_terminal")]
    if final and fields.get("outcome") != "no_answer":
        fields.setdefault("prediction", str(final[-1].get("extracted_value")))
    used, latency = mapping(data, "token_usage"), mapping(data, "performance").get("latency_ms")
    fields.setdefault("prompt_tokens", used.get("input_tokens"))
    fields.setdefault("completion_tokens", used.get("output_tokens"))
    fields.setdefault("latency_s", None if latency is None else latency / 1000)
    if prompt and (fields.get("prompt_digest") or not ours):
        fields["prompt_digest"] = fields.get("prompt_digest") or digest_of(prompt)
        texts.prompts[fields["prompt_digest"]] = prompt
    record = checked_record(fields, row.place)
    if question["raw"] and not (ours and question["raw"] == prompt):
        key = example_key(record.dataset, record.example_id, record.perturbation)
        texts.questions[key] = question["raw"]
    return record


def _turns_of(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the messages after the prompt as the turns of a transcript."""
    turns = []
    for message in messages:
        role, content = str(message.get("role")), message.get("content")
        for call in message.get("tool_calls") or ():
            arguments = call.get("arguments") or {}
            text = arguments.get("text") if set(arguments) == {"text"} else json.dumps(arguments)
            turns.append(("program", str(text)))
        if content is not None:
            turns.append((_TURNS.get(role, role), str(content)))
    return turns


def _recorded_fields(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a record in the metadata of a row that this package wrote.

    Raises `ValueError` for an entry that should be JSON and is not.
    """
    names = {item.name for item in fields_of(Record)} - PLACED | {"raw", "prediction"}
    values: dict[str, Any] = {
        name: text if name in TEXTS | {"raw"} else parsed_json(text)
        for name, text in metadata.items()
        if name in names
    }
    values["tags"] = {
        name.removeprefix(TAG): text for name, text in metadata.items() if name.startswith(TAG)
    }
    return values


def _only_model(evaluations: Sequence[Evaluation]) -> str:
    names = {
        str(evaluation.facts["model_info"]["name" if _is_ours(evaluation) else "id"])
        for evaluation in evaluations
    }
    if len(names) > 1:
        shown = ", ".join(shortened(name, 60) for name in sorted(names)[:5])
        raise DataError(
            f"a run has one model, but these files have {len(names)}: {shown}; import the files of "
            f"each model separately"
        )
    return names.pop()


def _is_ours(evaluation: Evaluation) -> bool:
    return bool(evaluation.facts["eval_library"]["name"] == LIBRARY)


def _run_facts(
    evaluations: Sequence[Evaluation], records: Sequence[Record], model: str
) -> RunFacts:
    """Return the exported facts of the run, or those that another tool knows."""
    first = evaluations[0].facts
    run: dict[str, Any] = {"status": "complete", "exit_code": None, "datasets": {}}
    if all(map(_is_ours, evaluations)):
        recorded = _facts_of_run(evaluations)
        run = recorded | {name: value for name, value in run.items() if name not in recorded}
    else:
        run |= {"cases_planned": len(records), "cases_recorded": len(records)}
    run.setdefault("params", _params(first))
    for evaluation in evaluations:
        for name, entry in evaluation.run.items():
            is_by_name = isinstance(entry, Mapping)
            run[name] = {**run.get(name, {}), **entry} if is_by_name else entry
    libraries = {
        "{name} {version}".format(**evaluation.facts["eval_library"]): None
        for evaluation in evaluations
    }
    unknown = [
        fact
        for name, fact in _UNKNOWN.items()
        if all(getattr(record, name) is None for record in records)
    ]
    imported = {
        "from": str(first.get("form", "every-eval-ever")),
        "schema_version": str(first["schema_version"]),
        "libraries": [shortened(name, 80) for name in libraries],
        "evaluations": [str(evaluation.facts["evaluation_id"]) for evaluation in evaluations],
        "unknown": ["tables", *unknown],
    }
    return RunFacts.from_json(
        run | {"model": model, "imported": imported}, str(evaluations[0].path)
    )


def _facts_of_run(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Return the exported `run.json`. Raises `DataError` for parts of different runs."""
    details = [
        mapping(evaluation.facts, "eval_library", "additional_details")
        for evaluation in evaluations
    ]
    for evaluation, facts in zip(evaluations, details, strict=True):
        if facts != details[0]:
            paths = f"{evaluation.path} and {evaluations[0].path}"
            raise DataError(f"{paths} are from different runs; import each run separately")
    try:
        return {str(name): parsed_json(text) for name, text in details[0].items()}
    except (ValueError, TypeError) as error:
        text = f"{evaluations[0].path}: eval_library: {shortened(str(error), 200)}"
        raise DataError(text) from None


def _params(facts: Mapping[str, Any]) -> dict[str, Any]:
    for result in listing(facts.get("evaluation_results")):
        if params := mapping(result, "generation_config", "generation_args"):
            return {name: params[name] for name in PARAMETERS if params.get(name) is not None}
    return {}
