"""Fixtures of the behaviour tests.

Pytester takes modules that a run inside this process imports out of `sys.modules` again; numpy
refuses to be imported twice, and classes of ours would exist twice. So all of it is imported here.
"""

from __future__ import annotations

import importlib
import os
import pkgutil

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
