"""Fixtures of the behaviour tests.

Pytester takes modules that a run inside this process imports out of `sys.modules` again; numpy
refuses to be imported twice, and classes of ours would exist twice. So all of it is imported here.
Each run asks for the installed distributions three times, which is a quarter of a short one: here
they are read once.
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
import matplotlib.backends.backend_agg
import matplotlib.backends.backend_svg
import matplotlib.figure  # noqa: F401
import numpy  # noqa: F401
import pandas  # noqa: F401
import pytest
import scipy.stats  # noqa: F401

import pytest_tablebench
from tests.support.toy_bench import Bench

PROGRAMS = ("pytest_tablebench.sandbox.inside.", "pytest_tablebench.strategies._runner")
"""They run when they are imported, on the other side of the sandbox."""

for found in pkgutil.walk_packages(pytest_tablebench.__path__, "pytest_tablebench."):
    if not found.name.startswith(PROGRAMS):
        importlib.import_module(found.name)


class Installed(importlib.metadata.PathDistribution):
    """A distribution whose files are read once."""

    # Plain attributes of the class this one extends, which has properties in their place.
    entry_points = cached_property(importlib.metadata.Distribution.entry_points.fget)  # type: ignore
    files = cached_property(importlib.metadata.Distribution.files.fget)  # type: ignore
    metadata = cached_property(importlib.metadata.Distribution.metadata.fget)  # type: ignore


all_distributions = importlib.metadata.distributions


@cache
def distributions_of(folder: str, changed: int) -> list[importlib.metadata.Distribution]:
    """Return the distributions in a folder of the path, by when it was changed."""
    found = all_distributions(path=[folder])
    return [Installed(one._path) for one in found]  # type: ignore[attr-defined]


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
    """A session that a test starts is nobody's worker, whoever runs the test."""
    for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def bench(pytester: pytest.Pytester) -> Bench:
    """A folder with the toy dataset, and a suite over it."""
    bench = Bench(pytester)
    bench.suite()
    return bench
