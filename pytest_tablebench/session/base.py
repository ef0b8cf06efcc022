"""Base classes of the processes of a session."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.util.notices import Notices

if TYPE_CHECKING:
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.results.gates import PlannedGate
    from pytest_tablebench.running.axes import Axes
    from pytest_tablebench.running.provider_pool import ProviderPool
    from pytest_tablebench.session.case_messages import CaseMessages
    from pytest_tablebench.session.cases import Cases
    from pytest_tablebench.session.ending import RunEnding
    from pytest_tablebench.session.kept_run import KeptRun
    from pytest_tablebench.session.verdict import Verdicts


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

    Arguments:
        config: pytest's configuration.
        settings: the settings of the run.
        on_first_use: called once, when the session first uses this plugin.
    """

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        on_first_use: Callable[[], None] = lambda: None,
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

    @property
    def axes(self) -> Axes:
        """The axes of the run."""
        raise NotImplementedError

    @property
    def models(self) -> ProviderPool:
        """The models that the settings name."""
        raise NotImplementedError

    @property
    def problems(self) -> list[str]:
        """Warnings of this process, such as skipped damaged lines of stores; only grows."""
        return [*self.models.store_problems, *self.notices.texts]

    def make_verdicts(self) -> Verdicts | None:
        """Return the evaluator of gates and baseline, made on first use; None without them.

        Raises `SettingsError` if a gate or the baseline cannot be read.
        """
        settings = self.settings
        if self.verdicts is None and (settings.gates or settings.baseline or settings.stop_rule):
            from pytest_tablebench.session.verdict import Verdicts

            verdicts = Verdicts(settings, self.registry, self.axes)
            if settings.baseline is not None:
                self._check_records(settings.baseline)
            self.verdicts = verdicts
        return self.verdicts

    def _check_records(self, baseline: Path) -> None:
        """Raise `SettingsError` if the baseline cannot be read. Only run keepers check."""

    def check_names(self, lenient: Collection[str] = ()) -> None:
        """Raise `SettingsError` for a name in the options that is not registered.

        Arguments:
            lenient: keys of options that may name what another part of the project registers.
        """
        from pytest_tablebench.running.preflight import check_settings

        check_settings(self.settings, self.registry, self.axes, self.models, lenient)
        verdicts = self.make_verdicts()
        if verdicts is not None:
            verdicts.check_names(lenient="bench_gate" in lenient)

    def close(self) -> None:
        """Close connections and the store, and end the engine's calls."""

    def reap(self) -> None:
        """Wait until the ending processes have ended, and clean up."""
        self.notices.close()


class CaseRunner(Session):
    """A process that runs cases: `Alone`, and each `Worker`."""

    @property
    def cases(self) -> Cases:
        """The cases of this process. Raises `SettingsError` for a name registered twice."""
        raise NotImplementedError

    @cached_property
    def _messages(self) -> CaseMessages:
        from pytest_tablebench.session.case_messages import CaseMessages

        return CaseMessages(self.cases)

    @property
    def axes(self) -> Axes:
        """The axes of the run."""
        return self.cases.runner.axes

    @property
    def models(self) -> ProviderPool:
        """The models that the settings name."""
        return self.cases.runner.models

    @property
    def _not_judged(self) -> list[str]:
        return self.verdicts.not_judged if self.verdicts is not None else []


class RunKeeper(Session):
    """A process that keeps the run: `Alone`, and the `Controller` of workers."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        on_first_use: Callable[[], None] = lambda: None,
        on_begin: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(config, settings, on_first_use)
        self._on_begin = on_begin
        """Called once, if the run records answers."""
        self._has_begun = False

    def _make_run(self) -> KeptRun:
        """Return the run of this process, without its folder."""
        from pytest_tablebench.session.kept_run import KeptRun, run_paths

        now = datetime.now(UTC).astimezone()
        run = KeptRun(
            self.settings, run_paths(self.settings, self.config.invocation_params.dir, now)
        )
        run.writer.named_by = _named_by(self.config)
        run.writer.selected_by = selected_by(self.config)
        return run

    @property
    def run(self) -> KeptRun:
        """The run that this process keeps."""
        raise NotImplementedError

    @property
    def problems(self) -> list[str]:
        """Warnings of this process, of the engine and of shared stores."""
        return [*super().problems, *self.run.problems]

    @cached_property
    def ending(self) -> RunEnding:
        """Decides the run, early or at its end, and writes its reports."""
        from pytest_tablebench.session.ending import RunEnding

        folder = getattr(self.config.option, "allure_report_dir", None)
        return RunEnding(self.run, self.verdicts, Path(folder) if folder else None)

    def _check_records(self, baseline: Path) -> None:
        from pytest_tablebench.session.verdict import check_recorded

        check_recorded(baseline)

    @property
    def has_cases(self) -> bool:
        """Whether a test of the session uses cases."""
        raise NotImplementedError

    def planned_gates(self) -> dict[str, list[PlannedGate]]:
        """Return, by model, the smallest drop each gate can see with the selected cases."""
        raise NotImplementedError

    def count_examples(self, dataset: str, most: int) -> int:
        """Return the number of examples of a dataset, at most `most`."""
        raise NotImplementedError

    def begin(self) -> None:
        """Prepare the run, once: an option asks for it, or a case is selected.

        Raises `SettingsError` for settings that cannot work, before any call.
        """
        if self._has_begun:
            return
        self._has_begun = True
        run, only_lists = self.run, self.config.option.collectonly
        if self.settings.explicit:
            self.make_verdicts()
        if only_lists:
            return
        run.fetch_stores()
        if self.settings.plan:
            return
        run.start_sharing()
        if self.settings.store or self.settings.readonly_stores:
            self.models.store()  # raises for an unusable folder
        run.claim()
        self._on_begin()

    def close(self) -> None:
        """Close the store and shared stores, and end the engine's calls."""
        self.run.close()
        self.run.close_stores()  # last: the engine may have stored further answers

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
