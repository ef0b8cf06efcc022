"""A session in one process, which runs the cases and keeps the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.session.base import CaseRunner, RunKeeper
from pytest_tablebench.util.names import escaped

if TYPE_CHECKING:
    from pytest_tablebench.results.checks import Finding
    from pytest_tablebench.results.gates import PlannedGate
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.running.case_run import CaseRun
    from pytest_tablebench.session.cases import Cases
    from pytest_tablebench.session.kept_run import KeptRun


class Alone(CaseRunner, RunKeeper):
    """Runs cases and keeps the run."""

    @cached_property
    def run(self) -> KeptRun:
        """The run that this process keeps."""
        _ = self.notices
        return self._make_run()

    @cached_property
    def cases(self) -> Cases:
        """The cases that this process runs. Raises `SettingsError` for a name used twice."""
        from pytest_tablebench.session.cases import Cases

        run = self.run
        cases = Cases(self.settings, self.registry)
        cases.keep_media_in(lambda model: run.paths[model])
        return cases

    # Collect.

    def anticipate(self, dataset: str) -> None:
        """Have litellm imported while the rest is collected: a case of a dataset is collected."""
        if self.cases.is_asked_first(dataset):
            self.run.engine.import_early()

    @property
    def has_cases(self) -> bool:
        """Whether a test here is over a case, even one without data."""
        return self.is_used and bool(self.cases.tests or self.cases.selection.missing)

    # Plan.

    def check(self, thresholds: Mapping[str, object]) -> None:
        """Raise `SettingsError` for what no selected case could be right with.

        `thresholds` are those that markers give, by test.
        """
        from pytest_tablebench.session.cases import check_data, check_selection

        check_selection(self.cases, self.verdicts, thresholds)
        check_data(self.cases, self.verdicts)

    def set_out(self) -> None:
        """Begin the run: its engine, its plan, its folder. Raises `SettingsError`."""
        from pytest_tablebench.session.planning import model_plans  # only where a run is: heavy

        self.begin()
        cases, run, plan_only = self.cases, self.run, self.settings.plan
        if not plan_only:
            cases.open_store()
            run.writer.learn(self._messages.first_facts(self._not_judged))
            self._check_baseline()
        needs = cases.engine_needs()
        if not plan_only:
            run.collect_batches(needs)
            cases.refresh_store()
        if needs.needed:
            engine = run.engine.start(needs)
            # Through the writer's connection: the process that asks wants the totals too.
            cases.runner.models.address = lambda: engine.executor.address
        run.writer.learn_plans(asdict(plan) for plan in model_plans(cases))
        if not plan_only:
            run.writer.open()  # last: a run that is refused leaves nothing behind

    def _check_baseline(self) -> None:
        """Raise `SettingsError` when the baseline differs in more than the model."""
        if self.verdicts is not None and self.settings.baseline is not None:
            for model in self.cases.planned:
                self.verdicts.check_baseline(self.run.writer.run_data(model))

    def planned_gates(self) -> dict[str, list[PlannedGate]]:
        """Return, by model, what each gate can see with the cases that were selected."""
        return self.cases.planned_gates(self.verdicts, self.run.paths.values())

    def refuse(self, error: SettingsError) -> NoReturn:
        """End the session before any test runs."""
        raise pytest.UsageError(escaped(str(error))) from None

    # Run.

    def message(self, run: CaseRun, finding: Finding, error: BaseException | None) -> CaseMessage:
        """Return what a finished item reports of its case."""
        facts = self._messages.new_facts(self._not_judged)
        return self._messages.message(run, finding, error, facts)

    # End.

    def count_examples(self, dataset: str, most: int) -> int:
        """Return how many examples a dataset has, counted up to `most`."""
        return len(self.cases.runner.source(dataset).example_ids(most))

    def close(self) -> None:
        """End what is open: the store, the engine's calls, shared stores."""
        if "cases" in vars(self):  # else a name was used twice
            self.cases.runner.close()
        self.run.close()
        self.run.close_stores()  # last: the engine may have stored further answers

    def reap(self) -> None:
        """Wait for the processes that were told to end while reports were written; tidy up."""
        super().reap()
        self.run.reap()
