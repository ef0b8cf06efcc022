"""The process that keeps the run while xdist's workers run the cases.

Each worker has a channel of its own beside xdist's, over the same connection of execnet's. What it
sends there before it reports its collection is here when that report is: nobody ever waits for a
message that may not come.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.session.base import RunKeeper, selected_by
from pytest_tablebench.session.messages import (
    CallsExpected,
    CaseAhead,
    EngineNeeds,
    Message,
    Refused,
    SelectedCases,
    decode,
    encode,
)

if TYPE_CHECKING:
    from pytest_tablebench.results.gates import PlannedGate
    from pytest_tablebench.running.axes import Axes
    from pytest_tablebench.running.provider_pool import ProviderPool
    from pytest_tablebench.session.kept_run import KeptRun

CHANNEL, EACH = "tablebench_channel", "tablebench_each"
"""Keys of a worker's input: its channel, and whether each worker runs all items."""

KEPT_AHEAD = 4
"""Announced cases that are kept for a worker: xdist may name the one before or after."""


class Controller(RunKeeper):
    """Keeps the run that xdist's workers run."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.selected: SelectedCases | None = None
        """What the worker that plans for all has sent."""
        self.has_selected = False
        """Whether a worker has selected cases."""
        self.refusal: str | None = None
        """Why the run cannot be."""
        self.ahead: dict[str, deque[CaseAhead]] = {}
        """The last cases that each worker has announced."""
        self._kept: KeptRun | None = None
        self._making = threading.Lock()
        self._placing = threading.Lock()
        self._channels: list[Any] = []

    @property
    def run(self) -> KeptRun:
        """The run that this process keeps. Safe to call from any thread."""
        if self._kept is None:
            with self._making:
                if self._kept is None:
                    _ = self.notices
                    self._kept = self._make_run()
        return self._kept

    @cached_property
    def axes(self) -> Axes:
        """What the run varies."""
        from pytest_tablebench.running.axes import Axes

        return Axes(self.settings, self.registry)

    @cached_property
    def models(self) -> ProviderPool:
        """The models that the settings name."""
        from pytest_tablebench.running.provider_pool import ProviderPool

        return ProviderPool(self.settings, self.registry)

    # Collect.

    def connect(self, node: Any) -> None:
        """Give a worker its channel, before it is started; `node` is xdist's."""
        channel = node.gateway.newchannel()
        worker = node.workerinput["workerid"]
        channel.setcallback(lambda text: self._take(worker, channel, decode(text)))
        self._channels.append(channel)
        each = node.config.getvalue("dist") == "each"
        node.workerinput.update({CHANNEL: channel, EACH: each})

    def _take(self, worker: str, channel: Any, message: Message) -> None:
        """Take a worker's message, in a thread of execnet's."""
        if isinstance(message, CaseAhead):
            self.ahead.setdefault(worker, deque(maxlen=KEPT_AHEAD)).append(message)
        elif isinstance(message, SelectedCases):
            self.has_selected = True
            if message.cases is not None:
                self.selected = message
        elif isinstance(message, Refused):
            self.refusal = message.why
        elif isinstance(message, CallsExpected):
            self.run.engine.import_early()
        elif isinstance(message, EngineNeeds):
            with self._placing:
                try:
                    answer: Message = self.run.place(message)
                except Exception as error:
                    answer = Refused(str(error))
            channel.send(encode(answer))

    @property
    def has_cases(self) -> bool:
        """Whether a worker has selected cases, or options of pytest may have left them out."""
        return self.has_selected or bool(selected_by(self.config))

    # Plan.

    def set_out(self) -> SelectedCases | None:
        """Begin with what the workers have sent; return what is ahead, None if not known.

        Raises `pytest.UsageError` where the engine is gone.
        """
        run, selected = self.run, self.selected
        if (lost := run.engine.lost) is not None:
            raise pytest.UsageError(lost)  # before anything was asked
        if selected is None:
            return None
        run.writer.learn(selected.facts)
        run.writer.learn_plans(selected.plans)
        if self.verdicts is not None:
            self.verdicts.leave_out(run.writer.facts.get("not_judged", ()))
        return selected

    def planned_gates(self) -> dict[str, list[PlannedGate]]:
        """Return nothing: a plan alone is made without workers."""
        return {}

    # End.

    def count_examples(self, dataset: str, most: int) -> int:
        """Return how many examples a dataset has, counted up to `most`."""
        from pytest_tablebench.datasets import open_dataset

        opened, settings = self.registry.datasets[dataset], self.settings
        folder = settings.data_folder() / opened.folder
        source = open_dataset(opened, folder, compat=settings.compat, settings=vars(settings))
        return len(source.example_ids(most))

    @property
    def problems(self) -> list[str]:
        """What was read past in this process, by the engine and by shared stores."""
        store_problems = self.models.store_problems if "models" in vars(self) else []
        return [*store_problems, *self.notices.texts, *self.run.problems]

    def close(self) -> None:
        """End what is open: the store, the engine's calls, shared stores."""
        if "models" in vars(self):
            self.models.close()
        self.run.close()
        self.run.close_stores()

    def reap(self) -> None:
        """Wait for the processes that were told to end while reports were written; tidy up."""
        super().reap()
        self.run.reap()
