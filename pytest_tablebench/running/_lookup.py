"""Turn steps of conversations into work, look outcomes up in the store, and send other work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors import Executor, Outcome, Work
from pytest_tablebench.metrics.steps import Ask, Execution, Grade, Step
from pytest_tablebench.models import MAX_REPLY, Reply, Request, limited
from pytest_tablebench.results import MediaFolder
from pytest_tablebench.running._limits import Use, limit_of, reply_within_limits
from pytest_tablebench.running.requests import Route
from pytest_tablebench.serializers.content import Image, images_of
from pytest_tablebench.store import Store

PROGRAMS = "programs"
"""The lane of programs, and of answers that are scored in other processes."""


@dataclass
class PictureKeeper:
    """Writes pictures into the run folders.

    `folder` returns the folder for the pictures of a model's run; None: keep no pictures.
    """

    folder: Callable[[str], MediaFolder] | None = None

    def path(self, model: str) -> Path | None:
        """Return the folder of the pictures of a model's run, None without one."""
        return None if self.folder is None else self.folder(model).path

    def keep(self, model: str, images: Iterable[Image]) -> None:
        """Write new pictures. Raises `ModelError` if that fails."""
        if self.folder is None:
            return
        for image in images:
            try:
                self.folder(model).put(image)
            except OSError as error:
                raise ModelError(f"a picture cannot be kept: {error}", reason="error") from None


class Pending(Protocol):
    """A conversation that waits for the outcome of a step; see `CaseRun`."""

    key: str | None
    reply_limit: int | None
    replaced: tuple[tuple[Request, Reply], ...]

    @property
    def model(self) -> str:
        """The model under test."""

    @property
    def arrived(self) -> Mapping[str, Reply]:
        """Replies by key that the store may lack."""


class RequestMaker(Protocol):
    """Makes the requests of conversations."""

    def request(self, run: Any, step: Ask) -> tuple[Request, Route]:
        """Return the request of a step and its route. Raises `ModelError`."""

    def model(self, run: Any, step: Ask) -> str:
        """Return the model that a step calls."""


Driver = TypeVar("Driver", bound=RequestMaker)
Waiter = TypeVar("Waiter")


class Exchange(Generic[Waiter]):
    """Sends work to an executor, equal work once, for the conversations that wait for it."""

    def __init__(self, executor: Callable[[], Executor]) -> None:
        self.executor = executor
        self._waiting: dict[str, tuple[Work, list[Waiter]]] = {}

    def __bool__(self) -> bool:
        """Whether a conversation waits."""
        return bool(self._waiting)

    def submit(self, waiter: Waiter, work: Work, lane: str) -> None:
        """Send work that was not sent yet; `waiter` waits for its outcome."""
        if work.key in self._waiting:
            self._waiting[work.key][1].append(waiter)
            return
        self.executor().submit(work, lane)
        self._waiting[work.key] = work, [waiter]

    def outcomes(self, *, wait: bool) -> Iterator[tuple[Work, list[Waiter], Outcome]]:
        """Yield work with the conversations that waited for it, and its outcome."""
        executor = self.executor()
        for key, outcome in executor.outcomes(wait=wait):
            if key in self._waiting:
                yield *self._waiting.pop(key), outcome
        if executor.lost is not None:
            waiting, self._waiting = self._waiting, {}
            for work, waiters in waiting.values():
                yield work, waiters, executor.lost


@dataclass(kw_only=True)
class StepLookup(Generic[Driver]):
    """Turns steps into work, and looks their outcomes up.

    Arguments:
        driver: makes the request of a step.
        store: returns the answer store, None without one.
        max_reply: bytes of UTF-8 that an answer keeps.
        replay: whether only stored answers count.
        keys: secrets that answers must not contain; None: the keys of the environment.
    """

    driver: Driver
    store: Callable[[], Store | None]
    max_reply: int = MAX_REPLY
    replay: bool = False
    keys: frozenset[str] | None = None
    pictures: PictureKeeper = field(default_factory=PictureKeeper)

    def look(
        self, run: Pending, step: Step | Grade, failed_keys: Collection[str]
    ) -> tuple[Work, str, Reply | Execution | None]:
        """Return the work of a step, its lane, and its outcome if the store has it.

        Sets the key, the token limit and the replaced replies of the pending case. Work whose key
        is in `failed_keys` is tried once more. Raises `ModelError`.
        """
        if isinstance(step, Ask):
            return self._request(run, step, failed_keys)
        run.key = step.key()
        if isinstance(step, Grade):
            return Work(run.key, step), PROGRAMS, None
        work = Work(run.key, step, again=run.key in failed_keys)
        return work, PROGRAMS, self._execution(run.key)

    def _request(
        self, run: Pending, step: Ask, failed_keys: Collection[str]
    ) -> tuple[Work, str, Reply | None]:
        request, route = self.driver.request(run, step)
        for message in request.messages:
            self.pictures.keep(run.model, images_of(message.content))

        def find(variant: Request, use: Use) -> Reply | None:
            return run.arrived.get(variant.key()) or self._reply(variant, route, use)

        settlement = reply_within_limits(request, route.limits, find, asks=not self.replay)
        run.key = settlement.request.key()
        run.reply_limit = limit_of(settlement.request.params)
        run.replaced = settlement.replaced
        again, media = run.key in failed_keys, self.pictures.path(run.model)
        work = Work(run.key, settlement.request, again=again, media=media)
        return work, self.driver.model(run, step), settlement.reply

    def _reply(self, request: Request, route: Route, use: Use) -> Reply | None:
        """Return a stored reply. Raises `ModelError` in a replay if the first one is missing."""
        store = self.store() if route.stored else None
        if store is None:
            return None
        reply = store.get(request.key())
        if reply is not None:
            return limited(reply, self.max_reply, self.keys)
        if self.replay and use == "first":
            raise ModelError(
                f"not in the answer store: {store.explain(request)}", reason="not_stored"
            )
        return None

    def _execution(self, key: str) -> Execution | None:
        """Return the stored outcome of a program. Raises `ModelError` in a replay without one."""
        store = self.store()
        execution = None if store is None else store.get_execution(key)
        if execution is None and self.replay:
            raise ModelError(
                "not in the answer store: the outcome of a program that the answer needs",
                reason="not_stored",
            )
        return execution
