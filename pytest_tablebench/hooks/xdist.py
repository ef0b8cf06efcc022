"""Between xdist's workers and their controller, before the first test runs.

Each worker has a channel of its own beside xdist's, over the same connection of execnet's. What it
tells there before it reports its collection is here when that report is: nobody ever waits for a
message that may not come.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.session.state import Role, Session

__all__ = [
    "Voice",
    "XdistHooks",
    "is_first",
    "is_unsure",
    "is_worker",
    "own_prefix",
    "role_of",
    "running_file",
]

CHANNEL, UNSURE, EACH = "tablebench_channel", "tablebench_unsure", "tablebench_each"


def is_worker(config: pytest.Config) -> bool:
    """Whether an xdist worker runs here."""
    return hasattr(config, "workerinput")


def role_of(config: pytest.Config) -> Role:
    """Return what this process does in the session."""
    if is_worker(config):
        return "worker"
    option = config.option
    spread = getattr(option, "dist", "no") != "no" and getattr(option, "tx", None)
    return "controller" if spread and not option.collectonly else "alone"


def is_first(config: pytest.Config) -> bool:
    """Whether this process speaks for all that collect: the first worker, or alone."""
    return not is_worker(config) or _input(config)["workerid"] == "gw0"


def is_unsure(config: pytest.Config) -> bool:
    """Whether the controller knew not all names in the options, so that a worker has to look."""
    return is_worker(config) and bool(_input(config)[UNSURE])


def running_file(config: pytest.Config) -> Path:
    """Return where a worker notes what it is at."""
    return Path(_input(config)["tablebench_running"])


def own_prefix(config: pytest.Config) -> str:
    """Return what tells a worker's items from the others', where each worker runs all of them."""
    given = _input(config)
    return f"{given['workerid']}:" if given[EACH] else ""


def _input(config: pytest.Config) -> dict[str, Any]:
    found: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
    return found


class XdistHooks:
    """Hooks of the controller. Without xdist none of them is ever called.

    Arguments:
        settings: of the run.
        state: returns the session's state, made on first use; safe to call from any thread.
        unsure: whether a conftest.py that workers have yet to read may register what options name.
    """

    def __init__(self, settings: Settings, state: Callable[[], Session], *, unsure: bool) -> None:
        self.told: dict[str, Any] = {}
        """What workers have told so far, by name; the latest of each."""
        self._settings = settings
        self._state = state
        self._unsure = unsure
        self._lock = threading.Lock()
        self._channels: list[Any] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker its channel, before it is started."""
        channel = node.gateway.newchannel()
        channel.setcallback(lambda text: self._take(channel, json.loads(text)))
        self._channels.append(channel)
        given: dict[str, Any] = {CHANNEL: channel, UNSURE: self._unsure}
        given[EACH] = node.config.getvalue("dist") == "each"
        node.workerinput.update(given)
        manager = node.config.pluginmanager
        if not manager.hasplugin("tablebench-workers"):
            from pytest_tablebench.hooks.crashes import WorkerDeaths

            deaths = WorkerDeaths(lambda: self._state() if "selected" in self.told else None)
            manager.register(deaths, "tablebench-workers")
            deaths.pytest_configure_node(node)  # later ones pytest tells it itself

    def _take(self, channel: Any, message: Mapping[str, Any]) -> None:
        """Take what a worker says, in a thread of execnet's."""
        if "question" not in message:
            self.told.update(message)
            return
        with self._lock:
            try:
                said: dict[str, Any] = {"answer": self._begin(message["question"])}
            except Exception as error:
                said = {"error": str(error)}
        channel.send(json.dumps(said))

    def _begin(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Make the run folders, and start the engine where it is needed; return where they are."""
        from pytest_tablebench.executors.local import LaneConfig

        state, address = self._state(), None
        state.claim()
        lanes = [LaneConfig(*lane) for lane in wanted["lanes"]]
        if lanes:
            found = state.start_engine(lanes, eager=wanted["eager"]).address
            address = [found.port, found.token]
        paths = {model: str(path) for model, path in state.paths.items()}
        return {"paths": paths, "address": address}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Hand out cases so that they can be asked ahead, where the user has chosen no way."""
        if not self._settings.explicit or config.getvalue("dist") != "load":
            return None
        if config.getvalue("maxschedchunk") is not None:
            return None
        from pytest_tablebench.hooks.scheduling import LateScheduling

        return LateScheduling(config, log, self._way)

    def _way(self) -> Callable[[Any, Any], Any] | None:
        """Return how the items are handed out, when all are collected; None: xdist's own way."""
        from pytest_tablebench.hooks.scheduling import one_by_one, stealing

        if "selected" not in self.told:
            return None
        if self._settings.stop_rule is not None:
            return one_by_one
        return stealing if self._state().engine is not None else None


class Voice:
    """A worker's end of its channel."""

    def __init__(self, config: pytest.Config) -> None:
        given = _input(config)
        self._channel = given[CHANNEL]
        self.workers = int(given["workercount"])

    def ask(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return where the run is kept, and where its engine listens. Raises `SettingsError`."""
        from pytest_tablebench.errors import SettingsError

        try:
            self._channel.send(json.dumps({"question": wanted}))
            said = json.loads(self._channel.receive())
        except (EOFError, OSError) as error:
            raise SettingsError(f"the process that keeps the run is gone ({error})") from None
        if "error" in said:
            raise SettingsError(said["error"])
        answer: dict[str, Any] = said["answer"]
        return answer

    def tell(self, **what: Any) -> None:
        """Tell the controller something, before it hears what was collected."""
        self._channel.send(json.dumps(what))
