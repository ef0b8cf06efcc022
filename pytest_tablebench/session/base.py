"""Base classes of the processes of a session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.session.pytest_modes import runs_no_test
from pytest_tablebench.util.notices import Notices

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import PlannedGate
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.results.message import CaseMessage, Finding
    from pytest_tablebench.running.axes import Axes
    from pytest_tablebench.running.case import CaseRun
    from pytest_tablebench.running.provider_pool import ProviderPool
    from pytest_tablebench.session._cases import Cases
    from pytest_tablebench.session._ending import RunEnding
    from pytest_tablebench.session._kept_run import KeptRun
    from pytest_tablebench.session._verdict import Verdicts
    from pytest_tablebench.session.case_messages import CaseMessages


SELECTING = {
    "keyword": "-k",
    "lf": "--lf",
    "deselect": "--deselect",
    "stepwise": "--stepwise",
}


class Session:
    """One process of a session. Each kind of process has a subclass.

    Alone       runs cases and keeps the run
    Controller  keeps the run; xdist's workers run the cases
    Worker      runs cases, and reports each to the controller

    Every pytest session makes one, so it is cheap: expensive parts are made on first use.
    `on_first_use` is called once, when the session first uses this plugin.
    """

    _keeps_run = False

    def __init__(
        self, config: pytest.Config, settings: Settings, on_first_use: Callable[[], None]
    ) -> None:
        self.config = config
        self.settings = settings
        self.verdicts: Verdicts | None = None
        """The evaluator of gates and baseline; None without them."""
        self._on_first_use = on_first_use

    @cached_property
    def notices(self) -> Notices:
        """The warnings of this process. The first access marks the session as used."""
        self._on_first_use()
        return Notices()

    @property
    def is_used(self) -> bool:
        """Whether the session uses this plugin: an option was given, or a case collected."""
        return "notices" in vars(self)

    @cached_property
    def registry(self) -> Registry:
        """The registered names. Raises `SettingsError` for a name registered twice."""
        from pytest_tablebench.registry import Registry

        return Registry.from_hooks(self.config.hook, data=self.settings.data_folder())

    @cached_property
    def axes(self) -> Axes:
        """The axes of the run."""
        from pytest_tablebench.running.axes import Axes

        return Axes(self.settings, self.registry)

    @cached_property
    def models(self) -> ProviderPool:
        """The models that the settings name."""
        from pytest_tablebench.running.provider_pool import ProviderPool

        return ProviderPool(self.settings, self.registry)

    @property
    def _has_models(self) -> bool:
        """Whether models may be open; if a name is registered twice, they cannot be made."""
        return not {"models", "cases"}.isdisjoint(vars(self))

    @property
    def problems(self) -> list[str]:
        """Warnings of this process, such as skipped damaged lines of stores; only grows."""
        return [*(self.models.store_problems if self._has_models else ()), *self.notices.texts]

    def make_verdicts(self) -> Verdicts | None:
        """Return the evaluator of gates and baseline, made on first use; None without them.

        Raises `SettingsError` if a gate or the baseline cannot be read.
        """
        settings = self.settings
        if self.verdicts is None and (settings.gates or settings.baseline or settings.stop_rule):
            from pytest_tablebench.session._verdict import Verdicts

            self.verdicts = Verdicts(
                settings, self.registry, self.axes, reads_baseline=self._keeps_run
            )
        return self.verdicts

    def check_names(self, lenient: Collection[str] = ()) -> None:
        """Raise `SettingsError` for a name in the options that is not registered.

        `lenient` contains keys of options that may name what another part of the project registers.
        """
        from pytest_tablebench.running.preflight import check_settings

        check_settings(self.settings, self.registry, self.axes, self.models, lenient)
        verdicts = self.make_verdicts()
        if verdicts is not None:
            verdicts.check_names(lenient="bench_gate" in lenient)

    def close(self) -> None:
        """Close connections and the store, and end the engine's calls."""
        if self._has_models:
            self.models.close()

    def reap(self) -> None:
        """Wait until the ending processes have ended, and clean up."""
        self.notices.close()


