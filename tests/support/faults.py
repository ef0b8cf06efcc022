"""Faults chosen by the prompt, held answers, and the state that a killed run leaves."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.results import Record
from tests.support.openai_server import (
    Behaviour,
    OpenAIServer,
    completed,
    drip,
    drop,
    drop_midway,
    error,
    hang,
    nonsense,
    text,
)
from tests.support.runs import Process, Script, right, start_pytest

TRANSIENT: Mapping[str, Callable[[], Behaviour]] = {
    "429": lambda: error(429),
    "429 with Retry-After": lambda: error(429, headers={"Retry-After": "1"}),
    "500": lambda: error(500),
    "503": lambda: error(503, headers={"Retry-After": "0"}),
    "disconnect before a reply": drop,
    "disconnect in a reply": drop_midway,
    "hang": hang,
    "drip": drip,
    "invalid JSON": nonsense,
    "error in a choice": lambda: completed({"content": ""}, usage=None, error={"code": 503}),
    "aborted": lambda: completed({"content": "2"}, usage=None, finish_reason="abort"),
    "wrong content type": lambda: nonsense(b"<html>busy</html>", content_type="text/html"),
}
"""Faults that a retry may overcome."""


class Faulty:
    """Answers correctly, except for a share of the calls, which the prompt determines.

    Arguments:
        count: number of examples.
        share: the share of failing calls.
        kinds: the kinds of fault, names in `TRANSIENT`; any call may meet any kind.
    """

    def __init__(
        self,
        count: int,
        share: float,
        kinds: tuple[str, ...] = tuple(TRANSIENT),
    ) -> None:
        self.script = Script(count)
        self.happened: Counter[str] = Counter()
        self._share, self._kinds = share, kinds
        self._attempts: Counter[int] = Counter()

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        behaviour, number = self.script(body), self.script.number(body)
        if number is None:
            return behaviour
        self._attempts[number] += 1
        seed = f"{body['messages'][-1]['content']} {self._attempts[number]}"
        drawn = hashlib.sha256(seed.encode()).digest()
        kind = self._kinds[drawn[0] % len(self._kinds)]
        if int.from_bytes(drawn[1:5]) >= self._share * 2**32:
            return behaviour
        self.happened[kind] += 1
        return TRANSIENT[kind]()


class Patient(threading.Event):
    """An event that waits until the test sets it, longer than the server's time limit."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(180)


class Held:
    """Answers the first cases correctly; holds all others until opened."""

    def __init__(self, count: int, through: int) -> None:
        self.script = Script(count)
        self.opened = Patient()
        self.through: set[int] = set()
        self.held: list[int] = []
        self._let = through

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        behaviour, number = self.script(body), self.script.number(body)
        if number is None or number in self.through or self.opened.is_set():
            return behaviour
        if len(self.through) < self._let:
            self.through.add(number)
            return behaviour
        self.held.append(number)
        return text(right(self.script.examples[number]), after=self.opened)

    @property
    def answered(self) -> set[str]:
        """The ids of the answered examples."""
        return {self.script.examples[number].id for number in self.through}

    @property
    def asked(self) -> dict[int, int]:
        """The number of requests for each case."""
        return self.script.asked


@contextmanager
def held_run(
    folder: Path,
    *arguments: str,
    held: Held,
    connections: int,
    **options: Any,
) -> Iterator[tuple[Process, OpenAIServer]]:
    """Start a run; yield when the answers are stored and the other calls wait."""
    count = len(held.script.examples)
    waiting = min(connections, count - held._let)
    with (
        OpenAIServer(held) as server,
        start_pytest(
            folder,
            f"--bench-connections={connections}",
            *arguments,
            api_base=server.url,
            count=count,
            **options,
        ) as process,
    ):
        try:
            process.until(
                lambda: len(held.held) == waiting and stored(folder / "answers") == held.answered,
                f"{held._let} answers stored and {waiting} calls held",
            )
            yield process, server
        finally:
            held.opened.set()


def stored(store: Path) -> set[str]:
    """Return the ids of the examples with an answer in a store."""
    ids = set()
    for path in sorted((store / "segments").glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            data = json.loads(line)
            if "reply" in data:
                ids.add(data["request"]["case_id"].split("/")[1])
    return ids


def _tree(process: Process) -> list[Any]:
    psutil = pytest.importorskip("psutil")
    return list(psutil.Process(process.popen.pid).children(recursive=True))


def engine_processes(process: Process) -> list[Any]:
    """Return the processes that make a run's model calls (psutil), while pytest runs."""
    return [
        child for child in _tree(process) if "tablebench.executors.local" in str(child.cmdline())
    ]


def kill(process: Process, victim: str) -> list[Any]:
    """Kill one process of a run, or all, without clean-up; return those that still run.

    `victim` is worker (one of xdist's), pytest (alone, or the controller), broker, caller or all.
    """
    tree = _tree(process)
    named = {child.pid: " ".join(child.cmdline()) for child in tree}
    chosen = {
        "worker": [p for p in tree if "-c" in p.cmdline()][:1],
        "broker": [p for p in tree if "local.broker" in named[p.pid]],
        "caller": [p for p in tree if "local.caller" in named[p.pid]],
        "pytest": [],
        "all": tree,
    }[victim]
    assert chosen or victim == "pytest", f"no {victim} among {named}"
    if victim in {"pytest", "all"}:
        os.kill(process.popen.pid, signal.SIGKILL)
        process.popen.wait(30)
    for target in chosen:
        target.kill()
    return [p for p in tree if p not in chosen]


def comparable(records: Mapping[str, Record]) -> dict[str, Any]:
    """Return records without the fields that may differ between runs over the same answers."""
    aside = ("latency_s", "cost_usd", "from_store")
    return {
        case_id: json.dumps(
            {name: value for name, value in asdict(record).items() if name not in aside},
            sort_keys=True,
        )
        for case_id, record in records.items()
    }
