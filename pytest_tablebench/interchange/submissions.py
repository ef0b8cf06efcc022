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


def write_treb_submission(run: Run, folder: Path) -> list[Path]:
    """Write `treb-STRATEGY.jsonl` for each strategy, with a line for each answered sample.

    The fields are upstream's: `id`, `model_name`, `question`, `generation` (the whole reply) and
    `pred_answer` (the parsed answer, or the output of its program).
    """
    texts = RunTexts.of(run)
    by_strategy: dict[str, dict[str, str]] = {}
    for record in run.records:
        if record.benchmark == "treb" and record.score is not None:
            strategy, answer = record.strategy, _submitted(record, texts)
            lines = by_strategy.setdefault(strategy, {})
            if answer["id"] in lines:  # upstream accepts only one answer
                raise DataError(
                    f"{run.path}: {shortened(answer['id'], 120)} was answered several times with "
                    f"the strategy {shortened(strategy, 40)}, but a submission has one answer per "
                    f"sample; export a run with one serializer, without perturbations and repeats"
                )
            lines[answer["id"]] = json.dumps(answer, ensure_ascii=False) + "\n"
    if not by_strategy:
        raise DataError(f"{run.path} has no answered case of TReB, so nothing can be submitted")
    paths = []
    for strategy, lines in sorted(by_strategy.items()):
        paths.append(folder / f"treb-{slug(strategy)}.jsonl")
        write_whole(paths[-1], "".join(lines.values()))
    return paths


def _submitted(record: Record, texts: RunTexts) -> dict[str, str]:
    """Return the line of an answered case."""
    from pytest_tablebench.datasets.treb import subtask_names

    language, _, rest = record.example_id.partition("|")
    example = rest if language in LANGUAGES else record.example_id
    usual = subtask_names().get(record.dataset, record.dataset.removeprefix("treb_"))
    answer = {
        "id": f"{record.tags.get('subtask') or usual}|{example}",
        "model_name": record.model,
        "question": texts.question(record) or "",
        "generation": record.raw or "",
        "pred_answer": json_text(record.prediction) or "",
    }
    return {name: plain(text) for name, text in answer.items()}


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

    `tasks` has the tasks by name of a dataset or benchmark of the run, `source` is an address that
    shows the run.
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
