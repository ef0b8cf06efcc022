"""Starting and ending the processes behind a run."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.executors._process import last_line, start_module
from pytest_tablebench.executors._wire import PROBLEMS, REFUSALS, pack
from pytest_tablebench.executors.local._callers import caller_count
from pytest_tablebench.executors.local._executor import Address, LocalExecutor
from pytest_tablebench.executors.local.providers import settings_fields
from pytest_tablebench.models import may_be_direct, refusal_lines
from pytest_tablebench.models.base import MAX_REPLY
from pytest_tablebench.util.leftovers import TemporaryFolder, sweep

BROKER = "pytest_tablebench.executors.{}.broker"
"""The module that is the broker, by whose it is."""

END_S = 5.0
"""Seconds the broker has to end after it was told to."""


@dataclass(frozen=True)
class LaneConfig:
    """A model, the address it is asked at, and whose limits it shares.

    `reference` says where callers find the maker of a registered provider; None: litellm asks it.
    `at_once`: calls that may be under way, where that is less than the run's. `file` is a model's
    that the run serves itself, and `asked_as` what litellm calls that.
    """

    model: str
    api_base: str | None = field(repr=False)
    provider: str = field(repr=False)
    reference: Mapping[str, Any] | None = field(default=None, repr=False)
    at_once: int | None = None
    file: str | None = None
    asked_as: str | None = None

    def values(self) -> tuple[Any, ...]:
        """Return what it is made of."""
        return tuple(vars(self).values())


@dataclass(frozen=True)
class EngineConfig:
    """What the engine of one run is made of.

    `store` None: answers are kept for this run only. `eager`: start the callers at once, so that
    what they import is there when the first call is; otherwise with the first call, which may
    never come where answers are stored.
    """

    lanes: Sequence[LaneConfig]
    connections: int
    retries: int
    timeout: float
    max_cost: float | None
    patience: float
    store: Path | None
    eager: bool = True
    max_reply: int = MAX_REPLY
    callers: int | None = None
    """How many processes make the calls; None: by need."""
    transport: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Of the run, for the makers of registered providers."""
    sandbox: Mapping[str, Any] = field(default_factory=dict)
    """How programs are run: arguments of `Sandbox`."""
    broker: Literal["local", "dask"] = "local"
    """Whose broker it is."""
    scheduler: str | None = None
    """Where the executor's cluster is."""
    score_there: bool = False
    """Whether programs run where the calls are made."""

    @classmethod
    def of(cls, settings: Settings, lanes: Sequence[LaneConfig], **other: Any) -> EngineConfig:
        """Return what a run's settings make of the engine; `other` are further fields."""
        return cls(
            lanes,
            settings.connections,
            settings.retries,
            settings.timeout,
            settings.max_cost,
            settings.patience,
            settings.store_folder(),
            max_reply=settings.max_reply,
            callers=settings.callers,
            transport=settings.transport,
            broker="dask" if settings.executor == "dask" else "local",
            scheduler=settings.scheduler,
            score_there=settings.score_there,
            settings=settings_fields(settings),
            **other,
        )


class BrokerProcess:
    """A broker that is told of its run later, or never."""

    def __init__(self, module: str) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        # A session of its own: Ctrl-C in a terminal must reach pytest alone, which then says
        # what is to end and what is paid for already.
        self.process = start_module(
            module,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=_environment(),
            start_new_session=os.name == "posix",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    @classmethod
    def ahead(cls) -> BrokerProcess:
        """Start one that has litellm imported meanwhile, for models that surely will be asked."""
        return cls(f"{BROKER.format('local')}_ahead")

    def tell(self, line: bytes) -> None:
        """Write to its standard input."""
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(OSError):  # it has ended at once: `Engine.address` says why
            self.process.stdin.write(line)
            self.process.stdin.flush()  # and left open: its end tells the broker that we are gone

    def hang_up(self) -> None:
        """Have it end: no more calls are wanted."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):  # what it ended without reading
                self.process.stdin.close()

    def reap(self) -> None:
        """Wait for it to end, and let go of what it used."""
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.errors.close()


class Engine:
    """The broker's process, started at once and in the background: imports take seconds.

    Arguments:
        config: what it is made of.
        started: a process that was started before its run was known.
    """

    def __init__(self, config: EngineConfig, started: BrokerProcess | None = None) -> None:
        self.config = config
        self._temporary: TemporaryFolder | None = None
        sweep()
        store = config.store
        if store is None:
            self._temporary = TemporaryFolder()
            store = self._temporary.path
        self._token = secrets.token_hex(16)
        self._port: int | None = None
        self._failure: str | None = None
        self._executor: LocalExecutor | None = None
        self._broker = started or BrokerProcess(BROKER.format(config.broker))
        self._process = self._broker.process
        self._broker.tell(pack(self._given(store)))

    def _callers(self) -> int:
        """Return how many processes make the calls."""
        config = self.config
        # One is enough for a machine's connections where litellm only translates.
        direct = config.broker == "local" and config.transport != "litellm"
        direct = direct and all(
            lane.reference is None and may_be_direct(lane.asked_as or lane.model)
            for lane in config.lanes
        )
        callers = 1 if direct and config.callers is None else config.callers
        return caller_count(config.connections, callers)

    def _given(self, store: Path) -> dict[str, Any]:
        config = self.config
        return {
            **vars(config),
            "token": self._token,
            "lanes": [vars(lane) for lane in config.lanes],
            "callers": self._callers() * bool(config.lanes),
            "callers_given": config.callers,
            "store": str(store),
        }

    @property
    def address(self) -> Address:
        """Where the broker listens; waits for it the first time. Raises `SettingsError`."""
        if self._port is None and self._failure is None:
            assert self._process.stdout is not None  # noqa: S101 - it is a pipe
            line = self._process.stdout.readline()
            self._process.stdout.close()
            if line.endswith(b"\n"):  # or it ended within
                self._port = int(line)
            else:
                self._failure = f"the process for model calls did not start: {self._last_error()}"
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
        """What callers found wrong with the store's files, and what servers refused."""
        notes = self._notes
        problems = [text for name in notes if name.startswith(PROBLEMS) for text in notes[name]]
        return problems + refusal_lines(self.refused)

    @property
    def refused(self) -> dict[str, dict[str, str]]:
        """What models do not take, and why, by model and by parameter."""
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
        """Tell the engine to end; return the totals of the run, None when there are none.

        Does not wait for calls in flight: they are paid for, so the callers finish and store
        them, and end by themselves. `reap` waits for the broker.
        """
        totals = None
        if self._executor is not None:
            totals = self._executor.finish()
            self._executor.close()
        self._broker.hang_up()
        return totals

    def reap(self) -> None:
        """Wait for the broker that `finish` told to end, and let go of what it used."""
        self._broker.reap()
        if self._temporary is not None:
            self._temporary.remove()

    def _last_error(self) -> str:
        """Return the end of what the process wrote before it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        return last_line(self._broker.errors) or f"it ended with {self._process.returncode}"


def _environment() -> dict[str, str]:
    """Return this environment for processes that are none of pytest's."""
    dropped = ("PYTEST_", "COV_")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
