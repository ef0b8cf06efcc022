"""Submissions of results: TReB's answers, and community evals on the Hugging Face hub."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.interchange.exporter import (
    LIBRARY,
    RunTexts,
    json_text,
    moment,
    plain,
    records_by,
    scopes_of,
)
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import counted, known_names, shortened, slug

LANGUAGES = ("English", "Chinese")
"""Upstream's folders of samples. Our example ids begin with them, upstream's ids do not."""

FIELDS = ("id", "model_name", "question", "generation", "pred_answer")


def write_treb_submission(run: Run, folder: Path) -> list[Path]:
    """Write `treb-STRATEGY.jsonl` for each strategy, with a line for each answered sample.

    The fields are upstream's: `id`, `model_name`, `question`, `generation` (the whole reply) and
    `pred_answer` (the parsed answer, or the output of its program).
    """
    texts = RunTexts.of(run)
    by_strategy: dict[str, list[Record]] = {}
    for record in run.records:
        if record.benchmark == "treb" and record.score is not None:
            by_strategy.setdefault(record.strategy, []).append(record)
    if not by_strategy:
        raise DataError(f"{run.path} has no answered case of TReB, so nothing can be submitted")
    answers_of = {
        strategy: [submitted(record, texts) for record in records]
        for strategy, records in sorted(by_strategy.items())
    }
    for strategy, answers in answers_of.items():
        _check_once(answers, run.path, strategy)
    paths = []
    for strategy, answers in answers_of.items():
        path = folder / f"treb-{slug(strategy)}.jsonl"
        lines = (json.dumps(answer, ensure_ascii=False) for answer in answers)
        write_whole(path, "".join(f"{line}\n" for line in lines))
        paths.append(path)
    return paths


def submitted(record: Record, texts: RunTexts) -> dict[str, str]:
    """Return the line of an answered case."""
    language, _, rest = record.example_id.partition("|")
    example = rest if language in LANGUAGES else record.example_id
    subtask = record.tags.get("subtask") or _subtask_of(record.dataset)
    values = (
        f"{subtask}|{example}",
        record.model,
        texts.question(record) or "",
        record.raw or "",
        json_text(record.prediction) or "",
    )
    return dict(zip(FIELDS, map(plain, values), strict=True))


def _subtask_of(dataset: str) -> str:
    from pytest_tablebench.datasets.treb import subtask_names

    return subtask_names().get(dataset, dataset.removeprefix("treb_"))


def _check_once(answers: Sequence[Mapping[str, str]], run: Path, strategy: str) -> None:
    """Raise `DataError` if a sample has several answers, since upstream accepts only one."""
    ids = [answer["id"] for answer in answers]
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise DataError(
            f"{run}: {shortened(twice, 120)} was answered {counted(ids.count(twice), 'time')} with "
            f"the strategy {shortened(strategy, 40)}, but a submission has one answer per sample; "
            f"export a run with one serializer, without perturbations and repeats"
        )


@dataclass(frozen=True)
class HubTask:
    """A benchmark on the hub: its dataset, the task in its `eval.yaml`, and a commit."""

    dataset: str
    task: str
    revision: str | None = None


def write_community_evals(
    run: Run, folder: Path, *, tasks: Mapping[str, HubTask], source: str | None = None
) -> list[Path]:
    """Write `.eval_results/<name>.yaml` for each dataset or benchmark with a task on the hub.

    The value is the mean score, from 0 to 1, of the answered cases. The notes contain the number
    of unanswered cases and the selection of cases. Format of the file:
    https://huggingface.co/docs/hub/eval-results.

    Args:
        run: the run.
        folder: the folder to write into.
        tasks: the tasks, by name of a dataset or benchmark of the run.
        source: an address that shows the run.
    """
    import yaml

    records_by(run, "dataset")
    entries = {name: _entry(run, name, task) for name, task in tasks.items()}
    (folder / ".eval_results").mkdir(exist_ok=True)
    written = []
    for name, entry in entries.items():
        if source is not None:
            entry["source"] = {"url": source, "name": f"{LIBRARY} run"}
        path = folder / ".eval_results" / f"{slug(name)}.yaml"
        write_whole(path, yaml.safe_dump([entry], sort_keys=False, allow_unicode=True))
        written.append(path)
    return written


def _entry(run: Run, name: str, task: HubTask) -> dict[str, Any]:
    scopes = scopes_of(run)
    if name not in scopes:
        choices = known_names(name, scopes)
        raise SettingsError(f"--hub-dataset: the run has no {shortened(name, 60)!r}; {choices}")
    scope = scopes[name]
    if scope["performance"] is None:
        raise SettingsError(f"--hub-dataset: {shortened(name, 60)} has no answered case")
    dataset = {"id": task.dataset, "task_id": task.task}
    if task.revision is not None:
        dataset["revision"] = task.revision
    return {
        "dataset": dataset,
        "value": scope["performance"],
        "date": moment(run.facts.end, run.facts.start).isoformat(),
        "notes": "; ".join(_notes(run.facts, scope)),
    }


def _notes(run: RunFacts, scope: Mapping[str, Any]) -> Sequence[str]:
    lost = round(scope["no_answer"] * scope["n_cases"])
    notes = [
        f"{LIBRARY} {run.version or 'of unknown version'}, mean score",
        f"{counted(scope['n_examples'], 'example')}, {counted(scope['n_cases'], 'case')}, "
        f"{lost:,} without an answer left out",
    ]
    settings = {
        name: run.entries.get(name) for name in ("compat", "limit", "sample", "shots", "strategy")
    }
    set_values = [
        f"{name} {shortened(str(value), 40)}" for name, value in settings.items() if value
    ]
    return [*notes, *set_values, *filter(None, [run.selection_text])]
