"""Start and end the broker of a run."""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.executors._dispatch import Lane
from pytest_tablebench.executors._process import ModuleProcess, last_line
from pytest_tablebench.executors._wire import PROBLEMS, REFUSALS, pack
from pytest_tablebench.executors.local._caller_processes import LITELLM
from pytest_tablebench.executors.local._callers import caller_count
from pytest_tablebench.executors.local._executor import Address, LocalExecutor
from pytest_tablebench.models import needs_litellm, refusal_lines
from pytest_tablebench.util.leftovers import TemporaryFolder, sweep

BROKER = "pytest_tablebench.executors.{}.broker"
"""The broker's module, for `local` or `dask`."""

_USED = (
    *("connections", "max_cost", "max_reply", "oldest", "patience", "retries", "scheduler"),
    *("score_there", "timeout", "transport"),
)
"""The settings that the broker and the callers use."""

END_S = 5.0
"""Seconds that the broker has to end before it is killed."""


class BrokerProcess:
    """A broker's process, which receives the run's configuration later, or never."""

    def __init__(self, module: str, *arguments: str) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        # In a new session Ctrl-C in a terminal reaches only pytest, which then ends the broker
        # in an orderly way.
        self.process = ModuleProcess(
            module,
            *arguments,
            stderr=self.errors,
            env={
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("PYTEST_", "COV_"))
            },
            start_new_session=os.name == "posix",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    @classmethod
    def ahead(cls, models: Sequence[str] = (), transport: str = "auto") -> BrokerProcess:
        """Start a broker whose caller imports its modules meanwhile, if calls are certain."""
        arguments = [LITELLM] * needs_litellm(models, transport)
        return cls(f"{BROKER.format('local')}_ahead", *arguments)

    def tell(self, line: bytes) -> None:
        """Write a line to the broker's standard input."""
        with contextlib.suppress(OSError):  # it ended at once; `Engine.address` reports why
            self.process.stdin.write(line)
            self.process.stdin.flush()  # left open: its end shows the broker that pytest is gone

    def hang_up(self) -> None:
        """Close the broker's standard input, which ends it."""
        with contextlib.suppress(OSError):  # it ended without reading its input
            self.process.stdin.close()

    def reap(self) -> None:
        """Wait for the broker to end, and close its files."""
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Engine:
    """The broker of a run. It starts in the background, because imports take seconds.

    Without a permanent store, answers are kept for this run only.

    Arguments:
        settings: of the run.
        lanes: the models that callers call.
        eager: whether the callers start at once, so that their imports are done before the first
            call. Otherwise they start with the first call, which may never happen if answers are
            stored.
        started: a broker that was started before the run was known.
    """

    def __init__(
        self,
        settings: Settings,
        lanes: Sequence[Lane],
        *,
        eager: bool = True,
        started: BrokerProcess | None = None,
    ) -> None:
        sweep()
        store = settings.store_folder()
        self._temporary = TemporaryFolder() if store is None else None
        self._token = secrets.token_hex(16)
        self._port: int | None = None
        self._failure: str | None = None
        self._executor: LocalExecutor | None = None
        kind = "dask" if settings.executor == "dask" else "local"
        self._broker = started or BrokerProcess(BROKER.format(kind))
        self._process = self._broker.process
        names = [lane.asked_as or lane.model for lane in lanes if lane.reference is None]
        has_litellm = needs_litellm(names, settings.transport)
        config = {
            **{name: getattr(settings, name) for name in _USED},
            "settings": _for_makers(settings, lanes),
            "token": self._token,
            "lanes": [vars(lane) for lane in lanes],
            "eager": eager,
            "callers": callers_of(settings, lanes, needs_litellm=has_litellm),
            "callers_given": settings.callers,
            "needs_litellm": has_litellm,
            "store": str(store if self._temporary is None else self._temporary.path),
            "sandbox": {
                "container": settings.sandbox_container,
                "unsafe": settings.sandbox_unsafe,
            },
        }
        self._broker.tell(pack(config))

    @property
    def address(self) -> Address:
        """The broker's address; the first access waits for it. Raises `SettingsError`."""
        if self._port is None and self._failure is None:
            line = self._process.stdout.readline()
            self._process.stdout.close()
            if line.endswith(b"\n"):  # otherwise the broker ended while it wrote
                self._port = int(line)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(END_S)
                why = last_line(self._broker.errors) or f"it ended with {self._process.returncode}"
                self._failure = f"the process for model calls did not start: {why}"
        if self._port is None:
            raise SettingsError(self._failure)
        return Address(self._port, self._token)

    @property
    def executor(self) -> LocalExecutor:
        """The connection of the process that keeps the run. Raises `SettingsError`."""
        if self._executor is None:
            self._executor = LocalExecutor(self.address, "keeper")
        return self._executor

    @property
    def problems(self) -> list[str]:
        """Problems with the store's files, and request parts that servers refused."""
        notes = self._notes
        problems = [text for name in notes if name.startswith(PROBLEMS) for text in notes[name]]
        return problems + refusal_lines(self.refused)

    @property
    def refused(self) -> dict[str, dict[str, str]]:
        """Reasons for which models refuse parts of requests, by model and part."""
        refused: dict[str, dict[str, str]] = {}
        for name, note in self._notes.items():
            if name.startswith(REFUSALS):
                model, part, why = note
                refused.setdefault(model, {})[part] = why
        return refused

    @property
    def _notes(self) -> dict[str, Any]:
        return {} if self._executor is None else self._executor.notes

    def finish(self) -> Mapping[str, Any] | None:
        """End the engine; return the totals of the run, None without any.

        Does not wait for calls in flight. They are paid for, so the callers finish and store
        them, and then end. `reap` waits for the broker.
        """
        totals = None
        if self._executor is not None:
            totals = self._executor.finish()
            self._executor.close()
        self._broker.hang_up()
        return totals

    def reap(self) -> None:
        """Wait for the broker to end after `finish`, and remove temporary files."""
        self._broker.reap()
        if self._temporary is not None:
            self._temporary.remove()


def _for_makers(settings: Settings, lanes: Sequence[Lane]) -> str | None:
    """Return the settings for the makers of registered providers; None if the run has none.

    They are pickled, as base64. Only processes that this engine starts, and workers of the user's
    Dask cluster, which runs pickles anyway, read them.
    """
    if all(lane.reference is None for lane in lanes):
        return None
    import pickle

    return base64.b64encode(pickle.dumps(settings)).decode("ascii")


def callers_of(settings: Settings, lanes: Sequence[Lane], *, needs_litellm: bool) -> int:
    """Return the number of processes that make a run's calls."""
    if not lanes:
        return 0
    if settings.callers is not None:
        return settings.callers
    # One caller is enough for all connections of a machine without litellm.
    is_direct = not needs_litellm and all(lane.reference is None for lane in lanes)
    if settings.executor != "dask" and is_direct:
        return 1
    return caller_count(settings.connections)
