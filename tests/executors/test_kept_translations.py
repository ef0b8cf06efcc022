"""Engines that call from kept translations: without litellm, and never by an outdated one."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors.local import (
    BrokerProcess,
    Engine,
    EngineConfig,
    LaneConfig,
    LocalExecutor,
)
from pytest_tablebench.executors.protocol import Outcome, Work
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.models.translation import kept
from pytest_tablebench.models.translation.place import FOLDER, are_kept
from pytest_tablebench.store import Store
from tests.support.openai_server import OpenAIServer, text

MODEL = "openai/gpt-4o"
TIMEOUT_S = 60.0

pytestmark = pytest.mark.usefixtures("api_key")


@pytest.fixture
def api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-local-0123456789abcdef")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@contextlib.contextmanager
def running(store: Path, server: OpenAIServer) -> Iterator[tuple[LocalExecutor, Any]]:
    """Run an engine that was started early; yield a connection and the engine's process."""
    psutil = pytest.importorskip("psutil")
    is_kept = are_kept(store, [(MODEL, server.url)], TIMEOUT_S)
    lanes = [LaneConfig(MODEL, server.url, "openai")]
    config = EngineConfig(lanes, 4, 0, TIMEOUT_S, None, 180.0, store)
    engine = Engine(config, BrokerProcess.ahead(is_kept=is_kept))
    executor = LocalExecutor(engine.address, "runner", [MODEL])
    process = psutil.Process(engine._process.pid)
    yield executor, process
    callers = process.children()
    executor.close()
    engine.finish()
    engine.reap()
    psutil.wait_procs(callers, TIMEOUT_S)  # they keep what they have learnt


def made(question: str) -> Request:
    return Request(MODEL, (Message("user", question),), {"temperature": 0, "max_tokens": 512})


def ask(executor: LocalExecutor, question: str) -> Outcome:
    request = made(question)
    executor.submit(Work(request.key(), request), MODEL)
    outcomes: Sequence[tuple[str, Outcome]] = ()
    while not outcomes:
        outcomes = executor.outcomes(wait=True)
    return outcomes[0][1]


def libraries(engine: Any) -> set[str]:
    """Return the names of the shared libraries that the caller of an engine has loaded."""
    (caller,) = engine.children()
    return {Path(entry.path).name.partition(".")[0] for entry in caller.memory_maps()}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's libraries")
def test_the_second_run_calls_without_litellm(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", usage=(1000, 100), model="gpt-4o"))
    with running(tmp_path, openai_server) as (executor, engine):
        first = ask(executor, "How old?")
        assert {"_http_parser", "_pydantic_core"} <= libraries(engine)
    assert len(list((tmp_path / FOLDER).iterdir())) == 1
    with running(tmp_path, openai_server) as (executor, engine):
        second = ask(executor, "How tall?")
        assert "_http_parser" in libraries(engine)  # of aiohttp
        assert "_pydantic_core" not in libraries(engine)  # of litellm
        assert executor.notes == {}
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert first.cost_usd == second.cost_usd == pytest.approx(1000 * 2.5e-6 + 100 * 1e-5)
    assert openai_server.calls == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's libraries")
def test_warm_prepares_the_first_run(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", usage=(1000, 100), model="gpt-4o"))
    warm = subprocess.run(
        [
            *(sys.executable, "-c", "from pytest_tablebench.cli import main; main()"),
            *("warm", MODEL, f"--bench-api-base={openai_server.url}"),
            *(f"--bench-store={tmp_path}", f"--bench-timeout={TIMEOUT_S}"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert f"{MODEL}: 24 forms of requests kept in {tmp_path}" in warm.stdout
    assert openai_server.calls == 0
    with running(tmp_path, openai_server) as (executor, engine):
        reply = ask(executor, "How old?")
        assert "_pydantic_core" not in libraries(engine)
    assert isinstance(reply, Reply)
    assert reply.cost_usd == pytest.approx(1000 * 2.5e-6 + 100 * 1e-5)


def test_an_outdated_translation_ends_the_run(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", usage=(1000, 100), model="gpt-4o"))
    with running(tmp_path, openai_server) as (executor, _):
        assert isinstance(ask(executor, "How old?"), Reply)
    (path,) = (tmp_path / FOLDER).iterdir()
    content = json.loads(path.read_bytes().replace(b'\\"max_tokens\\":512', b'\\"max_tokens\\":51'))
    del content["digest"]
    path.write_text(json.dumps({**content, "digest": kept._digest(content)}), "utf-8")
    with running(tmp_path, openai_server) as (executor, _):
        numbers = itertools.count()
        outcome = ask(executor, "How tall?")
        while isinstance(outcome, Reply):
            outcome = ask(executor, f"How tall is number {next(numbers)}?")
    assert openai_server.requests[1].body["max_tokens"] == 51
    assert isinstance(outcome, ModelError)
    assert outcome.whole_run
    assert "litellm would send another body" in str(outcome)
    with Store.open(tmp_path) as store:
        assert made("How old?").key() in store
        assert made("How tall?").key() not in store
    with running(tmp_path, openai_server) as (executor, _):
        assert isinstance(ask(executor, "How tall?"), Reply)
    assert openai_server.requests[-1].body["max_tokens"] == 512
