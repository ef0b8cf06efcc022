"""What one process does in a session. It is known from the options, before anything is collected.

Alone       runs cases and keeps the run
Controller  keeps the run; xdist's workers run the cases
Worker      runs cases, and tells the controller what came of each
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from pluggy import PluggyTeardownRaisedWarning

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.session.messages import (
    Ahead,
    CallsAhead,
    EngineWanted,
    Message,
    Refused,
    RunPlace,
    decode,
    encode,
)
from pytest_tablebench.util.names import escaped

if TYPE_CHECKING:
    from pytest_tablebench.session.state import Session

CHANNEL, UNSURE, EACH = "tablebench_channel", "tablebench_unsure", "tablebench_each"
"""What a worker is given before it is started: its channel, whether it has to look for names that
the controller does not know, and whether each worker runs all items."""

NOTE = "tablebench_running"
"""Where a worker notes what it is at."""


class Role(Protocol):
    """What one process does in a session.

    Where a role does not say otherwise, it is that of a process that keeps the run: what cannot be
    is said at once, and nothing has to be told.
    """

    keeps_run: bool = True
    """Whether records come here, and gates are judged."""
    sends: bool = False
    """Whether what is found here goes to another process."""
    speaks: bool
    """Whether this process speaks for all that collect the same items."""
    unsure: bool = False
    """Whether this process has to look for names that nobody knew before."""
    item_prefix: str = ""
    """What tells the items here from those of others, where each worker runs all of them."""

    def anticipate(self, state: Session) -> None:
        """Have it made ready for calls: a case that will be asked is collected."""
        state.import_ahead()

    def set_out(self, state: Session) -> None:
        """Begin the run, its cases selected. Raises `SettingsError`."""

    def refuse(self, state: Session, error: SettingsError) -> None:  # noqa: ARG002 - a role's
        """Have the session end before any test runs."""
        raise pytest.UsageError(escaped(str(error))) from None

    def finish(self, config: pytest.Config, state: Session) -> None:
        """Tell whoever keeps the run what this process has read past."""
        if not self.keeps_run:
            config.workeroutput["tablebench_problems"] = state.problems  # type: ignore[attr-defined]


class Alone(Role):
    """Runs cases and keeps the run."""

    speaks = True

    def set_out(self, state: Session) -> None:
        """Begin the run: its engine, its plan, its folder. Raises `SettingsError`."""
        from pytest_tablebench.session.planning import model_plans  # only where a run is: heavy

        plan_only = state.settings.plan
        writer = state.require_writer()
        if not plan_only:
            state.open_store()
            facts = state.telling.facts()
            if facts is not None:
                writer.learn(facts)
            state.check_baseline()
        wanted = state.wanted_engine()
        if not plan_only:
            state.collect_batches(wanted)
            state.look_again()
        if wanted.needed:
            engine = state.start_engine(wanted)
            # Through the writer's connection: who asks wants to be told the totals too.
            state.require_runner().models.address = lambda: engine.client.address
        writer.learn_plans(asdict(plan) for plan in model_plans(state))
        if not plan_only:
            writer.open()  # last: a run that is refused leaves nothing behind


class Controller(Role):
    """Keeps the run that xdist's workers run.

    Each worker has a channel of its own beside xdist's, over the same connection of execnet's.
    What it tells there before it reports its collection is here when that report is: nobody ever
    waits for a message that may not come.
    """

    speaks = False

    def __init__(self) -> None:
        self.ahead: Ahead | None = None
        """What the worker that speaks for all has told."""
        self.selected = False
        """Whether a worker has selected cases."""
        self.refused: str | None = None
        """Why the run cannot be."""
        self._lock = threading.Lock()
        self._channels: list[Any] = []

    def greet(self, node: Any, state: Callable[[], Session], *, unsure: bool) -> None:
        """Give a worker its channel, before it is started.

        Arguments:
            node: of xdist's.
            state: returns the state of this process; safe to call from any thread.
            unsure: whether a conftest.py that workers have yet to read may register what
                options name.
        """
        channel = node.gateway.newchannel()
        channel.setcallback(lambda text: self._take(channel, decode(text), state))
        self._channels.append(channel)
        each = node.config.getvalue("dist") == "each"
        node.workerinput.update({CHANNEL: channel, UNSURE: unsure, EACH: each})

    def _take(self, channel: Any, message: Message, state: Callable[[], Session]) -> None:
        """Take what a worker says, in a thread of execnet's."""
        if isinstance(message, Ahead):
            self.selected = True
            if message.cases is not None:
                self.ahead = message
        elif isinstance(message, Refused):
            self.refused = message.why
        elif isinstance(message, CallsAhead):
            state().import_ahead()
        elif isinstance(message, EngineWanted):
            with self._lock:
                try:
                    said: Message = state().place(message)
                except Exception as error:
                    said = Refused(str(error))
            channel.send(encode(said))

    def set_out(self, state: Session) -> None:
        """Begin with what the workers have told. Raises `pytest.UsageError`: for this process."""
        writer, ahead = state.require_writer(), self.ahead
        if state.engine is not None and state.engine.client.lost is not None:
            raise pytest.UsageError(str(state.engine.client.lost))  # before anything was asked
        if ahead is None:
            return
        writer.learn(ahead.facts)
        writer.learn_plans(ahead.plans)
        if state.verdicts is not None:
            state.verdicts.leave_out(writer.facts.get("not_judged", ()))


