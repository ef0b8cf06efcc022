"""The executor of this machine: what is submitted goes to the run's broker and its callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors.local._client import Client
from pytest_tablebench.executors.protocol import Outcome, Work
from pytest_tablebench.metrics.steps import Execute, Grade


class LocalExecutor:
    """Asks the models of a run, and runs its programs, through a connection to its broker.

    Arguments:
        client: the connection.
        lanes: the number of each model's lane in the broker, by its name.
    """

    def __init__(self, client: Client, lanes: Mapping[str, int]) -> None:
        self.client = client
        self._lanes = dict(lanes)

    @property
    def lost(self) -> ModelError | None:
        """Why nothing more will come, once the connection has ended."""
        return self.client.lost

    @property
    def waits(self) -> Sequence[Mapping[str, Any]]:
        """What the broker waits for, for the progress line."""
        return self.client.waits

    def submit(self, work: Work, lane: str) -> None:
        """Have a request answered, a program run, or an answer scored.

        Raises `ModelError` for an unknown lane.
        """
        if isinstance(work.task, Execute | Grade):
            self.client.run(work.key, work.task)
            return
        if lane not in self._lanes:
            raise ModelError(f"the run has no lane for {lane}", reason=ENGINE)
        self.client.ask(
            work.key, work.task, lane=self._lanes[lane], again=work.again, media=work.media
        )

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        """Return what has come of requests since the last time, by key."""
        return self.client.outcomes(wait=wait)

    def totals(self) -> Mapping[str, Any] | None:
        """Return what the broker last told of calls, tokens and cost."""
        return self.client.totals

    def stop(self, why: str) -> None:
        """Have no further call started, by anybody."""
        self.client.stop(why)

    def close(self) -> None:
        """Close the connection."""
        self.client.close()
