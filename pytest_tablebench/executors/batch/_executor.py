"""The executor of cases whose requests are submitted as batches."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import IO, Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors._protocol import Executor, Outcome, Work
from pytest_tablebench.executors.batch._ledger import Ledger, pending
from pytest_tablebench.models import Request
from pytest_tablebench.models.base import as_openai
from pytest_tablebench.store import describe


class BatchExecutor:
    """Collects the requests of models with a batch service; passes other work on.

    It makes no call. At the end of the session the process that keeps the run submits the
    collected requests (`Batches`).

    Arguments:
        models: those with a batch service.
        retries: times that a request with a temporary failure is submitted again.
        max_cost: US dollars that all batches of the ledger may cost; None: no limit.
    """

    def __init__(
        self,
        others: Executor,
        ledger: Ledger,
        models: Collection[str],
        retries: int,
        max_cost: float | None = None,
    ) -> None:
        self._others = others
        self._ledger = ledger
        self._models = frozenset(models)
        self._standing = ledger.standing(retries, max_cost)
        self._ready: list[tuple[str, Outcome]] = []
        self._file: IO[str] | None = None

    @property
    def lost(self) -> ModelError | None:
        return None if self._ready else self._others.lost

    @property
    def waits(self) -> Sequence[Mapping[str, Any]]:
        return self._others.waits

    def submit(self, work: Work, lane: str) -> None:
        """Collect a request for a batch; pass other work on."""
        key, request = work.key, work.task
        if not isinstance(request, Request) or lane not in self._models:
            self._others.submit(work, lane)
            return
        failure = self._standing.failed.get(key)
        if failure is None and key not in self._standing.under_way:
            self._collect(key, request, lane)
        self._ready.append((key, failure or pending(lane)))

    def _collect(self, key: str, request: Request, lane: str) -> None:
        if self._file is None:
            self._file = self._ledger.spool().open("a", encoding="ascii")
        fields = {
            "key": key,
            "model": lane,
            "attempt": self._standing.attempts.get(key, 0) + 1,
            "messages": as_openai(request.messages),
            "params": dict(request.params),
            "facts": describe(request),
        }
        self._file.write(json.dumps(fields, default=str) + "\n")
        self._file.flush()

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        """Return the outcomes of collected requests, else outcomes of the other executor."""
        if self._ready:
            ready, self._ready = self._ready, []
            return ready
        return self._others.outcomes(wait=wait)

    def totals(self) -> Mapping[str, Any] | None:
        return self._others.totals()

    def stop(self, why: str) -> None:
        self._others.stop(why)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._others.close()
