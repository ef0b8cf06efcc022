"""Clients against a broker in a separate process; the test acts as the caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors import Outcome, Work
from pytest_tablebench.executors._wire import (
    PROBLEMS,
    error_fields,
    pack,
    reply_fields,
)
from pytest_tablebench.executors.local import Address, broker
from pytest_tablebench.executors.local._callers import LocalCallers
from pytest_tablebench.executors.local._connection import Connection
from pytest_tablebench.models import Reply
from pytest_tablebench.store import Store
from tests.support.broker_site import TOKEN, Asker, Site, come, request


def failed(outcome: Outcome) -> ModelError:
    assert isinstance(outcome, ModelError)
    return outcome


def test_an_answer_is_returned_under_its_key(site: Site) -> None:
    client, caller = site.client(), site.caller()
    # Longer than any buffer in both directions: 6 and 12 bytes of JSON per character.
    sent = request("Wie alt?\n\t\u2028\x00 \U0001f600" + "\u8868" * 4_000_000, case_id="a/b")
    answer = "36\n\t\u2028" + "\U0001f600" * 2_000_000
    client.ask("k1", sent)
    assert caller.answer(answer) == sent
    assert come(client) == {"k1": Reply(answer, cost_usd=0.5)}


def test_a_request_of_two_clients_is_called_once(site: Site) -> None:
    first, second, caller = site.client(), site.client(), site.caller()
    first.ask("k1", request())
    assert caller.take()[0]["n"] == 1
    # The request is in flight. The answer to k2 shows that the broker has read the second one.
    second.ask("k1", request())
    first.ask("k2", request("another"))
    assert caller.take()[0]["n"] == 2
    caller.send({"n": 2, "reply": reply_fields(Reply("41"))})
    caller.send({"n": 1, "reply": reply_fields(Reply("36"))})
    assert come(first, 2) == {"k1": Reply("36"), "k2": Reply("41")}
    assert come(second) == {"k1": Reply("36")}


def test_a_request_answered_in_this_run_is_not_called_again(site: Site) -> None:
    client, caller = site.client(), site.caller()
    sent = request()
    client.ask(sent.key(), sent)
    head, _ = caller.take()
    with Store.open(site.store) as store:  # as a caller does, before it says so
        store.put(sent, Reply("36"))
    caller.send({"n": head["n"], "reply": reply_fields(Reply("36"))})
    assert come(client) == {sent.key(): Reply("36")}
    late = site.client()
    late.ask(sent.key(), sent)
    # Paid for in this run, so it does not count as a store hit.
    assert come(late) == {sent.key(): Reply("36")}


def test_an_answer_that_another_run_has_stored_is_used(
    make_site: Callable[..., Site],
) -> None:
    # The store skips looks for nineteen times the duration of the last one, so this repeats until
    # a look is made and returns the answer of the other run.
    site = make_site(connections=1)
    client, caller = site.client(), site.caller()
    calls = 0
    with Store.open(site.store) as store:  # another run over the same store
        for turn in range(10_000):
            first, second, third = (request(f"{turn} {number}") for number in (1, 2, 3))
            for sent in (first, second, third):
                client.ask(sent.key(), sent)
            head, _ = caller.take()
            store.put(second, Reply("two", cost_usd=0.5))
            caller.send({"n": head["n"], "reply": reply_fields(Reply("one", cost_usd=0.5))})
            calls += 2
            if caller.answer("called") == third:
                break
            assert caller.answer("called") == third
            calls += 1
            come(client, 3)
    outcomes = come(client, 3)
    assert outcomes[second.key()] == Reply("two", cost_usd=0.5, from_store=True)
    totals = site.client("keeper").finish()
    assert totals is not None
    paid = totals["models"]["openai/m"]
    assert (paid["calls_paid"], paid["attempts"]) == (calls, calls)


def test_a_failed_request_is_called_again_only_on_a_rerun(site: Site) -> None:
    first, caller = site.client(), site.caller()
    error = ModelError("too long", reason="context_window")
    first.ask("k1", request())
    caller.send({"n": caller.take()[0]["n"], "error": error_fields(error)})
    assert str(failed(come(first)["k1"])) == "too long"
    # Another request for the same case makes no call.
    second = site.client()
    for client in (second, first, second):
        client.ask("k1", request())
        assert str(failed(come(client)["k1"])) == "too long"
    # A rerun makes one.
    second.ask("k1", request(), again=True)
    head, _ = caller.take()
    assert head["n"] == 2
    caller.send({"n": head["n"], "reply": reply_fields(Reply("36"))})
    assert come(second) == {"k1": Reply("36")}
    first.ask("k1", request())
    assert caller.answer("37") == request()  # the answer was not stored
    assert come(first) == {"k1": Reply("37", cost_usd=0.5)}


def test_errors_are_returned_unchanged(site: Site) -> None:
    client, caller = site.client(), site.caller()
    client.ask("k1", request())
    error = ModelError("too long", reason="context_window")
    caller.send({"n": caller.take()[0]["n"], "error": error_fields(error)})
    returned = failed(come(client)["k1"])
    assert (str(returned), vars(returned)) == ("too long", vars(error))


def test_questions_wait_for_a_caller(site: Site) -> None:
    client = site.client()
    caller = site.caller()

    # The test acts as both ends, so it sends the question without waiting for its answer.
    client._send(pack({"do": "question", "what": "facts", "id": 77}, b'{"model":"m"}'))
    head, body = caller.take()
    assert (head["do"], json.loads(body)) == ("facts", {"model": "m"})
    caller.send({"n": head["n"], "result": {"price": 1}})
    while 77 not in client._answers:
        client.look()
    assert client._answers[77]["result"] == {"price": 1}


def test_the_keeper_receives_totals(site: Site) -> None:
    keeper, client, caller = site.client("keeper"), site.client(), site.caller()
    client.ask("k1", request())
    caller.answer("36")
    come(client)
    while not (totals := keeper.totals()) or not totals["models"]["openai/m"]["calls_paid"]:
        keeper.outcomes(wait=True)
    assert totals["models"]["openai/m"]["cost_usd"] == 0.5
    assert totals["most_in_flight"] == 1
    assert client.totals() is None


def test_the_keeper_receives_problems_of_the_store(site: Site) -> None:
    keeper, caller = site.client("keeper"), site.caller()
    caller.send({"note": f"{PROBLEMS} 7", "texts": ["the file is gone"]})
    while not keeper.notes:
        keeper.outcomes(wait=True)
    [(name, problems)] = keeper.notes.items()
    assert name.startswith(PROBLEMS)
    assert problems == ["the file is gone"]


def test_after_a_stop_nothing_is_called(site: Site) -> None:
    client, caller = site.client(), site.caller()
    client.ask("under way", request("1"))
    head, _ = caller.take()
    client.stop("enough")
    client.ask("later", request("2"))
    error = failed(come(client)["later"])
    assert (str(error), error.reason) == ("enough", "stopped")
    # The call in flight still counts.
    caller.send({"n": head["n"], "reply": reply_fields(Reply("36"))})
    assert come(client) == {"under way": Reply("36")}


def test_an_answer_that_cannot_be_stored_is_returned_and_ends_the_calls(site: Site) -> None:
    client, caller = site.client(), site.caller()
    client.ask("k1", request("1"))
    reply = reply_fields(Reply("36"))
    full = {"unstored": "no space", "whole_run": True}
    caller.send({"n": caller.take()[0]["n"], "reply": reply, **full})
    assert come(client) == {"k1": Reply("36")}
    client.ask("k2", request("2"))
    assert "answers cannot be kept: no space" in str(failed(come(client)["k2"]))
    # The same request again returns the known answer.
    client.ask("k1", request("1"))
    assert come(client) == {"k1": Reply("36")}


def test_a_client_with_a_wrong_token_is_closed(site: Site) -> None:
    stranger, caller = site.client(token="guessed"), site.caller()
    stranger.ask("k1", request())
    while stranger.lost is None:
        assert stranger.outcomes(wait=True) == []
    client = site.client()
    client.ask("k2", request("mine"))
    assert caller.answer("36") == request("mine")


def test_an_answer_too_long_for_the_store_does_not_stop_the_run(site: Site) -> None:
    keeper, client, caller = site.client("keeper"), site.client(), site.caller()
    client.ask("k1", request("1"))
    reply = reply_fields(Reply("36"))
    long = {"unstored": "a/b: too long", "whole_run": False}
    caller.send({"n": caller.take()[0]["n"], "reply": reply, **long})
    assert come(client) == {"k1": Reply("36")}
    # The same request again returns the known answer; other requests are called.
    client.ask("k1", request("1"))
    assert come(client) == {"k1": Reply("36")}
    client.ask("k2", request("2"))
    caller.answer("37")
    assert come(client) == {"k2": Reply("37", cost_usd=0.5)}
    while not keeper.notes:
        keeper.outcomes(wait=True)
    assert keeper.notes == {f"{PROBLEMS} answers": ["a/b: too long"]}


def test_finish_returns_totals_and_ends_all_processes(site: Site) -> None:
    keeper, client, caller = site.client("keeper"), site.client(), site.caller()
    client.ask("k1", request())
    caller.answer("36")
    come(client)
    totals = keeper.finish()
    assert totals is not None
    assert totals["models"]["openai/m"]["calls_paid"] == 1
    assert caller.take()[0] == {"do": "close"}
    assert site.process.wait(20) == 0


def test_the_broker_ends_with_pytest(site: Site) -> None:
    caller = site.caller()
    client = site.client()
    client.ask("k1", request())
    assert caller.take()[0]["do"] == "call"
    assert site.process.stdin is not None
    site.process.stdin.close()  # as the death of its parent does
    assert caller.take()[0] == {"do": "close"}
    assert site.process.wait(20) == 0


def test_clients_report_a_lost_broker(site: Site) -> None:
    client = site.client()
    site.process.kill()
    site.process.wait()
    while client.lost is None:
        client.outcomes(wait=True)
    assert client.lost.whole_run
    assert client.lost.reason == "engine"
    assert "process that makes the model calls is gone" in str(client.lost)
    client.submit(Work("k1", request()), "openai/m")  # is no error: the loss says it
    with pytest.raises(ModelError, match="is gone"):
        client.question("facts", {})
    assert client.finish() is None


def test_a_broker_that_has_ended_is_reported_as_lost(site: Site) -> None:
    site.process.kill()
    site.process.wait()
    client = Asker(Address(site.port, TOKEN), "runner", site.lanes)
    assert client.lost is not None
    assert client.lost.whole_run
    client.ask("k1", request())
    assert client.outcomes(wait=True) == []
    with pytest.raises(ModelError, match="is gone"):
        client.question("facts", {})
    assert client.finish() is None
    client.close()


# A caller that ends in the middle of its calls.


class Overheard(Connection):
    """A connection that keeps what it is sent."""

    def __init__(self, keeper: broker.Broker, role: str) -> None:
        super().__init__(keeper, lambda _: None)
        self.role = role
        self.sent: list[dict[str, Any]] = []

    def send(self, head: Mapping[str, Any], body: bytes | None = None) -> None:
        self.sent.append(dict(head))


def test_an_answer_stored_by_a_caller_that_died_is_not_paid_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalCallers, "_start_caller", lambda self: None)
    config: dict[str, Any] = {
        "token": TOKEN,
        "lanes": [{"model": "m", "api_base": None, "provider": "p"}],
        "connections": 4,
        "retries": 5,
        "timeout": 60,
        "max_reply": 1_000_000,
        "transport": "auto",
        "max_cost": None,
        "patience": 180.0,
        "callers": 1,
        "store": str(tmp_path / "answers"),
    }

    async def start() -> broker.Broker:
        return broker.Broker(config)

    loop = asyncio.new_event_loop()
    keeper = loop.run_until_complete(start())
    client, caller = Overheard(keeper, "runner"), Overheard(keeper, "caller")
    keeper.joined(client)
    keeper.joined(caller)
    keeper.from_caller(caller, {"ready": True})
    kept, lost = request("kept"), request("lost")
    keeper.from_client(client, {"do": "question", "what": "facts", "id": 5}, b"{}")
    caller.sent.clear()
    for sent in (kept, lost):
        keeper.from_client(client, {"do": "ask", "key": sent.key(), "lane": 0}, b"{}")
    assert [head["do"] for head in caller.sent] == ["call", "call"]
    with Store.open(tmp_path / "answers") as store:
        store.put(kept, Reply("36"))
    keeper.left(caller)
    (message,) = client.sent
    assert message["key"] == kept.key()
    assert message["reply"] == {**reply_fields(Reply("36")), "stored_at": ANY}
    (total,) = keeper.dispatcher.totals
    assert total.calls_paid == 1
    assert total.retries == 0  # the model did not fail
    # The question and the call that was lost go to the next caller.
    following = Overheard(keeper, "caller")
    keeper.joined(following)
    keeper.from_caller(following, {"ready": True})
    question, again = following.sent
    assert (question["do"], again["do"]) == ("facts", "call")
    keeper.from_caller(following, {"n": question["n"], "result": "known"})
    assert client.sent[-1] == {"re": 5, "result": "known"}
    loop.close()
