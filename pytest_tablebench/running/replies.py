"""Replies that a process has at once: from the store, or from a provider that is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_tablebench.errors import ModelError, StoreError
from pytest_tablebench.metrics.steps import Execution
from pytest_tablebench.models import Reply, Request, ask, limited
from pytest_tablebench.running.giving_up import GivingUp
from pytest_tablebench.running.limits import settled
from pytest_tablebench.util.names import printable
from pytest_tablebench.util.notices import notice

if TYPE_CHECKING:
    from pytest_tablebench.running.limits import Settled, Use
    from pytest_tablebench.running.pending import Route
    from pytest_tablebench.store import Store


@dataclass(kw_only=True)
class Replies:
    """What can be had without the executor.

    Arguments:
        store: answers kept; None without any.
        giving_up: which models are asked no more.
        retries: further attempts at calls made in this process.
        max_reply: bytes of UTF-8 that an answer keeps.
        keep: whether answers got in this process go into the store.
        replay: whether what is not in the store has no answer.
    """

    store: Callable[[], Store | None]
    giving_up: GivingUp
    retries: int
    max_reply: int
    keep: bool
    replay: bool

    def settled(self, request: Request, route: Route, arrived: Mapping[str, Reply]) -> Settled:
        """Return how far the replies to a request go, under each limit that it may have.

        `arrived` are replies of this run, by key. Raises `ModelError`.
        """

        def find(variant: Request, use: Use) -> Reply | None:
            key = variant.key()
            return arrived.get(key) or self.at_once(key, variant, route, use=use)

        return settled(request, route.limits, find, asks=not self.replay)

    def at_once(
        self, key: str, request: Request, route: Route, *, use: Use = "first"
    ) -> Reply | None:
        """Return a reply, None where only the executor can give it. Raises `ModelError`.

        `use` is that of the request's token limit: what is `stored` at most is never asked, and a
        replay needs the reply to the first call alone.
        """
        store = self.store() if route.stored else None
        if store is not None:
            found = store.get(key)
            if found is not None:
                return limited(found, self.max_reply)
            if self.replay and use == "first":
                raise ModelError(
                    f"not in the answer store: {store.explain(request)}", reason="not_stored"
                )
        is_further = use != "first" and self.replay
        if route.provider is None or use == "stored" or is_further:
            return None
        if store is not None and (found := store.look_again(key)) is not None:
            # Another process of this run, or another run, was faster.
            return limited(found, self.max_reply)
        if (refusal := self.giving_up.refusal(route.model)) is not None:
            raise refusal
        reply = ask(route.provider, request, retries=self.retries, max_reply=self.max_reply)
        if store is not None and self.keep:
            self._put(store, request, reply)
        return reply

    def ran(self, key: str) -> Execution | None:
        """Return what came of a program earlier; None where it is to be run.

        Raises `ModelError` in a replay, which runs nothing.
        """
        store = self.store()
        found = None if store is None else store.get_execution(key)
        if found is None and self.replay:
            raise ModelError(
                "not in the answer store: what came of a program that the answer needs",
                reason="not_stored",
            )
        return found

    def _put(self, store: Store, request: Request, reply: Reply) -> None:
        try:
            store.put(request, reply)
        except StoreError as error:
            # This one is paid for and counts; the next one would be paid for again.
            if error.whole_run:
                self.giving_up.stopped = f"stopped, because answers cannot be kept: {error}"
            else:
                notice(f"{printable(request.case_id)}: {error}")
