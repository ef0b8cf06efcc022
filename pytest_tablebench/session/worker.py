"""An xdist worker: runs cases and reports each to the controller."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pluggy import PluggyTeardownRaisedWarning

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.session._messages import (
    CallsExpected,
    CaseAhead,
    EngineNeeds,
    Message,
    Refused,
    RunPlace,
    SelectedCases,
    decode,
    encode,
)
from pytest_tablebench.session.base import CaseRunner
from pytest_tablebench.session.controller import CHANNEL, EACH

if TYPE_CHECKING:
    from pytest_tablebench.results.message import CaseMessage, Finding
    from pytest_tablebench.running.case import CaseRun

PROBLEMS = "tablebench_problems"
"""Key of a worker's output: its warnings."""


class Worker(CaseRunner):
    """Runs cases, and reports each to the controller."""

    def __init__(
        self, config: pytest.Config, settings: Settings, on_first_use: Callable[[], None]
    ) -> None:
        super().__init__(config, settings, on_first_use)
        workerinput: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
        self._channel = workerinput[CHANNEL]
        self._worker_count = int(workerinput["workercount"])
        self._plans = workerinput["workerid"] == "gw0"
        self._item_prefix = f"{workerinput['workerid']}:" if workerinput[EACH] else ""
        self._problem_count = 0
        self._folders: dict[str, Path] = {}
        """The run folder of each model, once the controller has sent it."""
        # A controller that refuses the run closes the connection. Then xdist cannot send its
        # last message, and pluggy warns about that.
        lost = r"(?s).*OSError: cannot send \(already closed"
        warnings.filterwarnings("ignore", lost, PluggyTeardownRaisedWarning)

    def _run_folder(self, model: str) -> Path:
        return self._folders[model]

    # Collect.

    def expect_calls(self, dataset: str) -> None:
        """Report to the controller that calls will come. Only the planning worker does."""
        if self._plans and self.cases.is_first_with_calls(dataset):
            self._send(CallsExpected())

    # Plan.

    def start_run(self) -> None:
        """Receive the run folders, and send the selection. Raises `SettingsError`."""
        from pytest_tablebench.session._planning import model_plans, served_checks  # slow to import

        cases = self.cases
        if self.settings.store or self.settings.readonly_stores:
            self.models.store()  # raises for an unusable folder
        cases.open_store()
        if self.verdicts is not None and self.settings.baseline is not None:
            # Each worker checks this itself, so that none makes calls for a refused run.
            from pytest_tablebench.results.writer import RunWriter

            writer = RunWriter(self.settings, dict.fromkeys(self.settings.models, Path()))
            writer.learn(self._messages.facts())
            self.verdicts.check_baseline(writer, cases.planned)
        self._join(self._request_place(cases.engine_needs()))
        selected = SelectedCases()
        if self._plans:
            plans = model_plans(cases)
            facts = self._messages.first_facts()
            facts |= served_checks(cases, self.verdicts, plans)
            selected = SelectedCases(cases.planned, facts, list(map(asdict, plans)), self.problems)
        self._send(selected)
        from pytest_tablebench.session.garbage import freeze_garbage

        freeze_garbage()

    def _join(self, run_place: RunPlace) -> None:
        """Connect to the controller's engine, and read the answers it collected from batches."""
        from pytest_tablebench.executors.local import Address

        self._folders = {model: Path(path) for model, path in run_place.folders.items()}
        if run_place.engine is not None:
            address, runner = Address(*run_place.engine), self.cases.runner
            runner.models.address = lambda: address
            runner.prefetch.size = max(4, 2 * self.settings.connections // self._worker_count)
        self.cases.refresh_store()

    def refuse(self, error: SettingsError) -> None:
        """Report the error to the controller, which ends the session: a worker cannot."""
        self.cases.runner.prefetch.stop(str(error))
        self._send(Refused(str(error)))

    def _send(self, message: Message) -> None:
        self._channel.send(encode(message))

    def _request_place(self, needs: EngineNeeds) -> RunPlace:
        """Return the run folders and the engine's address. Raises `SettingsError`."""
        try:
            self._send(needs)
            reply = decode(self._channel.receive())
        except (EOFError, OSError) as error:
            raise SettingsError(f"the connection to the controller is lost ({error})") from None
        if isinstance(reply, RunPlace):
            return reply
        raise SettingsError(reply.why if isinstance(reply, Refused) else "no run folder received")

    # Run.

    def begin_first(self) -> None:
        """Begin the first cases before xdist has assigned them, because it waits for all workers.

        Only the planning worker does, because it has checked the plan. If another worker runs the
        cases, it gets the answers. A stopping rule asks one case after another.
        """
        if self._plans and self.cases.planned and self.settings.stop_rule is None:
            self.cases.runner.prefetch.begin_first()

    def announce(self, node_id: str, case: Case, finding: Finding) -> None:
        """Send the controller the record to write if this process dies during the item."""
        identity = self.cases.runner.start(case).identity
        with contextlib.suppress(OSError):  # the controller has ended, and ends this process
            self._send(CaseAhead(node_id, identity, finding, self.cases.planned))

    def message(self, run: CaseRun, finding: Finding, error: BaseException | None) -> CaseMessage:
        """Return the message of a finished item, with any new warnings of this process."""
        message = super().message(run, finding, error)
        problems = tuple(self.problems)
        if len(problems) == self._problem_count:
            return message
        self._problem_count = len(problems)
        return replace(message, problems=problems)

    # End.

    def close(self) -> None:
        """Close the store and connections, and leave warnings for the controller."""
        super().close()
        if self._has_models:
            self.config.workeroutput[PROBLEMS] = self.problems  # type: ignore[attr-defined]
