from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_tablebench.models.litellm_facts import DIRECT
from pytest_tablebench.models.litellm_model import CALL
from tests.support.calls import MODELS, Make, direct, plain
from tests.support.fixtures import openai_server  # noqa: F401 - a fixture, found by its name
from tests.support.loop_thread import Blocking, LoopThread

KEY = "sk-local-0123456789abcdef"


@pytest.fixture
def api_key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The only key in the environment, for both ways to the scripted server."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", KEY)
    return KEY


@pytest.fixture(scope="session")
def loop_thread() -> Iterator[LoopThread]:
    """The event loop that every asynchronous call of the tests runs in."""
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    """A model behind each of the two ways."""
    return str(request.param)


@pytest.fixture(params=["litellm", "direct"])
def transport(request: pytest.FixtureRequest) -> str:
    """Who sends the calls."""
    return str(request.param)


@pytest.fixture
def make(loop_thread: LoopThread, transport: str) -> Make:
    """Make a model whose calls block, with each transport."""

    def made(*arguments: Any, **options: Any) -> Blocking:
        model = plain(*arguments, **options)
        return Blocking(direct(model) if transport == "direct" else model, loop_thread)

    return made


@pytest.fixture(autouse=True)
def calls_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """No call of a test outlives it: its server is closed by now."""
    yield
    for thread in threading.enumerate():
        if thread.name == CALL:
            thread.join(10)
            assert not thread.is_alive()
    if "loop_thread" in request.fixturenames:
        assert not request.getfixturevalue("loop_thread").pending(CALL)


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script in a new interpreter, without what importing litellm here has set."""

    def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("LITELLM_")}
        return subprocess.run(
            [sys.executable, "-c", script, *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env=clean,
        )

    return run


@pytest.fixture
def provider_keys(api_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every provider that is asked directly has a key, each the same."""
    for provider in sorted(DIRECT):
        monkeypatch.setenv(f"{provider.replace('_ai', 'ai').upper()}_API_KEY", api_key)
