"""A server for commands that ask models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.following import priced
from tests.support.openai_server import OpenAIServer


@pytest.fixture
def server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OpenAIServer]:
    """Yield a server that answers with the texts of the test module's function `said`."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with OpenAIServer(lambda body: priced(request.module.said(body))) as running:
        yield running
