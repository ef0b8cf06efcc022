"""The callers: their number, and their equal shares of the calls."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.executors.local import Engine, Lane
from pytest_tablebench.executors.local._callers import caller_count
from pytest_tablebench.executors.local.providers import reference_of
from pytest_tablebench.models import Reply
from tests.support.broker_site import Asker, come, request
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.plain_model import Plain


@pytest.mark.parametrize(
    ("connections", "cores", "wanted"),
    [(1, 8, 1), (64, 8, 1), (65, 8, 2), (1000, 8, 8), (1000, 1, 1)],
)
def test_one_for_64_connections_up_to_the_processors(
    monkeypatch: pytest.MonkeyPatch, connections: int, cores: int, wanted: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert caller_count(connections) == wanted


CALLERS, TOGETHER = 4, 32


class Counted:
    """Holds marked calls until `TOGETHER` are in flight, and counts them by process."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(TOGETHER)
        self.by_process: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        if "held" not in body["messages"][0]["content"]:
            return text(body["user"])
        self.by_process[body["user"]] += 1
        return text(body["user"], after=self.barrier)


def test_calls_are_shared_equally_among_callers(tmp_path: Path) -> None:
    counted = Counted()
    with OpenAIServer(counted) as server:
        settings = Settings(
            models=("plain/m",),
            api_base=server.url,
            connections=TOGETHER,
            callers=CALLERS,
            store=tmp_path / "answers",
        )
        lane = Lane("plain/m", None, "plain", vars(reference_of(Plain)))
        engine = Engine(settings, [lane])
        client = Asker(engine.address, "runner", ["plain/m"])
        try:
            for turn in range(100_000):  # until every caller is ready
                requests = [request(f"{turn} {n}") for n in range(CALLERS)]
                for pending in requests:
                    client.ask(pending.key(), pending)
                outcomes = come(client, CALLERS).values()
                if len({reply.text for reply in outcomes if isinstance(reply, Reply)}) == CALLERS:
                    break
            for n in range(3 * TOGETHER):
                held = request(f"held {n}")
                client.ask(held.key(), held)
            come(client, 3 * TOGETHER)
        finally:
            client.close()
            engine.finish()
            engine.reap()
    # Three times all connections were in use, each time shared equally.
    assert sorted(counted.by_process.values()) == [3 * TOGETHER // CALLERS] * CALLERS
    assert server.max_in_flight == TOGETHER
