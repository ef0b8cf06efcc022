"""Start and end the broker of a run."""

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
from pytest_tablebench.executors._process import ModuleProcess, last_line
from pytest_tablebench.executors._wire import PROBLEMS, REFUSALS, pack
from pytest_tablebench.executors.local._caller_processes import LITELLM
from pytest_tablebench.executors.local._callers import caller_count
from pytest_tablebench.executors.local._executor import Address, LocalExecutor
from pytest_tablebench.executors.local.providers import settings_fields
from pytest_tablebench.models import needs_litellm, refusal_lines
from pytest_tablebench.models.base import MAX_REPLY
from pytest_tablebench.util.leftovers import TemporaryFolder, sweep

BROKER = "pytest_tablebench.executors.{}.broker"
"""The broker's module, for `local` or `dask`."""

END_S = 5.0
"""Seconds that the broker has to end before it is killed."""


@dataclass(frozen=True)
class LaneConfig:
    """A model and how it is called.

    Arguments:
        provider: the provider whose limits it shares.
        reference: where callers find the maker of a registered provider; None: litellm is used.
        at_once: the largest number of calls in flight; None: the run's.
        file: the model's file if the run serves it.
        asked_as: litellm's name of a model that the run serves.
    """

    model: str
    api_base: str | None = field(repr=False)
    provider: str = field(repr=False)
    reference: Mapping[str, Any] | None = field(default=None, repr=False)
    at_once: int | None = None
    file: str | None = None
    asked_as: str | None = None

    def values(self) -> tuple[Any, ...]:
        """Return the values of all fields, in order."""
        return tuple(vars(self).values())


@dataclass(frozen=True)
class EngineConfig:
    """The configuration of a run's engine.

    Without `store`, answers are kept for this run only. `eager` starts the callers at once, so
    that their imports are done before the first call. Otherwise they start with the first call,
    which may never happen if answers are stored.
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
    """The number of caller processes; None: by need."""
    transport: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The run's settings, for the makers of registered providers."""
    sandbox: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `Sandbox`, which runs programs."""
    broker: Literal["local", "dask"] = "local"
    scheduler: str | None = None
    """The address of Dask's scheduler."""
    score_there: bool = False
    """Run programs and score answers on Dask's workers."""

    @classmethod
    def of(cls, settings: Settings, lanes: Sequence[LaneConfig], **other: Any) -> EngineConfig:
        """Return the configuration for a run's settings; `other` are further fields."""
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

    `started` is a broker that was started before the run was known.
    """

    def __init__(self, config: EngineConfig, started: BrokerProcess | None = None) -> None:
        self.config = config
        sweep()
        self._temporary = TemporaryFolder() if config.store is None else None
        store = config.store if self._temporary is None else self._temporary.path
        self._token = secrets.token_hex(16)
        self._port: int | None = None
        self._failure: str | None = None
        self._executor: LocalExecutor | None = None
        self._broker = started or BrokerProcess(BROKER.format(config.broker))
        self._process = self._broker.process
        broker_config = {
            **vars(config),
            "token": self._token,
            "lanes": [vars(lane) for lane in config.lanes],
            "callers": self._callers() * bool(config.lanes),
            "callers_given": config.callers,
            "needs_litellm": self._needs_litellm(),
            "store": str(store),
        }
        self._broker.tell(pack(broker_config))

    def _callers(self) -> int:
        config = self.config
        if config.callers is not None:
            return config.callers
        # One caller is enough for all connections of a machine without litellm.
        is_direct = not self._needs_litellm() and all(
            lane.reference is None for lane in config.lanes
        )
        if config.broker == "local" and is_direct:
            return 1
        return caller_count(config.connections)

    def _needs_litellm(self) -> bool:
        lanes = [lane for lane in self.config.lanes if lane.reference is None]
        return needs_litellm([lane.asked_as or lane.model for lane in lanes], self.config.transport)

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
