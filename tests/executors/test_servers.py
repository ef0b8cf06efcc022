"""The broker serves a model file: the server answers only the broker and ends with it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_tablebench.errors import ENGINE, MODEL_STOPPED, ModelError
from pytest_tablebench.executors import Outcome
from pytest_tablebench.models import Message, Request
from tests.support.broker_site import Caller, Site, come
from tests.support.local_models import needs_smollm2, servers_in, smollm2
from tests.support.runs import until

MakeSite = Callable[..., Site]


def lane(file: Path) -> dict[str, Any]:
    return {
        "model": f"gguf:{file}",
        "api_base": None,
        "provider": "file",
        "at_once": 1,
        "file": str(file),
        "asked_as": "hosted_vllm/m",
    }


def as_error(outcome: Outcome) -> ModelError:
    assert isinstance(outcome, ModelError)
    return outcome


def ask(site: Site, *keys: str) -> Any:
    client = site.client()
    for key in keys:
        client.ask(key, Request("m", (Message("user", key),)))
    return client


def worker(server: list[str], content: str, key: str | None = None) -> tuple[int, dict[str, Any]]:
    """Return the server's answer to a request that bypasses the broker."""
    url = urlsplit(server[0])
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=120)
    body = {"messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 6}
    headers = {"Authorization": f"Bearer {server[1] if key is None else key}"}
    connection.request("POST", f"{url.path}/chat/completions", json.dumps(body), headers)
    reply = connection.getresponse()
    answer = reply.status, json.loads(reply.read())
    connection.close()
    return answer


@needs_smollm2
def test_a_model_file_is_served_only_to_its_run(
    make_site: MakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    site = make_site(lanes=[lane(smollm2())], retries=5)
    caller: Caller = site.caller()
    assert servers_in(tmp_path) == [], "the server starts with the first call"
    client = ask(site, "a", "b")
    head, _ = caller.take()
    server = head["server"]
    [process] = servers_in(tmp_path)
    assert server[1] not in " ".join(process.cmdline())
    assert urlsplit(server[0]).hostname == "127.0.0.1"
    assert worker(server, "Hello", key="guessed")[0] == 401

    # An answer does not depend on earlier questions.
    question = "Name a colour. Answer with one word."
    replies = [worker(server, text) for text in (question, "Count to three.", question)]
    texts = [body["choices"][0]["message"]["content"] for _, body in replies]
    assert texts[0] == texts[2]
    assert replies[0][1]["model"] == smollm2().stem  # and no path of this machine
    status, body = worker(server, "word " * 9000)
    assert (status, body["error"]["type"]) == (400, "exceed_context_size_error")

    process.kill()
    # Waiting requests fail at once, and the call is not repeated.
    outcomes = come(client)
    caller.send({"n": head["n"], "error": UNREACHABLE})
    outcomes |= come(client)
    assert {key: as_error(outcome).reason for key, outcome in outcomes.items()} == {
        "a": ENGINE,
        "b": MODEL_STOPPED,
    }
    for outcome in outcomes.values():
        assert str(outcome).startswith("the server of gguf:")
        assert "ended (exit code -9); it last said: " in str(outcome)
    later = come(ask(site, "c"))
    assert as_error(later["c"]).reason == MODEL_STOPPED


UNREACHABLE = {"message": "no server", "reason": "unreachable", "retryable": True}


@needs_smollm2
@pytest.mark.parametrize("end", ["close", "kill"])
def test_the_server_ends_with_its_broker(
    *, make_site: MakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.chdir(tmp_path)
    site = make_site(lanes=[lane(smollm2())])
    ask(site, "a")
    until(lambda: servers_in(tmp_path) != [], "a server")  # while it loads the model
    if end == "kill":
        site.process.kill()
    else:
        assert site.process.stdin is not None
        site.process.stdin.close()
    until(lambda: not servers_in(tmp_path), "its end", seconds=20)


def test_a_file_that_is_no_model_gives_no_answer(make_site: MakeSite, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    file = tmp_path / "bad.gguf"
    file.write_bytes(b"GGUF" + bytes(100))
    site = make_site(lanes=[lane(file)], retries=5)
    site.caller()
    [outcome] = come(ask(site, "a"), seconds=60).values()
    assert as_error(outcome).reason in {ENGINE, MODEL_STOPPED}
    assert str(outcome).startswith("the server of gguf:")
    assert "did not start (exit code 1); it last said: " in str(outcome)
