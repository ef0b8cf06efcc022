"""Fixtures shared by the tests; a conftest imports the ones its folder needs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.openai_server import OpenAIServer


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """Yield a new scripted server on 127.0.0.1."""
    with OpenAIServer() as server:
        yield server
