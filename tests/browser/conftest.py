"""A browser for the tests of this folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.browser import FLAGS, Watched


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium. Per module: while Playwright runs, no other event loop can be started here."""
    playwright = pytest.importorskip("playwright.sync_api", reason="drives a browser")
    executable = os.environ.get("TABLEBENCH_CHROMIUM") or shutil.which("chromium")
    if executable is None:
        pytest.skip("chromium is not installed (TABLEBENCH_CHROMIUM names another one)")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Watched(context.new_page())
    context.close()
