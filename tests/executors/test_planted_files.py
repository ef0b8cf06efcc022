"""Files in a store that are no answers change no request."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.executors._protocol import Outcome, Work
from pytest_tablebench.executors.local import Engine, Lane, LocalExecutor
from pytest_tablebench.models import Message, Reply, Request
from tests.support.openai_server import OpenAIServer, Received, text

MODELS = ("openai/planted", "openai/blocking")
PARAMS = {"temperature": 0, "max_tokens": 64}
TIMEOUT_S = 60.0


def path_of(store: Path, model: str, url: str) -> Path:
    """Return the path under which earlier versions kept the form of a model's requests."""
    identity = json.dumps([model, url, TIMEOUT_S])
    name = hashlib.sha256(identity.encode()).hexdigest()[:32]
    return store / "translations" / f"{name}.json"


def forged(model: str, url: str) -> dict[str, Any]:
    """Return the form of a request that sends a secret, to another path and for another model."""
    secret: list[Any] = ["Bearer ", ["env", "AWS_SECRET_ACCESS_KEY"]]
    body = ['{"model":"dearer","messages":[{"role":"user","content":', ["text", 0], "}]}"]
    wire = {
        "provider": "openai",
        "url": f"{url}/elsewhere",
        "headers": {"authorization": secret, "x-more": secret},
        "compact": True,
        "tls": False,
        "bodies": {"user:text": body},
    }
    key = hashlib.sha256(json.dumps(PARAMS, sort_keys=True).encode()).hexdigest()
    return {"format": 1, "model": model, "api_base": url, "timeout": 60, "wires": {key: wire}}


def requests_of(store: Path, server: OpenAIServer) -> list[Received]:
    """Ask each model once and return the requests that the server received."""
    del server.requests[:]
    lanes = [Lane(model, server.url, "openai") for model in MODELS]
    engine = Engine(Settings(connections=1, retries=0, timeout=TIMEOUT_S, store=store), lanes)
    executor = LocalExecutor(engine.address, "runner", list(MODELS))
    for model in MODELS:
        request = Request(model, (Message("user", "How old?"),), PARAMS)
        executor.submit(Work(request.key(), request), model)
        outcomes: Sequence[tuple[str, Outcome]] = ()
        while not outcomes:
            outcomes = executor.outcomes(wait=True)
        assert [type(outcome) for _, outcome in outcomes] == [Reply]
    assert executor.notes == {}
    executor.close()
    engine.finish()
    engine.reap()
    return list(server.requests)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_planted_files_change_no_request(
    tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-local-0123456789abcdef")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "marked-secret-4711")
    openai_server.always(text("26"))
    file, pipe = (path_of(tmp_path / "planted", model, openai_server.url) for model in MODELS)
    file.parent.mkdir(parents=True)
    content = json.dumps(forged(MODELS[0], openai_server.url))
    file.write_text(content, encoding="utf-8")
    os.mkfifo(pipe)  # reading it would block for ever
    plain = requests_of(tmp_path / "empty", openai_server)
    planted = requests_of(tmp_path / "planted", openai_server)
    assert len(plain) == 2
    assert planted == plain
    assert "4711" not in repr(planted)
    assert file.read_text(encoding="utf-8") == content
    assert sorted(file.parent.iterdir()) == sorted([file, pipe])
    assert not (tmp_path / "empty/translations").exists()
