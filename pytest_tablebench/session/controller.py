"""The process that keeps the run while xdist's workers run the cases.

Each worker has a second execnet channel over xdist's connection. Messages on it arrive in order
with xdist's, so whatever a worker sends before its collection report is here when that arrives.
The controller never has to wait for a message.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from pytest_tablebench.session._messages import (
    CallsExpected,
    CaseAhead,
    EngineNeeds,
    Message,
    Refused,
    SelectedCases,
    decode,
    encode,
)
from pytest_tablebench.session.base import RunKeeper, selected_by
from pytest_tablebench.session.pytest_modes import usage_error
from pytest_tablebench.session.sharing import SHARED, shared_values

if TYPE_CHECKING:
    pass

CHANNEL, EACH = "tablebench_channel", "tablebench_each"
"""Keys of a worker's input: its channel, and whether each worker runs all items."""

KEPT_AHEAD = 4
"""Announced cases kept per worker: xdist may report a crash one item too early or too late."""


class Controller(RunKeeper):
    """Keeps the run that xdist's workers run."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.selected: SelectedCases | None = None
        """The selection that the planning worker sent; None before that."""
        self.has_selected = False
        """Whether a worker has selected cases."""
        self.refusal: str | None = None
        """Why the run cannot start; None if it can."""
        self.ahead: dict[str, deque[CaseAhead]] = {}
        """The last cases announced by each worker."""
        self._place_lock = threading.Lock()
        self._channels: list[Any] = []

    # Collect.

    def connect(self, node: Any) -> None:
        """Give a worker its channel before it starts; `node` is xdist's worker controller."""
        channel = node.gateway.newchannel()
        worker = node.workerinput["workerid"]
        channel.setcallback(lambda text: self._handle(worker, channel, decode(text)))
        self._channels.append(channel)
        each = node.config.getvalue("dist") == "each"
        node.workerinput.update(
            {CHANNEL: channel, EACH: each, SHARED: shared_values(self.settings)}
        )

    def _handle(self, worker: str, channel: Any, message: Message) -> None:
        """Process a worker's message, in a thread of execnet."""
        if isinstance(message, CaseAhead):
            self.ahead.setdefault(worker, deque(maxlen=KEPT_AHEAD)).append(message)
        elif isinstance(message, SelectedCases):
            self.has_selected = True
            if message.cases is not None:
                self.selected = message
        elif isinstance(message, Refused):
            self.refusal = message.why
        elif isinstance(message, CallsExpected):
            self.run.engine.start_early()
        elif isinstance(message, EngineNeeds):
            with self._place_lock:
                try:
                    answer: Message = self.run.place(message)
                except Exception as error:
                    answer = Refused(str(error))
            channel.send(encode(answer))

    @property
    def has_cases(self) -> bool:
        """Whether a worker has selected cases, or pytest options may have deselected them."""
        return self.has_selected or bool(selected_by(self.config))

    # Plan.

    def start_run(self) -> SelectedCases | None:
        """Record the planning worker's facts and plans; return its selection, None before it.

        Raises `pytest.UsageError` if the connection to the engine is lost.
        """
        run, selected = self.run, self.selected
        if (lost := run.engine.lost) is not None:
            raise usage_error(lost)
        if selected is None:
            return None
        run.writer.learn(selected.facts)
        run.writer.learn_plans(selected.plans)
        if self.verdicts is not None:
            self.verdicts.leave_out(run.writer.facts.get("not_judged", ()))
        return selected
