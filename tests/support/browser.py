"""A page in Chromium that records what hostile text must not cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.runs import until

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""Options of Chromium: allow root, and no network of its own."""


@dataclass
class Watched:
    """A page, and all its events that hostile text must not cause."""

    page: Any
    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page, note = self.page, self.events.append
        page.on("console", lambda message: note(f"console: {message.text}"))
        page.on("pageerror", lambda error: note(f"error: {error}"))
        page.on("popup", lambda _: note("popup"))
        page.on("download", lambda _: note("download"))
        page.on("request", lambda request: note(f"request: {request.url}"))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.events.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, path: Path, fragment: str = "") -> None:
        self.page.goto(path.as_uri() + fragment)
        self.page.wait_for_selector("html[data-ready-ms]")

    @property
    def unwanted(self) -> list[str]:
        """All requests except the page itself, and `hacked` if a payload ran."""
        page_address = self.page.url.partition("#")[0]
        ran = ["hacked"] if self.page.evaluate("window.hacked === 1") else []
        return ran + [e for e in self.events if e.partition("#")[0] != f"request: {page_address}"]


def wait_for(page: Any, expression: str, arg: Any = None) -> None:
    """Wait until a JavaScript expression is true in a page.

    Playwright's own `wait_for_function` uses `eval`, which the page's policy forbids.
    """
    until(lambda: bool(page.evaluate(expression, arg)), expression, seconds=30)
