"""The executor of providers that stay in the pytest process.

It makes one call at a time, when a case waits, with the engine's retries and limits. All other work
goes to another executor.
"""

from __future__ import annotations

import functools
import sched
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ModelError, StoreError
from pytest_tablebench.executors._dispatch import Dispatcher, Lane
from pytest_tablebench.executors._protocol import Executor, Job, Outcome, Work
from pytest_tablebench.executors._wire import read_error
from pytest_tablebench.models import Provider, Reply, Request, limited
from pytest_tablebench.util.notices import notice

if TYPE_CHECKING:
    from pytest_tablebench.store import Store


SLICE_S = 0.5
"""Longest single wait: Windows delivers Ctrl-C only between two waits."""


class InProcessExecutor:
    """Calls the providers of this process, and passes all other work on.

    Arguments:
        provider: returns the provider of a model, None if its calls are made elsewhere.
        others: makes the executor for all other work when it is first needed.
        store: returns the store of a model's answers, None if they are not looked up.
        keeps: whether answers are written to that store.
        retries: the largest number of further attempts.
        patience: seconds without any answer after which a provider is given up.
        max_reply: bytes of UTF-8 that an answer keeps.
        keys: secrets that answers must not contain; None: the keys of the environment.
        clock: returns seconds, from any starting point.
        sleep: waits for so many seconds.
    """

    def __init__(
        self,
        provider: Callable[[str], Provider | None],
        others: Callable[[], Executor],
        *,
        store: Callable[[str], Store | None],
        keeps: bool,
        retries: int,
        patience: float,
        max_reply: int,
        keys: frozenset[str] | None = None,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._provider = functools.cache(provider)
        self._make_others = others
        self._others: Executor | None = None
        self._store = functools.cache(store)
        self._keeps = keeps
        self._retries, self._patience = retries, patience
        self._max_reply, self._keys = max_reply, keys
        self._clock, self._sleep = clock, sleep
        self._dispatchers: dict[str, Dispatcher] = {}
        """By model, because each has its own limits."""
        self._requests: dict[str, Request] = {}
        """Requests without an outcome, by key."""
        self._started: list[Job] = []
        """Calls that the dispatchers have started but `outcomes` has not made yet."""
        self._timers = sched.scheduler(clock, sleep)
        self._results: dict[str, Reply | Exception] = {}
        """Replies, and provider exceptions other than `ModelError`, by key of the request."""
        self._outcomes: list[tuple[str, Outcome]] = []

    @property
    def lost(self) -> ModelError | None:
        """The error of the other executor, once this process has no work left."""
        if self._others is None or self._outcomes or self._requests:
            return None
        return self._others.lost

    @property
    def waits(self) -> Sequence[Mapping[str, Any]]:
        """Providers of the other executor that answer nothing at the moment."""
        return () if self._others is None else self._others.waits

    def submit(self, work: Work, lane: str) -> None:
        """Queue a request for a provider of this process; pass all other work on."""
        request = work.task
        if not isinstance(request, Request) or self._provider(lane) is None:
            if self._others is None:
                self._others = self._make_others()
            self._others.submit(work, lane)
            return
        self._requests[work.key] = request
        self._dispatcher(lane).submit(Job(work.key, 0, b"", urgent=request.step > 0))

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        """Return the outcomes since the last call; with `wait`, make a call of this process."""
        self._timers.run(blocking=False)
        if wait and self._started and not self._outcomes:
            self._call(self._started.pop(0))
        outcomes, self._outcomes = self._outcomes, []
        may_wait = wait and not outcomes and not self._started
        if self._others is not None:
            outcomes += self._others.outcomes(wait=may_wait)
        elif may_wait and (timers := self._timers.queue):
            self._sleep(max(0.0, min(timers[0].time - self._clock(), SLICE_S)))
        return outcomes

    def totals(self) -> Mapping[str, Any] | None:
        """Return the totals of the other executor; calls in this process cost nothing."""
        return None if self._others is None else self._others.totals()

    def stop(self, why: str) -> None:
        """Start no further call, in this process or elsewhere."""
        for dispatcher in self._dispatchers.values():
            dispatcher.stop(why)
        if self._others is not None:
            self._others.stop(why)

    def close(self) -> None:
        """Close the other executor."""
        if self._others is not None:
            self._others.close()

    def _dispatcher(self, model: str) -> Dispatcher:
        if model not in self._dispatchers:
            self._dispatchers[model] = Dispatcher(
                [Lane(model, None, model)],
                1,
                self._retries,
                None,
                self._patience,
                self._clock,
                lambda seconds, function: self._timers.enter(seconds, 0, function),
                self._started.append,
                self._deliver,
                self._look,
            )
        return self._dispatchers[model]

    def _call(self, job: Job) -> None:
        request = self._requests[job.key]
        dispatcher, provider = self._dispatchers[request.model], self._provider(request.model)
        assert provider is not None  # noqa: S101 - checked by `submit`
        try:
            reply = limited(provider.complete(request), self._max_reply, self._keys)
        except ModelError as error:
            dispatcher.fail(job, error)
        except BaseException as error:  # the user's code: the test shows its traceback
            if isinstance(error, Exception):
                self._results[job.key] = error
            dispatcher.fail(job, ModelError(type(error).__name__, reason="error"))
            if not isinstance(error, Exception):
                raise  # Ctrl-C, or a skip or a time limit of pytest: the next call can start
        else:
            self._keep(dispatcher, request, reply)
            self._results[job.key] = reply
            dispatcher.succeed(job, vars(reply))

    def _keep(self, dispatcher: Dispatcher, request: Request, reply: Reply) -> None:
        store = self._store(request.model) if self._keeps else None
        if store is None:
            return
        try:
            store.put(request, reply)
        except StoreError as error:
            # This answer counts, but calls whose answers cannot be stored would be paid again.
            if error.whole_run:
                dispatcher.stop(f"stopped, because answers cannot be kept: {error}")
            else:
                notice(f"{request.case_id}: {error}")

    def _look(self, job: Job) -> Mapping[str, Any] | None:
        """Return the answer that another process has stored since the request was submitted."""
        store = self._store(self._requests[job.key].model)
        reply = None if store is None else store.look_again(job.key)
        if reply is None:
            return None
        self._results[job.key] = reply = limited(reply, self._max_reply, self._keys)
        return vars(reply)

    def _deliver(self, job: Job, outcome: dict[str, Any]) -> None:
        del self._requests[job.key]
        result = self._results.pop(job.key, None)
        self._outcomes.append((job.key, result or read_error(outcome["error"])))
