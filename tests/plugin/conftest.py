"""Fixtures of the tests of whole runs.

After a run in this process pytester removes the imported modules from `sys.modules`. numpy cannot
be imported twice, and our classes would exist twice, so this module imports everything first. Each
run reads the installed distributions three times, a quarter of the time of a short run; here they
are read once.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import httpcore  # noqa: F401
import httpx  # noqa: F401
import jinja2  # noqa: F401
import matplotlib.backends.backend_agg
import matplotlib.backends.backend_svg
import matplotlib.figure  # noqa: F401
import numpy  # noqa: F401
import pandas  # noqa: F401
import pytest
import scipy.stats  # noqa: F401

import pytest_tablebench
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.reports import leaderboard
from tests.support.own_folders import OwnBench
from tests.support.toy_bench import Bench

PROGRAMS = ("pytest_tablebench.sandbox.inside.", "pytest_tablebench.strategies._runner")
"""Programs of the sandbox, which run when they are imported."""

load()  # litellm, which a run may still be importing when it ends
for module_info in pkgutil.walk_packages(pytest_tablebench.__path__, "pytest_tablebench."):
    if not module_info.name.startswith(PROGRAMS):
        importlib.import_module(module_info.name)


class Installed(importlib.metadata.PathDistribution):
    """A distribution whose files are read once."""

    # The base class has properties of these names.
    entry_points = cached_property(importlib.metadata.Distribution.entry_points.fget)  # type: ignore
    files = cached_property(importlib.metadata.Distribution.files.fget)  # type: ignore
    metadata = cached_property(importlib.metadata.Distribution.metadata.fget)  # type: ignore


all_distributions = importlib.metadata.distributions


@cache
def distributions_of(folder: str, changed: int) -> list[importlib.metadata.Distribution]:
    """Return the distributions in a folder of the path; a new time of change reads them again."""
    folder_distributions = all_distributions(path=[folder])
    return [Installed(distribution._path) for distribution in folder_distributions]  # type: ignore[attr-defined]


def distributions(**where: Any) -> Iterator[importlib.metadata.Distribution]:
    """Yield what `importlib.metadata.distributions` yields."""
    if where:
        yield from all_distributions(**where)
        return
    for folder in sys.path:
        path = Path(folder)
        if path.is_dir():
            yield from distributions_of(folder, path.stat().st_mtime_ns)


importlib.metadata.distributions = distributions


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that a test starts are not workers, even if the test runs in one."""
    for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def bench(pytester: pytest.Pytester) -> Bench:
    """A folder with the toy dataset and its suite."""
    bench = Bench(pytester)
    bench.suite()
    return bench


@pytest.fixture
def own(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> OwnBench:
    """A folder with the suite for data folders of users, and a wide terminal."""
    monkeypatch.setenv("COLUMNS", "400")
    return OwnBench(pytester)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the figures in the page of several runs, which take seconds; other tests draw them."""
    monkeypatch.setattr(leaderboard, "write_plots", lambda *_: {})