class CaseRunner(Session):
    """A process that runs cases: `Alone`, and each `Worker`."""

    _item_prefix = ""
    """Distinguishes items that several workers run under one name."""
    _plans = True
    """Whether this process plans the run. Of xdist's workers, which collect the same items, one
    plans for all."""

    @cached_property
    def cases(self) -> Cases:
        """The cases of this process. Raises `SettingsError` for a name registered twice."""
        from pytest_tablebench.session._cases import Cases

        _ = self.notices
        return Cases(self.settings, self.registry, self._item_prefix, self._run_folder)

    def _run_folder(self, model: str) -> Path:
        raise NotImplementedError

    @cached_property
    def _messages(self) -> CaseMessages:
        from pytest_tablebench.session.case_messages import CaseMessages

        return CaseMessages(self.cases, self.verdicts)

    @cached_property
    def axes(self) -> Axes:
        """The axes of the run."""
        return self.cases.runner.axes

    @cached_property
    def models(self) -> ProviderPool:
        """The models that the settings name."""
        return self.cases.runner.models

    def check(self, thresholds: Mapping[str, object]) -> None:
        """Raise `SettingsError` for settings that do not fit the selected cases.

        `thresholds` contains the thresholds of markers, by test.
        """
        self.cases.check_selection(self.verdicts, thresholds)
        if self._plans:
            self.cases.check_data(self.verdicts)

    def message(self, run: CaseRun, finding: Finding, error: BaseException | None) -> CaseMessage:
        """Return the message of a finished item."""
        return self._messages.message(run, finding, error)


class RunKeeper(Session):
    """A process that keeps the run: `Alone`, and the `Controller` of workers.

    `on_begin` is called once, if the run records answers.
    """

    _keeps_run = True

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        on_first_use: Callable[[], None],
        on_begin: Callable[[], None],
    ) -> None:
        super().__init__(config, settings, on_first_use)
        self._on_begin = on_begin
        self._has_begun = False
        self._run: KeptRun | None = None
        self._run_lock = threading.Lock()

    @property
    def run(self) -> KeptRun:
        """The run that this process keeps, at first without its folder. Thread-safe."""
        with self._run_lock:
            if self._run is None:
                from pytest_tablebench.session._kept_run import KeptRun, run_paths

                _ = self.notices
                now = datetime.now(UTC).astimezone()
                paths = run_paths(self.settings, self.config.invocation_params.dir, now)
                self._run = KeptRun(self.settings, paths)
                self._run.writer.named_by = _named_by(self.config)
                self._run.writer.selected_by = selected_by(self.config)
            return self._run

    @property
    def problems(self) -> list[str]:
        """Warnings of this process, of the engine and of shared stores."""
        return [*super().problems, *self.run.problems]

    @cached_property
    def ending(self) -> RunEnding:
        """Decides the run, early or at its end, and writes its reports."""
        from pytest_tablebench.session._ending import RunEnding

        folder = getattr(self.config.option, "allure_report_dir", None)
        return RunEnding(self.run, self.verdicts, Path(folder) if folder else None)

    @property
    def has_cases(self) -> bool:
        """Whether a test of the session uses cases."""
        raise NotImplementedError

    def planned_gates(self) -> dict[str, list[PlannedGate]]:
        """Return, by model, the smallest drop each gate can see with the selected cases.

        Only without workers: `--bench-plan` starts none.
        """
        return {}

    def count_examples(self, dataset: str, most: int) -> int:
        """Return the number of examples of a dataset, at most `most`."""
        from pytest_tablebench.datasets import open_dataset

        declared, settings = self.registry.datasets[dataset], self.settings
        folder = settings.data_folder() / declared.folder
        source = open_dataset(declared, folder, compat=settings.compat, settings=vars(settings))
        return len(source.example_ids(most))

    def begin(self) -> None:
        """Prepare the run, once: an option asks for it, or a case is selected.

        Raises `SettingsError` for settings that cannot work, before any call.
        """
        if self._has_begun:
            return
        self._has_begun = True
        run = self.run
        if self.settings.explicit:
            self.make_verdicts()
        if runs_no_test(self.config):
            return
        run.fetch_stores()
        if self.settings.plan:
            return
        if self.settings.store or self.settings.readonly_stores:
            self.models.store()  # raises for an unusable folder
        run.claim()
        self._on_begin()

    def close(self) -> None:
        """Close the store and shared stores, and end the engine's calls."""
        super().close()
        self.run.close()

    def reap(self) -> None:
        """Wait until the processes that ended during the reports are gone, and clean up."""
        super().reap()
        self.run.reap()


def selected_by(config: pytest.Config) -> list[str]:
    """Return the given options that select single cases, such as `-k`.

    Not `-m`: it selects whole datasets, which the report names.
    """
    options = [text for name, text in SELECTING.items() if config.getoption(name, None)]
    named = any("::" in argument for argument in config.option.file_or_dir or ())
    return [*options, *(["test ids"] if named else [])]


def _named_by(config: pytest.Config) -> list[str]:
    """Return the command-line words that name suites; empty if a configuration file names them."""
    named = dict.fromkeys(word.partition("::")[0] for word in config.option.file_or_dir or ())
    return ["--pyargs", *named] if named and config.option.pyargs else list(named)
