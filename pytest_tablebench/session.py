"""State of one pytest process, by role.

    alone       runs cases and keeps the run
    worker      runs cases, and sends what came of each to the controller
    controller  keeps the run

What a case yields travels as a `Payload` of built-in types, so that it fits on a test report.
"""

from __future__ import annotations

import contextlib
import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.cases import Case, case_ids
from pytest_tablebench.results import Cell, Outcome, RunFolder, check_writable, summarize
from pytest_tablebench.runner import CaseRun, Runner, no_answer_reason
from pytest_tablebench.settings import Settings, without_credentials

__all__ = ["Payload", "Role", "RunKeeper", "Session", "case_payload", "run_paths"]

Role = Literal["alone", "controller", "worker"]

Payload = dict[str, Any]
"""`record`: the line for records.jsonl; `cell`: its small part; `case_id`, `model`, `outcome` and
`calls`; `tokens`: [prompt, completion, cost] with None for unknown; `facts`: now and then, what
the process knows of data and plan."""


def run_paths(settings: Settings, base: Path, now: datetime) -> dict[str, Path]:
    """Return the run folder of each model: the one asked for, or a new one by time and model."""
    names = case_ids(settings.models, 40, digest=False)
    if settings.results is not None:
        if len(settings.models) == 1:
            return {settings.models[0]: settings.results}
        return {model: settings.results / name for model, name in names.items()}
    paths: dict[str, Path] = {}
    for model, name in names.items():
        stem = f"{now:%Y%m%d-%H%M%S}-{name}"
        path, number = base / "tablebench-results" / stem, 2
        while path.exists():
            path, number = path.with_name(f"{stem}-{number}"), number + 1
        paths[model] = path
    return paths


def case_payload(run: CaseRun, outcome: Outcome, error: BaseException | None) -> Payload:
    """Return what the keeper of the run needs of a finished case."""
    reason = no_answer_reason(error) if error else "not_asked"
    record = run.record(outcome, reason)
    answer = run.answer
    return {
        "record": record.to_line(),
        "case_id": record.case_id,
        "model": record.model,
        "outcome": outcome,
        "cell": [
            record.benchmark,
            record.dataset,
            record.example_id,
            record.serializer,
            record.perturbation,
            record.score,
            record.passed,
            record.reason,
        ],
        "calls": answer.calls if answer else 0,
        "tokens": [answer.prompt_tokens, answer.completion_tokens, answer.cost_usd]
        if answer
        else None,
    }


@dataclass
class _Kept:
    """One model's part of a run."""

    model: str
    path: Path
    folder: RunFolder | None = None
    cells: dict[str, Cell] = field(default_factory=dict)
    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0