class Worker(Role):
    """Runs cases, and tells the controller what came of each."""

    keeps_run, sends = False, True

    def __init__(self, given: dict[str, Any]) -> None:
        self._channel = given[CHANNEL]
        self._workers = int(given["workercount"])
        self.speaks = given["workerid"] == "gw0"
        self.unsure = bool(given[UNSURE])
        self.item_prefix = f"{given['workerid']}:" if given[EACH] else ""
        self.note = Path(given[NOTE])
        # A controller that refuses the run ends the connection: xdist's last message cannot be
        # sent, and pluggy warns of that behind all hooks.
        lost = r"(?s).*OSError: cannot send \(already closed"
        warnings.filterwarnings("ignore", lost, PluggyTeardownRaisedWarning)

    def anticipate(self, state: Session) -> None:  # noqa: ARG002 - a role's
        """Tell the controller; of several workers one does."""
        if self.speaks:
            self._tell(CallsAhead())

    def set_out(self, state: Session) -> None:
        """Find the run, and tell what is ahead. Raises `SettingsError`."""
        from pytest_tablebench.session.planning import model_plans  # only where a run is: heavy

        state.preflight()
        state.open_store()
        state.check_baseline()
        state.join(self._ask(state.wanted_engine()), self._workers)
        ahead = Ahead()
        if self.speaks:  # of several workers one works out what is ahead
            plans = [asdict(plan) for plan in model_plans(state)]
            ahead = Ahead(state.planned, state.telling.facts() or {}, plans, state.problems)
        self._tell(ahead)
        state.settle()

    def refuse(self, state: Session, error: SettingsError) -> None:
        """Tell the controller, which ends the session: a worker cannot."""
        state.require_runner().prefetch.stop(str(error))
        self._tell(Refused(str(error)))

    def _tell(self, message: Message) -> None:
        """Tell the controller something, before it hears what was collected."""
        self._channel.send(encode(message))

    def _ask(self, wanted: EngineWanted) -> RunPlace:
        """Return where the run is kept, and where its engine listens. Raises `SettingsError`."""
        try:
            self._tell(wanted)
            said = decode(self._channel.receive())
        except (EOFError, OSError) as error:
            raise SettingsError(f"the process that keeps the run is gone ({error})") from None
        if isinstance(said, RunPlace):
            return said
        raise SettingsError(said.why if isinstance(said, Refused) else "no place for the run")


def role_of(config: pytest.Config) -> Role:
    """Return what this process does in the session, by the options alone."""
    if hasattr(config, "workerinput"):
        return Worker(config.workerinput)
    option = config.option
    spread = getattr(option, "dist", "no") != "no" and getattr(option, "tx", None)
    return Controller() if spread and not option.collectonly else Alone()
