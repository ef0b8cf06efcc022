"""Providers in the process of the tests: retries, stops, the store, other models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.errors import ModelError, StoreError
from pytest_tablebench.executors import Outcome, Work
from pytest_tablebench.executors.in_process import InProcessExecutor
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.models._scripted import Entry, ScriptedModel
from pytest_tablebench.store import Store

REQUEST = Request("m", (Message("user", "hi"),), case_id="starter/1")


def busy(retry_after: float | None = None) -> ModelError:
    return ModelError("busy", reason="rate_limit", retryable=True, retry_after=retry_after)


class Others:
    """An engine that answers at once."""

    lost: ModelError | None = None
    waits: Sequence[Any] = ()

    def __init__(self) -> None:
        self.submitted: list[tuple[str, str]] = []
        self.stopped: list[str] = []
        self.is_closed = False

    def submit(self, work: Work, lane: str) -> None:
        self.submitted.append((work.key, lane))

    def outcomes(self, *, wait: bool) -> list[tuple[str, Outcome]]:
        return [(key, Reply("engine")) for key, _ in self.submitted]

    def totals(self) -> dict[str, Any]:
        return {"models": {}}

    def stop(self, why: str) -> None:
        self.stopped.append(why)

    def close(self) -> None:
        self.is_closed = True


class Site:
    """An executor with a scripted model `m`, under a clock that only waiting advances."""

    def __init__(
        self,
        script: Sequence[Entry] | Any,
        *,
        retries: int = 5,
        patience: float = 1e6,
        store: Store | None = None,
    ) -> None:
        self.now = 1000.0
        self.calls: list[float] = []
        self.lookups: list[str] = []
        self.model: Any = ScriptedModel(list(script)) if isinstance(script, Sequence) else script
        self.others = Others()
        self.executor = InProcessExecutor(
            self._find,
            lambda: self.others,
            store=lambda _: store,
            keeps=store is not None,
            retries=retries,
            patience=patience,
            max_reply=1000,
            clock=lambda: self.now,
            sleep=self._sleep,
        )

    def _find(self, model: str) -> Site | None:
        self.lookups.append(model)
        return self if model == "m" else None

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def complete(self, request: Request) -> Reply:
        self.calls.append(self.now)
        reply: Reply = self.model.complete(request)
        return reply

    def ask(self, request: Request = REQUEST) -> Outcome:
        self.executor.submit(Work(request.key(), request), request.model)
        while not (outcomes := self.executor.outcomes(wait=True)):
            pass
        [(key, outcome)] = outcomes
        assert key == request.key()
        return outcome

    @property
    def waits(self) -> list[float]:
        return [later - call for call, later in zip(self.calls, self.calls[1:], strict=False)]


def question(number: int) -> Request:
    return replace(REQUEST, messages=(Message("user", f"question {number}"),))


def test_an_answer_is_returned_at_once() -> None:
    site = Site(["26", "27"])
    assert site.ask() == Reply("26", "stop")
    assert len(site.calls) == 1


def test_a_call_starts_only_when_a_case_waits() -> None:
    site = Site(["26"])
    site.executor.submit(Work("k", REQUEST), "m")
    assert site.executor.outcomes(wait=False) == []
    assert site.calls == []
    assert site.executor.outcomes(wait=True) == [("k", Reply("26", "stop"))]


def test_a_call_is_repeated_after_retry_after() -> None:
    site = Site([busy(7), busy(0.5), busy(60), "26"])
    assert site.ask() == Reply("26", "stop")
    assert site.waits == [7, 0.5, 60]
    assert site.model.requests == [REQUEST] * 4


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_there_is_no_answer_after_the_last_retry(retries: int) -> None:
    site = Site([busy(2)] * 10, retries=retries)
    error = site.ask()
    assert isinstance(error, ModelError)
    assert len(site.calls) == retries + 1
    assert str(error) == ("busy" if not retries else f"busy (after {retries + 1} attempts)")
    assert (error.reason, error.retryable, error.retry_after) == ("rate_limit", True, 2)


class Broken:
    """A provider whose own code fails."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def complete(self, request: Request) -> Reply:
        raise self.error


def test_an_exception_of_the_provider_is_the_outcome() -> None:
    error = ZeroDivisionError("by zero")
    site = Site(Broken(error))
    assert site.ask() is error
    assert len(site.calls) == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, pytest.skip.Exception])
