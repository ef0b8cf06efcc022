from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_tablebench.models._openai_providers import PROVIDERS
from pytest_tablebench.models.litellm_model import CALL
from tests.support.calls import MODELS, Make, direct, plain
from tests.support.fixtures import openai_server  # noqa: F401 - a fixture, found by its name
from tests.support.loop_thread import Blocking, LoopThread
from tests.support.matrix import FULL

KEY = "sk-local-0123456789abcdef"


@pytest.fixture
def api_key(monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the only key of the environment, for both transports to the scripted server."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", KEY)
    return KEY


@pytest.fixture(scope="session")
def loop_thread() -> Iterator[LoopThread]:
    """Return the event loop for all asynchronous calls of the tests."""
    thread = LoopThread()
    yield thread
    thread.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out direct calls to OpenAI: the same code as those to vLLM reads their replies."""
    if FULL:
        return
    for item in list(items):
        params = getattr(getattr(item, "callspec", None), "params", {})
        if (params.get("transport"), params.get("name")) == ("direct", MODELS[0]):
            items.remove(item)


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of a model for each of the two clients."""
    return str(request.param)


@pytest.fixture(params=["litellm", "direct"])
def transport(request: pytest.FixtureRequest) -> str:
    """Return the name of each transport."""
    return str(request.param)


@pytest.fixture
def make(loop_thread: LoopThread, transport: str) -> Make:
    """Return a factory of models with blocking calls, for each transport."""

    def made(*arguments: Any, **options: Any) -> Blocking:
        model = plain(*arguments, **options)
        return Blocking(direct(model) if transport == "direct" else model, loop_thread)

    return made


@pytest.fixture(autouse=True)
def calls_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check after a test that none of its calls is still running."""
    yield
    for thread in threading.enumerate():
        if thread.name == CALL:
            thread.join(10)
            assert not thread.is_alive()
    if "loop_thread" in request.fixturenames:
        assert not request.getfixturevalue("loop_thread").pending(CALL)


@pytest.fixture(scope="session")
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script in a new interpreter, without environment variables set by litellm."""

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
    """Set the same key for every provider with direct calls."""
    for provider in PROVIDERS:
        monkeypatch.setenv(f"{provider.replace('_ai', 'ai').upper()}_API_KEY", api_key)
