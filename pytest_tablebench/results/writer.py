"""Write a run: records as they arrive, counts and costs, and the summary at the end."""

from __future__ import annotations

import contextlib
import platform
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from pytest_tablebench.config.axes import MODES
from pytest_tablebench.config.secrets import without_secrets
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.results import Outcome, RunFolder, ScoreTable
from pytest_tablebench.results._model_run import ModelRun, keep_answer
from pytest_tablebench.results._recorded_options import option_entries, versions
from pytest_tablebench.results.corrected import corrected_cases, corrections_entry
from pytest_tablebench.results.folder import check_writable, claim_folder, clear_pending
from pytest_tablebench.results.labels import taken_labels, write_labels
from pytest_tablebench.results.message import (
    CaseMessage,
    CaseRecord,
    JoinedCase,
    MadeRecord,
    ReadRecord,
    with_checks,
)
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts


@dataclass(frozen=True)
class Received:
    """A case's current record, None without one, and the number of its finished items."""

    record: CaseRecord | None
    finished: int


class RunWriter:
    """Writes the run folders: records as they arrive, then the summaries."""

    def __init__(self, settings: Settings, paths: Mapping[str, Path]) -> None:
        self.settings = settings
        self.started = datetime.now(UTC)
        self.counts: dict[str, int] = dict.fromkeys(get_args(Outcome), 0)
        self.facts: dict[str, Any] = {}
        self.model_runs = {model: ModelRun(model, path) for model, path in paths.items()}
        self.made: list[Path] = []
        self.plans: dict[str, dict[str, Any]] = {}
        self.refused: Mapping[str, Mapping[str, str]] = {}
        """Why a model refuses a parameter, by model and parameter."""
        self.unfinished: list[str] = []
        """Why folders could not be finished."""
        self.named_by: list[str] = []
        """Command-line arguments that name the suites."""
        self.selected_by: list[str] = []
        """Options of pytest that deselected some of the cases."""

    @property
    def done(self) -> int:
        """Number of cases recorded."""
        return sum(self.counts.values())

    def claim(self) -> None:
        """Make the run folders, each once. Raises `SettingsError` if one cannot be written.

        A run that began in the same second may have the same default name. Then this run takes
        the next free name.
        """
        for model_run in self.model_runs.values():
            if model_run.claimed:
                continue
            if self.settings.results is None:
                path, made = claim_folder(model_run.path)
                self.made += made
                model_run.move(path)
            if self.settings.executor == "batch":
                clear_pending(model_run.path)
            self.made += check_writable(model_run.path)
            model_run.claimed = True

    def open(self) -> None:
        """Open the run folders. Raises `SettingsError` if one cannot be written."""
        self.claim()
        for model_run in self.model_runs.values():
            if model_run.folder is None:
                model_run.folder = RunFolder(model_run.path)
                model_run.folder.write_run(self._run_data(model_run))

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Merge facts about data and plan, which are the same from every worker."""
        datasets = self.facts.setdefault("datasets", {})
        for name, dataset_facts in facts.get("datasets", {}).items():
            current = datasets.setdefault(name, dataset_facts)
            # A process that has not opened the demonstrations reports fewer problems.
            if len(dataset_facts["problems"]) > len(current["problems"]):
                datasets[name] = dataset_facts
        for key, value in facts.items():
            if key != "datasets":
                self.facts[key] = value

    def count_problems(self) -> int:
        """Return the number of unusable rows known so far."""
        return sum(len(facts["problems"]) for facts in self.facts.get("datasets", {}).values())

    def receive(self, message: CaseMessage) -> Received:
        """Record the result of one item."""
        if message.facts is not None:
            self.learn(message.facts)
        self.open()
        model_run = self.model_runs[message.model]
        model_run.add(message)
        case = model_run.cases.setdefault(message.case_id, JoinedCase())
        better = case.add(message.finding, message.record.rank if message.record else None)
        # Write the record first: it matters most if the disk is nearly full.
        record = self._record(model_run, case, message, better=better)
        if message.prompt is not None:
            model_run.texts.prompt(*message.prompt)
        if message.transcript is not None:
            model_run.texts.transcript(*message.transcript)
        if message.example is not None:
            model_run.texts.example(*message.example)
        return Received(record, case.finished)

    def _record(
        self, model_run: ModelRun, case: JoinedCase, message: CaseMessage, *, better: bool
    ) -> CaseRecord | None:
        """Write the case's record if it changed; return it, or None without one.

        The last line of a case counts, so that an interrupted run has its latest records.
        """
        case_id, checks = message.case_id, case.checks
        record: CaseRecord
        before, folder = model_run.rows.get(case_id), model_run.folder
        if folder is None:
            return None
        if better and message.record is not None:
            record = message.record
            keep_answer(case, message)
        elif before is not None and case.place is not None:
            record = ReadRecord(folder.line_at(case.place), before, case.rank or ())
            if before.checks == checks:
                return record
        else:
            return None
        if record.row.checks != checks:
            record = MadeRecord(with_checks(record.record, checks), record.rank)
        row = record.row
        case.place = folder.append(record.line)
        model_run.written += 1
        model_run.rows[case_id] = model_run.shared(row)
        self.counts[row.outcome] += 1
        if before is not None:
            self.counts[before.outcome] -= 1
        return record

    def leave_out(self, model: str, dataset: str, case_id: str, why: str) -> None:
        """Count an item whose case does not apply; a case of several tests counts once."""
        model_run = self.model_runs[model]
        model_run.inapplicable[case_id] = dataset, why
        model_run.inapplicable_items += 1

    def unseen(self, gated: Collection[tuple[str, str]]) -> Counter[str]:
        """Return the number of failures by test that neither a record nor a gate counts.

        `gated` are the tests with their own gates, each with its dataset.
        """
        counts: Counter[str] = Counter()
        for model_run in self.model_runs.values():
            for case_id, case in model_run.cases.items():
                row = model_run.rows.get(case_id)
                dataset = row.dataset if row is not None else ""
                tests = frozenset(check for name, check in gated if name == dataset)
                right = row is None or row.outcome == "right"
                counts.update(case.unseen(right=right, gated=tests))
        return counts

    def learn_plans(self, plans: Iterable[Mapping[str, Any]]) -> None:
        """Keep the plans of the models' calls."""
        self.plans = {
            f"{'judge ' * bool(plan.get('judges'))}{plan['model']}": dict(plan) for plan in plans
        }

    def learn_totals(self, totals: Mapping[str, Any]) -> None:
        """Keep the engine's totals of calls and costs."""
        judge = self.settings.judge
        for model, model_totals in totals["models"].items():
            if model in self.model_runs:
                self.model_runs[model].totals = model_totals
            # With several models each run sums up the judge calls of its own cases.
            if model == judge and len(self.model_runs) == 1:
                for model_run in self.model_runs.values():
                    model_run.judge_totals = model_totals

    def spent_text(self) -> str:
        """Return the calls and costs so far, for the progress line; empty without calls."""
        spent = [model_run.spent() for model_run in self.model_runs.values()]
        calls = sum(paid["calls_paid"] for paid in spent)
        if not calls or not self.plans:
            return ""
        costs = [paid["cost_usd"] for paid in spent if paid["calls_paid"]]
        price = "price unknown" if None in costs else f"{sum(costs):.2f} USD"
        return f"{calls} calls, {price}"

    def conclude(
        self, runs: Mapping[str, Run], exit_code: int, facts: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Write the final `run.json` with further facts about each model's run."""
        for model, run in runs.items():
            model_run = self.model_runs[model]
            if model_run.folder is not None:
                data = self._run_data(model_run, exit_code)
                run.facts = model_run.folder.write_run(data | dict(facts.get(model, {})))

    def complete(self, model: str) -> bool:
        """Return whether all planned cases of a model are recorded and all their tests finished."""
        model_run = self.model_runs[model]
        planned = self.facts.get("cases", {}).get(model)
        if planned is None or len(model_run.rows) < planned - len(model_run.inapplicable):
            return False
        findings = sum(len(case.findings) for case in model_run.cases.values())
        items = int(self.facts.get("items", {}).get(model, 0))
        return findings >= items - model_run.inapplicable_items

    def run_facts(self, model: str) -> RunFacts:
        """Return the current facts of a model's run."""
        return RunFacts.from_json(self._run_data(self.model_runs[model]))

    def finish(
        self, exit_code: int, summarize: Callable[[Run], Mapping[str, Any]]
    ) -> dict[str, Run]:
        """Write `summary.json` and the final `run.json`; return the runs by model.

        `summarize` returns the content of the former.
        A folder that cannot be finished is left out; `unfinished` contains the reason.
        """
        runs = {}
        for model, model_run in self.model_runs.items():
            try:
                if model_run.folder is not None:
                    runs[model] = self._finish_one(
                        model_run, model_run.folder, exit_code, summarize
                    )
            except OSError as error:
                self.unfinished.append(str(error))
        return runs

    def _finish_one(
        self,
        model_run: ModelRun,
        folder: RunFolder,
        exit_code: int,
        summarize: Callable[[Run], Mapping[str, Any]],
    ) -> Run:
        folder.check()
        if model_run.written > len(model_run.rows):
            with contextlib.suppress(OSError):  # older lines remain, but only the last counts
                folder.keep_only([c.place for c in model_run.cases.values() if c.place is not None])
        data = self._run_data(model_run, exit_code)
        facts = RunFacts.from_json(data)
        run = Run(model_run.path, facts, ScoreTable.from_records(model_run.rows.values()))
        if self.settings.labels is not None:
            write_labels(run.path, taken_labels(self.settings.labels, run.records))
        folder.write_summary(summarize(run))
        run.facts = folder.write_run(data)
        folder.close()
        model_run.texts.close()
        return run

    def remove_unused(self) -> None:
        """Remove folders that were made for the run and stayed empty."""
        for folder in sorted(self.made, key=lambda made: len(made.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _run_data(self, model_run: ModelRun, exit_code: int | None = None) -> dict[str, Any]:
        """Return the content of `run.json`; without an exit code the run is still running."""
        grid = self.facts.get("grid") or {}
        status, end = "running", None
        if exit_code is not None:
            status = "complete" if self.complete(model_run.model) else "incomplete"
            end = datetime.now(UTC).isoformat(timespec="seconds")
        return {
            "status": status,
            "exit_code": exit_code,
            **option_entries(self.settings),
            "model": model_run.model,
            "model_file": self.facts.get("model_files", {}).get(model_run.model),
            "params_sent": without_secrets(self._sent(model_run.model)),
            "params_dropped": self._dropped(model_run.model),
            **self._retirements(model_run.model),
            **{
                axis.name: ",".join(grid.get(axis.plural) or [str(axis.default)])
                for axis in MODES
                if not axis.is_optional
            },
            "grid": self.facts.get("grid"),
            "by_dataset": _with_inapplicable(self.facts.get("by_dataset", {}), model_run),
            "judge_params": self.facts.get("judge_params", {}),
            **_if_any("judge_prompts", self.facts.get("judge_prompts")),
            "datasets": self.facts.get("datasets", {}),
            "missing": self.facts.get("missing", {}),
            "named_by": self.named_by,
            "selected_by": self.selected_by,
            "shards": self.facts.get("shards") or None,
            "cases_planned": self._planned(model_run.model),
            "cases_recorded": len(model_run.rows),
            "start": self.started.isoformat(timespec="seconds"),
            "end": end,
            **model_run.spent(),
            "store_hits": model_run.hits,
            "newest_stored": model_run.newest_stored,
            "oldest_answer": self.settings.oldest,
            "server_check": self.facts.get("server_check", {}).get(model_run.model),
            **self._corrections(model_run),
            **model_run.about_replies(),
            "versions": versions(),
            "host": {
                "system": platform.system(),
                "machine": platform.machine(),
                "python": platform.python_version(),
            },
        }

    def _corrections(self, model_run: ModelRun) -> dict[str, Any]:
        """Return the entry for the corrections; empty without any."""
        overlay = self.facts.get("corrections")
        if overlay is None:
            return {}
        cases = corrected_cases(model_run.rows.values())
        return {"corrections": corrections_entry(overlay["file"], overlay["digest"], cases)}

    def _planned(self, model: str) -> int | None:
        planned = self.facts.get("cases", {}).get(model)
        return None if planned is None else planned - len(self.model_runs[model].inapplicable)

    def _sent(self, model: str) -> dict[str, Any] | None:
        planned = self.plans.get(model, {}).get("sent")
        refused = self.refused.get(model, {})
        return planned and {name: value for name, value in planned.items() if name not in refused}

    def _dropped(self, model: str) -> dict[str, str] | None:
        """Return why parameters are not sent, including those that a server refused."""
        planned = self.plans.get(model, {}).get("dropped")
        refused = self.refused.get(model)
        return planned if refused is None else {**(planned or {}), **refused}

    def _retirements(self, model: str) -> dict[str, str]:
        """Return the days on which the model and the judge retire, if they are known."""
        names = {
            "deprecation_date": model,
            "judge_deprecation_date": f"judge {self.settings.judge}",
        }
        days = {
            name: self.plans.get(plan, {}).get("deprecation_date") for name, plan in names.items()
        }
        return {name: day for name, day in days.items() if day is not None}


def _if_any(name: str, entry: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: dict(entry)} if entry else {}


def _with_inapplicable(by_dataset: Mapping[str, Any], model_run: ModelRun) -> dict[str, Any]:
    """Return the entry `by_dataset` with the numbers of a model's inapplicable cases."""
    counts: dict[str, Counter[str]] = {}
    for dataset, why in model_run.inapplicable.values():
        counts.setdefault(dataset, Counter())[why] += 1
    merged = dict(by_dataset)
    for dataset, reasons in counts.items():
        entry = dict(merged.get(dataset, {}))
        total = reasons + Counter(entry.get("does_not_apply") or {})
        merged[dataset] = {**entry, "does_not_apply": dict(total.most_common())}
    return merged