def test_an_exception_that_ends_a_test_is_raised_and_the_next_call_starts(
    kind: type[BaseException],
) -> None:
    broken = Broken(kind("enough"))
    site = Site(broken)
    with pytest.raises(kind):
        site.ask()
    site.model = ScriptedModel(["26"])
    site.executor.submit(Work("next", question(1)), "m")
    outcomes: dict[str, Outcome] = {}
    while "next" not in outcomes:
        assert len(site.calls) <= 2
        outcomes.update(site.executor.outcomes(wait=True))
    assert outcomes["next"] == Reply("26", "stop")


def test_a_provider_is_looked_up_once() -> None:
    site = Site(["26", "27"])
    assert [site.ask(question(number)) for number in (1, 2)] == [
        Reply("26", "stop"),
        Reply("27", "stop"),
    ]
    assert site.lookups == ["m"]


def test_a_reply_of_this_process_is_returned_unchanged() -> None:
    class Fixed:
        reply = Reply("26", "stop")

        def complete(self, request: Request) -> Reply:
            return self.reply

    assert Site(Fixed()).ask() is Fixed.reply


class Slow:
    """A provider that rejects each call after some seconds, or answers it for None."""

    def __init__(self, *seconds: float | None) -> None:
        self.seconds = list(seconds)
        self.site: Site

    def complete(self, request: Request) -> Reply:
        seconds = self.seconds.pop(0)
        if seconds is None:
            return Reply("ok")
        self.site.now += seconds
        raise ModelError("too many requests", reason="rate_limit", retryable=True)


def test_a_provider_silent_for_the_patience_is_stopped() -> None:
    # The silence starts with the first failure: 20 + 39 s, an answer, then 59 + 1 s.
    slow = Slow(40.0, 20.0, 39.0, None, 40.0, 59.0, 1.0, None)
    site = slow.site = Site(slow, retries=0, patience=60.0)
    outcomes = []
    for number in range(8):
        outcomes.append(site.ask(question(number)))
        site.now += 1000  # time between calls does not count as silence
    assert [isinstance(outcome, Reply) for outcome in outcomes] == [
        *[False] * 3,
        True,
        *[False] * 4,
    ]
    assert str(outcomes[-1]) == (
        "stopped, because no call was answered for 60 s (--bench-patience): too many requests"
    )
    assert len(site.calls) == 7


def test_answers_are_stored_and_answers_of_other_processes_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By default the store skips looks for nineteen times the duration of the last one.
    monkeypatch.setattr("pytest_tablebench.store._store.LOOKS_APART", 0)
    with Store.open(tmp_path) as store, Store.open(tmp_path) as other:
        site = Site(["26"], store=store)
        assert site.ask() == Reply("26", "stop")
        stored = store.get(REQUEST.key())
        assert stored is not None
        assert stored.text == "26"
        other.put(question(1), Reply("paid there"))
        outcome = site.ask(question(1))
        assert isinstance(outcome, Reply)
        assert (outcome.text, outcome.from_store) == ("paid there", True)
    assert len(site.calls) == 1


def test_an_answer_that_cannot_be_stored_counts_and_stops_the_calls() -> None:
    class Full:
        def look_again(self, key: str) -> None:
            return None

        def put(self, request: Request, reply: Reply) -> None:
            raise StoreError("the disk is full", whole_run=True)

    store: Any = Full()
    site = Site(["26", "27"], store=store)
    assert site.ask() == Reply("26", "stop")
    error = site.ask(question(1))
    assert isinstance(error, ModelError)
    assert (error.reason, str(error)) == (
        "stopped",
        "stopped, because answers cannot be kept: the disk is full",
    )


def test_other_models_go_to_the_engine_which_starts_on_demand() -> None:
    site = Site(["26"])
    assert site.executor.totals() is None
    assert site.ask() == Reply("26", "stop")
    other = replace(REQUEST, model="gpt-4o")
    assert site.ask(other) == Reply("engine")
    assert site.others.submitted == [(other.key(), "gpt-4o")]
    assert site.executor.totals() == {"models": {}}
    site.others.lost = ModelError("gone", reason="engine", whole_run=True)
    assert site.executor.lost is site.others.lost
    site.executor.stop("enough")
    site.executor.close()
    assert (site.others.stopped, site.others.is_closed) == (["enough"], True)
    site.others.submitted.clear()
    assert str(site.ask(question(1))) == "enough"
