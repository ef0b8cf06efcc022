"""A session without workers: one process runs the cases and keeps the run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.session.base import CaseRunner, RunKeeper
from pytest_tablebench.session.pytest_modes import usage_error

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import PlannedGate


class Alone(CaseRunner, RunKeeper):
    """Runs cases and keeps the run."""

    def _run_folder(self, model: str) -> Path:
        return self.run.paths[model]

    # Collect.

    def expect_calls(self, dataset: str) -> None:
        """Start importing litellm if the dataset's cases need calls, while pytest collects."""
        if self.cases.is_first_with_calls(dataset):
            self.run.engine.start_early()

    @property
    def has_cases(self) -> bool:
        """Whether a test uses cases, even if their data is missing."""
        return self.is_used and bool(self.cases.tests or self.cases.selection.missing)

    # Plan.

    def start_run(self) -> None:
        """Start the engine, make the plan, open the run folder. Raises `SettingsError`."""
        from pytest_tablebench.session._planning import model_plans, served_checks  # slow to import

        self.begin()
        cases, run, plan_only = self.cases, self.run, self.settings.plan
        if not plan_only:
            cases.open_store()
            run.writer.learn(self._messages.first_facts())
            if self.verdicts is not None:
                self.verdicts.check_baseline(run.writer, cases.planned)
        needs = cases.engine_needs()
        if not plan_only:
            run.collect_batches(needs)
            cases.refresh_store()
        if needs.needed:
            engine = run.engine.start(needs)
            # The writer's connection, because it also delivers totals.
            cases.runner.models.address = lambda: engine.executor.address
        plans = model_plans(cases)
        run.writer.learn_plans(map(asdict, plans))
        if not plan_only:
            run.writer.learn(served_checks(cases, self.verdicts, plans))
        if self.settings.plan_json is not None:
            self._write_plan(self.settings.plan_json)
        if not plan_only:
            run.writer.open()  # last: a refused run leaves no files

    def _write_plan(self, path: Path) -> None:
        from pytest_tablebench.reports.plan import write_plan

        cases = sum(self.cases.planned.values())
        write_plan(path, cases, self.run.writer.plans.values(), self.planned_gates())

    def planned_gates(self) -> dict[str, list[PlannedGate]]:
        """Return, by model, the smallest drop each gate can see with the selected cases."""
        from pytest_tablebench.claims.gate_names import planned_clusters

        verdicts = self.verdicts
        if verdicts is None or self.settings.shard is not None:
            return {}
        # Earlier runs are searched next to this one.
        places = {path.parent for path in self.run.paths.values()}
        return {
            model: verdicts.planned(cases, places, planned_clusters(self.cases.runner, cases))
            for model, cases in self.cases.selection.by_model().items()
        }

    def refuse(self, error: SettingsError) -> NoReturn:
        """End the session before any test runs."""
        raise usage_error(error) from None

    # End.

    def count_examples(self, dataset: str, most: int) -> int:
        """Return the number of examples of a dataset, at most `most`."""
        return len(self.cases.runner.source(dataset).example_ids(most))
