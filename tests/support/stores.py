"""Requests, and the content of an answer store for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.store import Store


def ask(text: str = "How many?", **changes: Any) -> Request:
    request = Request("m", (Message("user", text),), {"temperature": 0}, case_id="wikitq/nu-1")
    return replace(request, **changes)


def filled(path: Path, *texts: str) -> list[Request]:
    """Put one reply `to <text>` for each text, all into one segment."""
    requests = [ask(text) for text in texts]
    with Store.open(path) as store:
        for request in requests:
            store.put(request, Reply(f"to {request.text}", "stop"))
    return requests


def segments(path: Path) -> list[Path]:
    return sorted((path / "segments").iterdir())


def text_of(store: Store, request: Request) -> str | None:
    reply = store.get(request.key())
    return None if reply is None else reply.text
