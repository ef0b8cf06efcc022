from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.support.fixtures import openai_server  # noqa: F401 - a fixture, found by its name

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


@pytest.fixture(autouse=True)
def calls_end() -> Iterator[None]:
    """No call of a test outlives it: its server is closed by now."""
    yield
    for thread in threading.enumerate():
        if thread.name == "tablebench-call":
            thread.join(10)
            assert not thread.is_alive()


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
