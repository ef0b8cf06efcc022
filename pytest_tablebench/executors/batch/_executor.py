"""The executor of cases whose requests are handed in as batches."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import IO, Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors.batch._ledger import Ledger, pending
from pytest_tablebench.executors.protocol import Executor, Outcome, Work
from pytest_tablebench.models import Request
from pytest_tablebench.models.base import as_openai
from pytest_tablebench.store import describe


class BatchExecutor:
    """Collects the requests of models with a batch service; all else goes to another executor.

    Nothing is asked here: at the end of the session the process that keeps the run hands in what
    was collected (`Batches`).

    Arguments:
        others: runs programs, and asks models without a batch service.
        ledger: what was handed in before.
        models: those with a batch service.
        retries: times that what failed in passing is handed in again.
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
        """Take note of a request that is to be handed in; have all else done."""
        key, request = work.key, work.task
        if not isinstance(request, Request) or lane not in self._models:
            self._others.submit(work, lane)
            return
        failure = self._standing.failed.get(key)
        if failure is None and key not in self._standing.under_way:
            self._want(key, request, lane)
        self._ready.append((key, failure or pending(lane)))

    def _want(self, key: str, request: Request, lane: str) -> None:
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
        """Return what is known at once, else what comes from the other executor."""
        if self._ready:
            ready, self._ready = self._ready, []
            return ready
        return self._others.outcomes(wait=wait)

    def totals(self) -> Mapping[str, Any] | None:
        return self._others.totals()

    def stop(self, why: str) -> None:
        self._others.stop(why)

    def close(self) -> None:
        """End; what was collected is handed in by the process that keeps the run."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._others.close()