class RunKeeper:
    """Keeps a run: writes records as they come, counts, and closes with the summary."""

    def __init__(self, settings: Settings, paths: Mapping[str, Path]) -> None:
        self.settings = settings
        self.started = datetime.now(UTC)
        self.counts: dict[str, int] = {"right": 0, "wrong": 0, "no_answer": 0}
        self.facts: dict[str, Any] = {}
        self.kept = {model: _Kept(model, path) for model, path in paths.items()}
        self.made: list[Path] = []

    @property
    def done(self) -> int:
        """Number of cases recorded."""
        return sum(self.counts.values())

    def open(self) -> None:
        """Create the run folders. Raises `SettingsError` when one cannot be written."""
        for kept in self.kept.values():
            if kept.folder is None:
                kept.folder = RunFolder(kept.path)
                kept.folder.write_run(self._run_data(kept, status="running", exit_code=None))

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Merge what a process knows of data and plan; the same from every worker."""
        datasets = self.facts.setdefault("datasets", {})
        for name, found in facts.get("datasets", {}).items():
            known = datasets.setdefault(name, found)
            # The pool of demonstrations opens late: keep the longest list of problems.
            if len(found["problems"]) > len(known["problems"]):
                datasets[name] = found
        for key, value in facts.items():
            if key != "datasets":
                self.facts[key] = value

    def count_problems(self) -> int:
        """Return the number of unusable rows known so far."""
        return sum(len(found["problems"]) for found in self.facts.get("datasets", {}).values())

    def receive(self, payload: Payload) -> None:
        """Record one finished case."""
        if "facts" in payload:
            self.learn(json.loads(payload["facts"]))
        self.open()
        kept = self.kept[payload["model"]]
        if kept.folder is not None:
            kept.folder.append(payload["record"])
        # A case that runs again (a second test over it, a rerun) counts once, as it ended last:
        # that is also how the records are read back.
        cell, again = Cell(*payload["cell"]), kept.cells.get(payload["case_id"])
        kept.cells[payload["case_id"]] = cell
        self.counts[cell.outcome] += 1
        if again is not None:
            self.counts[again.outcome] -= 1
        kept.calls += payload["calls"]
        if payload["tokens"] is not None:
            prompt, completion, cost = payload["tokens"]
            kept.prompt_tokens = _plus(kept.prompt_tokens, prompt)
            kept.completion_tokens = _plus(kept.completion_tokens, completion)
            kept.cost_usd = _plus(kept.cost_usd, cost)

    def finish(self, exit_code: int) -> dict[str, dict[str, Any]]:
        """Write `summary.json` and the final `run.json`; return the summaries by model."""
        summaries = {}
        for model, kept in self.kept.items():
            if kept.folder is None:
                continue
            planned = self.facts.get("cases", {}).get(model)
            complete = planned is not None and len(kept.cells) >= planned
            summaries[model] = summarize(kept.cells.values())
            kept.folder.write_summary(summaries[model])
            status = "complete" if complete else "incomplete"
            kept.folder.write_run(self._run_data(kept, status=status, exit_code=exit_code))
            kept.folder.close()
        for folder in self.made:
            # Made by the check before the run, and never used: leave no empty folder behind.
            with contextlib.suppress(OSError):
                folder.rmdir()
        return summaries

    def _run_data(self, kept: _Kept, *, status: str, exit_code: int | None) -> dict[str, Any]:
        settings = self.settings
        return {
            "status": status,
            "exit_code": exit_code,
            "model": kept.model,
            "params": settings.request_params,
            "api_base": without_credentials(settings.api_base) if settings.api_base else None,
            "timeout_s": settings.timeout,
            "retries": settings.retries,
            "strategy": "direct",
            "modality": "text",
            "compat": settings.compat,
            "seed": settings.seed,
            "demos": settings.demos,
            "configs_per_example": settings.configs_per_example,
            "shots": settings.shots,
            "limit": settings.limit,
            "grid": self.facts.get("grid"),
            "datasets": self.facts.get("datasets", {}),
            "data": str(settings.data) if settings.data else None,
            "cases_planned": self.facts.get("cases", {}).get(kept.model),
            "cases_recorded": len(kept.cells),
            "start": self.started.isoformat(timespec="seconds"),
            "end": None if status == "running" else datetime.now(UTC).isoformat(timespec="seconds"),
            "calls_paid": kept.calls,
            "store_hits": 0,
            "prompt_tokens": kept.prompt_tokens if kept.calls else None,
            "completion_tokens": kept.completion_tokens if kept.calls else None,
            "cost_usd": kept.cost_usd if kept.calls else None,
            "versions": _versions(),
            "host": {
                "system": platform.system(),
                "machine": platform.machine(),
                "python": platform.python_version(),
            },
        }


class Session:
    """One process's state. `runner` where cases run, `keeper` where the run is kept."""

    def __init__(self, settings: Settings, role: Role, paths: Mapping[str, Path]) -> None:
        self.settings = settings
        self.role = role
        self.paths = dict(paths)
        self.runner: Runner | None = None
        self.keeper = RunKeeper(settings, paths) if role != "worker" else None
        self.planned: dict[str, int] = {}
        self.missing: dict[str, str] = {}
        self._problems_sent = -1

    def preflight(self) -> None:
        """Check that the run folders can be written. Raises `SettingsError`."""
        for path in self.paths.values():
            made = check_writable(path, fresh=self.role != "worker")
            if self.keeper is not None:
                self.keeper.made += made

    def require_runner(self) -> Runner:
        """Return the runner of a process that runs cases."""
        if self.runner is None:
            raise RuntimeError("no case was collected in this process")
        return self.runner

    def plan(self, selected: Iterable[object]) -> None:
        """Take note of the cases that were selected: what progress and run are measured by."""
        chosen = list(selected)
        cases = {case.case_id: case.model for case in chosen if isinstance(case, Case)}
        self.planned = dict(Counter(cases.values()))
        # Without data a test stands there once, with the dataset's name for its case.
        names = [name for name in chosen if isinstance(name, str)]
        known = self.require_runner().missing
        self.missing = {name: known[name] for name in names if name in known}

    def facts(self) -> dict[str, Any] | None:
        """Return what the keeper has not been told yet; None when nothing is new."""
        if self.runner is None:
            return None
        # Asked after every case: only what can still change is looked at.
        problems = self.runner.count_problems()
        if problems == self._problems_sent:
            return None
        self._problems_sent = problems
        return {
            "datasets": self.runner.dataset_facts(),
            "grid": {
                "serializers": list(self.runner.serializers),
                "perturbations": list(self.runner.perturbations),
            },
            "cases": self.planned,
            "missing": self.missing,
        }

    def payload(self, run: CaseRun, outcome: Outcome, error: BaseException | None) -> Payload:
        """Return the payload of a finished case, with facts where there are new ones."""
        payload = case_payload(run, outcome, error)
        facts = self.facts()
        if facts is not None:
            payload["facts"] = json.dumps(facts)
        return payload


def _plus(total: Any, part: Any) -> Any:
    return None if total is None or part is None else total + part


def _versions() -> dict[str, str | None]:
    names = ("pytest-tablebench", "pytest", "pytest-xdist", "litellm", "pandas", "spacy")
    versions: dict[str, str | None] = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions
