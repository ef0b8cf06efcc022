"""What the processes of a session have in common, and what the two have that keep the run."""

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
    """One process of a session; each kind of process has a class of its own.

    Alone       runs cases and keeps the run
    Controller  keeps the run; xdist's workers run the cases
    Worker      runs cases, and reports each to the controller

    Made for every session of pytest, and cheap: what a case needs is made on first use.

    Arguments:
        config: of pytest.
        settings: of the run.
        on_first_use: called once, when the session turns out to have to do with us.
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
        """What judges the run; None where no gate and no baseline is given."""
        self._on_first_use = on_first_use

    @cached_property
    def notices(self) -> Notices:
        """What this process has read past. Made on first use of the session."""
        self._on_first_use()
        return Notices()

    @property
    def is_used(self) -> bool:
        """Whether the session has to do with us: an option was given, or a case collected."""
        return "notices" in vars(self)

    @cached_property
    def registry(self) -> Registry:
        """What is registered. Raises `SettingsError` for a name used twice."""
        from pytest_tablebench.registry import Registry

        return Registry.from_hooks(self.config.hook, data=self.settings.data_folder())

    @property
    def axes(self) -> Axes:
        """What the run varies."""
        raise NotImplementedError

    @property
    def models(self) -> ProviderPool:
        """The models that the settings name."""
        raise NotImplementedError

    @property
    def problems(self) -> list[str]:
        """What was read past in this process: damaged lines of stores and records; only grows."""
        return [*self.models.store_problems, *self.notices.texts]

    def take_verdicts(self) -> Verdicts | None:
        """Return what judges the run, made on first use; None where nothing is to be judged.

        Raises `SettingsError` for gates and for a baseline that cannot be read.
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
        """Raise `SettingsError` for a baseline that cannot be read, in one process of a run."""

    def check_names(self, lenient: Collection[str] = ()) -> None:
        """Raise `SettingsError` for a name in the options that nobody registered.

        `lenient` are keys of options whose names another part of the project may register.
        """
        from pytest_tablebench.running.preflight import check_settings

        check_settings(self.settings, self.registry, self.axes, self.models, lenient)
        verdicts = self.take_verdicts()
        if verdicts is not None:
            verdicts.check_names(lenient="bench_gate" in lenient)

    def close(self) -> None:
        """End what is open: connections, the store, the engine's calls."""

    def reap(self) -> None:
        """Wait for the processes that were told to end, and tidy up."""
        self.notices.close()


class CaseRunner(Session):
    """A process that runs cases: `Alone`, and each `Worker`."""

    @property
    def cases(self) -> Cases:
        """The cases that this process runs. Raises `SettingsError` for a name used twice."""
        raise NotImplementedError

    @cached_property
    def _messages(self) -> CaseMessages:
        from pytest_tablebench.session.case_messages import CaseMessages

        return CaseMessages(self.cases)

    @property
    def axes(self) -> Axes:
        """What the run varies."""
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
        """Called once, for a run that will record answers."""
        self._has_begun = False

    def _make_run(self) -> KeptRun:
        """Return the run of this process, with nothing on disk yet."""
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
        """What was read past in this process, by the engine and by shared stores."""
        return [*super().problems, *self.run.problems]

    @cached_property
    def ending(self) -> RunEnding:
        """What decides the run, while it goes on and at its end."""
        from pytest_tablebench.session.ending import RunEnding

        folder = getattr(self.config.option, "allure_report_dir", None)
        return RunEnding(self.run, self.verdicts, Path(folder) if folder else None)

    def _check_records(self, baseline: Path) -> None:
        from pytest_tablebench.session.verdict import check_recorded

        check_recorded(baseline)

    @property
    def has_cases(self) -> bool:
        """Whether a test of the session is over a case."""
        raise NotImplementedError

    def planned_gates(self) -> dict[str, list[PlannedGate]]:
        """Return, by model, what each gate can see with the cases that were selected."""
        raise NotImplementedError

    def count_examples(self, dataset: str, most: int) -> int:
        """Return how many examples a dataset has, counted up to `most`."""
        raise NotImplementedError

    def begin(self) -> None:
        """Make ready for a run, once: an option asks for one, or a case is selected.

        Raises `SettingsError` for what cannot work, now rather than after an hour.
        """
        if self._has_begun:
            return
        self._has_begun = True
        run, only_lists = self.run, self.config.option.collectonly
        if self.settings.explicit:
            self.take_verdicts()
        if only_lists:
            return
        run.fetch_stores()
        if self.settings.plan:
            return
        run.start_sharing()
        if self.settings.store or self.settings.readonly_stores:
            self.models.store()  # its errors say what is wrong with a folder
        run.claim()
        self._on_begin()


def selected_by(config: pytest.Config) -> list[str]:
    """Return the options that select single cases, as they are written; none without any.

    Marks are not among them: they select whole datasets, which a table names.
    """
    options = [text for name, text in SELECTING.items() if config.getoption(name, None)]
    named = any("::" in argument for argument in config.option.file_or_dir or ())
    return [*options, *(["test ids"] if named else [])]


def _named_by(config: pytest.Config) -> list[str]:
    """Return the words that name suites on the command line; none where a configuration does."""
    named = dict.fromkeys(word.partition("::")[0] for word in config.option.file_or_dir or ())
    return ["--pyargs", *named] if named and config.option.pyargs else list(named)
