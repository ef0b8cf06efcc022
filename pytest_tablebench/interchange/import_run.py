"""Import evaluations as a run folder: check every row, then write the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange._foreign import (
    Evaluation,
    checked_record,
)
from pytest_tablebench.interchange.exporter import RunTexts
from pytest_tablebench.results import RunFolder
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import TEXTS as TEXTS_FILE
from pytest_tablebench.results.texts import example_key, merge_media
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import counted, shortened

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
    for case in (case for evaluation in evaluations for case in evaluation.cases):
        record = checked_record(case.fields | {"model": model}, case.location)
        if record.case_id in records:
            name, first = shortened(record.case_id, 120), records[record.case_id][1]
            raise DataError(f"{case.location}: {name} occurs twice, first in {first}")
        records[record.case_id] = record, case.location
        if case.prompt and record.prompt_digest:
            texts.prompts[record.prompt_digest] = case.prompt
        if case.turns is not None and record.transcript:
            texts.transcripts[record.transcript] = case.turns
        if case.question:
            key = example_key(record.dataset, record.example_id, record.perturbation)
            texts.questions[key] = case.question
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


def _only_model(evaluations: Sequence[Evaluation]) -> str:
    names = {evaluation.model for evaluation in evaluations}
    if len(names) > 1:
        shown = ", ".join(shortened(name, 60) for name in sorted(names)[:5])
        raise DataError(
            f"a run has one model, but these files have {len(names)}: {shown}; import the files of "
            f"each model separately"
        )
    return names.pop()


def _run_facts(
    evaluations: Sequence[Evaluation], records: Sequence[Record], model: str
) -> RunFacts:
    """Return the exported facts of the run, or those that another tool knows."""
    first = evaluations[0]
    run: dict[str, Any] = {"status": "complete", "exit_code": None, "datasets": {}}
    if all(evaluation.exported is not None for evaluation in evaluations):
        recorded = _facts_of_run(evaluations)
        run = recorded | {name: value for name, value in run.items() if name not in recorded}
    else:
        run |= {"cases_planned": len(records), "cases_recorded": len(records)}
    run.setdefault("params", first.params)
    for evaluation in evaluations:
        for name, entry in evaluation.run.items():
            is_by_name = isinstance(entry, Mapping)
            run[name] = {**run.get(name, {}), **entry} if is_by_name else entry
    unknown = [
        fact
        for name, fact in _UNKNOWN.items()
        if all(getattr(record, name) is None for record in records)
    ]
    libraries = dict.fromkeys(evaluation.library for evaluation in evaluations)
    imported = {
        "from": first.form,
        "schema_version": first.schema_version,
        "libraries": [shortened(name, 80) for name in libraries],
        "evaluations": [evaluation.name for evaluation in evaluations],
        "unknown": ["tables", *unknown],
    }
    return RunFacts.from_json(run | {"model": model, "imported": imported}, str(first.path))


def _facts_of_run(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Return the exported `run.json`. Raises `DataError` for parts of different runs."""
    first = evaluations[0]
    for evaluation in evaluations:
        if evaluation.exported != first.exported:
            paths = f"{evaluation.path} and {first.path}"
            raise DataError(f"{paths} are from different runs; import each run separately")
    try:
        return {str(name): parsed_json(text) for name, text in (first.exported or {}).items()}
    except (ValueError, TypeError) as error:
        text = f"{first.path}: eval_library: {shortened(str(error), 200)}"
        raise DataError(text) from None
