"""Export community evals: the files with results in a model's repository on the hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.interchange.exporter import (
    LIBRARY,
    moment,
    records_by,
    scopes_of,
)
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import counted, known_names, shortened, slug


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
