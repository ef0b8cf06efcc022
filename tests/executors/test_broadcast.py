"""Messages that the broker broadcasts, under a simulated clock."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_tablebench.executors.local._broadcast import Broadcast
from pytest_tablebench.executors.local._connection import Connection
from tests.support.dispatch_simulation import LIMITED, DispatchSimulation

pytestmark = pytest.mark.usefixtures("seeded")


class Client(Connection):
    """A client that keeps what it is sent."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.sent: list[dict[str, Any]] = []

    def send(self, head: Mapping[str, Any], body: bytes | None = None) -> None:
        self.sent.append(dict(head))


def test_waits_are_broadcast_once_to_every_client() -> None:
    simulation = DispatchSimulation(connections=1, retries=1000, patience=60.0)

    class Loop:
        def time(self) -> float:
            return simulation.now

    loop: Any = Loop()
    broadcast = Broadcast(simulation.dispatcher, loop)
    early, late = Client("runner"), Client("keeper")
    broadcast.joined(early)
    simulation.submit("a")
    simulation.fail(LIMITED, retry_after=30.0)
    broadcast.announce_waits()
    assert early.sent == []  # the wait is too short
    simulation.now += 10
    for _ in range(2):
        broadcast.announce_waits()
    [message] = early.sent
    [wait] = message["waits"]
    assert (wait["models"], wait["reason"]) == (["m0"], "rate_limit")
    assert wait["since"] == pytest.approx(time.time() - 10, abs=5)  # the time of day
    assert wait["until"] - wait["since"] == pytest.approx(60)
    broadcast.joined(late)  # a new client receives the waits at once
    assert late.sent == [message]
    while not simulation.under_way:
        assert simulation.pass_time()
    simulation.succeed()
    broadcast.left(early)
    broadcast.announce_waits()
    assert late.sent == [message, {"waits": []}]
    assert early.sent == [message]
