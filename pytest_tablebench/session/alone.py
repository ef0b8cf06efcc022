"""A session without workers: one process runs the cases and keeps the run."""

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
        """The cases of this process. Raises `SettingsError` for a name registered twice."""
        from pytest_tablebench.session.cases import Cases

        run = self.run
        cases = Cases(self.settings, self.registry)
        cases.keep_media_in(lambda model: run.paths[model])
        return cases

    # Collect.

    def expect_calls(self, dataset: str) -> None:
        """Start importing litellm if the dataset's cases need calls, while pytest collects."""
        if self.cases.is_first_with_calls(dataset):
            self.run.engine.import_early()

    @property
    def has_cases(self) -> bool:
        """Whether a test uses cases, even if their data is missing."""
        return self.is_used and bool(self.cases.tests or self.cases.selection.missing)

    # Plan.

    def check(self, thresholds: Mapping[str, object]) -> None:
        """Raise `SettingsError` for settings that do not fit the selected cases.

        Arguments:
            thresholds: the thresholds of markers, by test.
        """
        from pytest_tablebench.session.cases import check_data, check_selection

        check_selection(self.cases, self.verdicts, thresholds)
        check_data(self.cases, self.verdicts)

    def start_run(self) -> None:
        """Start the engine, make the plan, open the run folder. Raises `SettingsError`."""
        from pytest_tablebench.session.planning import model_plans  # slow to import

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
            # The writer's connection, because it also delivers totals.
            cases.runner.models.address = lambda: engine.executor.address
        run.writer.learn_plans(asdict(plan) for plan in model_plans(cases))
        if not plan_only:
            run.writer.open()  # last: a refused run leaves no files

    def _check_baseline(self) -> None:
        """Raise `SettingsError` if the baseline differs in more than the model."""
        if self.verdicts is not None and self.settings.baseline is not None:
            for model in self.cases.planned:
                self.verdicts.check_baseline(self.run.writer.run_data(model))

    def planned_gates(self) -> dict[str, list[PlannedGate]]:
        """Return, by model, the smallest drop each gate can see with the selected cases."""
        return self.cases.planned_gates(self.verdicts, self.run.paths.values())

    def refuse(self, error: SettingsError) -> NoReturn:
        """End the session before any test runs."""
        raise pytest.UsageError(escaped(str(error))) from None

    # Run.

    def message(self, run: CaseRun, finding: Finding, error: BaseException | None) -> CaseMessage:
        """Return the message of a finished item."""
        facts = self._messages.new_facts(self._not_judged)
        return self._messages.message(run, finding, error, facts)

    # End.

    def count_examples(self, dataset: str, most: int) -> int:
        """Return the number of examples of a dataset, at most `most`."""
        return len(self.cases.runner.source(dataset).example_ids(most))

    def close(self) -> None:
        """Close the store and shared stores, and end the engine's calls."""
        if "cases" in vars(self):  # else a name is registered twice
            self.cases.runner.close()
        super().close()
