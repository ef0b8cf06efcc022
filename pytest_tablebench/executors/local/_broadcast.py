"""Messages that the broker sends without a request: totals, silent providers and problems."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.executors._dispatch import Dispatcher
from pytest_tablebench.executors._wire import PROBLEMS, to_json
from pytest_tablebench.executors.local._connection import Connection

TOTALS_EVERY_S = 0.2


class Broadcast:
    """Sends messages to the processes that run items and to the process that keeps the run."""

    def __init__(self, dispatcher: Dispatcher, loop: asyncio.AbstractEventLoop) -> None:
        self._dispatcher = dispatcher
        self._loop = loop
        self._clients: set[Connection] = set()
        self._totals_due = False
        self._waits: list[dict[str, Any]] = []
        self._sent_waits: list[dict[str, Any]] = []
        self._not_kept: list[str] = []

    def joined(self, connection: Connection) -> None:
        """Add a client, and send it the current waits at once."""
        self._clients.add(connection)
        if self._sent_waits:
            connection.send({"waits": self._sent_waits})

    def left(self, connection: Connection) -> None:
        self._clients.discard(connection)

    def note(self, name: str, texts: Sequence[str]) -> None:
        """Send a named note to the process that keeps the run."""
        self._send_keepers({"note": name}, to_json(texts))

    def _send_keepers(self, head: Mapping[str, Any], body: bytes | None = None) -> None:
        for client in self._clients:
            if client.role == "keeper":
                client.send(head, body)

    def not_kept(self, why: str) -> None:
        self._not_kept.append(why)
        self.note(f"{PROBLEMS} answers", self._not_kept)

    def totals(self) -> dict[str, Any]:
        dispatcher = self._dispatcher
        return {
            "models": {
                lane.model: dict(vars(total))
                for lane, total in zip(dispatcher.lanes, dispatcher.totals, strict=True)
            },
            "in_flight": dispatcher.in_flight,
            "most_in_flight": dispatcher.most_in_flight,
            "stopped": str(dispatcher.stopped) if dispatcher.stopped else None,
        }

    def announce_totals(self) -> None:
        """Send the totals soon, once for all changes until then."""
        if not self._totals_due:
            self._totals_due = True
            self._loop.call_later(TOTALS_EVERY_S, self._send_totals)

    def _send_totals(self) -> None:
        self._totals_due = False
        self._send_keepers({"totals": self.totals()})

    def announce_waits(self) -> None:
        """Send the silent providers to all clients if they have changed, with clock times."""
        waits = self._dispatcher.waits()
        if waits == self._waits:
            return
        self._waits = waits
        behind = time.time() - self._loop.time()
        self._sent_waits = [
            {**wait, "since": wait["since"] + behind, "until": wait["until"] + behind}
            for wait in waits
        ]
        for client in self._clients:
            client.send({"waits": self._sent_waits})
