"""Fixtures of the tests of datasets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pulls import Place
from tests.support.upstream_server import UpstreamServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[UpstreamServer]:
    for name in list(os.environ):
        if name.upper().endswith("_PROXY") or name.startswith(("HF_", "TABLEBENCH_")):
            monkeypatch.delenv(name)
    with UpstreamServer() as running:
        yield running


@pytest.fixture
def place(server: UpstreamServer, tmp_path: Path) -> Place:
    return Place(server, tmp_path / "data")
