"""The real slices of the datasets: where they lie, and a runner over them.

They are no part of the project. They lie in `../shared/data` beside the repository, or where
TABLEBENCH_DATA_SLICES says; without them tests are skipped, with that as the reason.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import Source
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner

__all__ = ["ROOT", "needs_slices", "rendered", "runner", "source"]

BESIDE = Path(__file__).resolve().parents[3] / "shared/data"
ROOT = Path(os.environ.get("TABLEBENCH_DATA_SLICES") or BESIDE)


def needs_slices(*names: str) -> pytest.MarkDecorator:
    """Skip where the slices, or those of the named datasets, are not there."""
    missing = [name for name in names if not (ROOT / name).is_dir()]
    what = f"no slice of {', '.join(missing)} in" if missing else "real slices are not there:"
    return pytest.mark.skipif(
        bool(missing) or not ROOT.is_dir(),
        reason=f"{what} {ROOT} (set TABLEBENCH_DATA_SLICES to their folder)",
    )


@cache
def runner(compat: Compat = "fixed", shots: int | None = None) -> Runner:
    """Return a runner over the slices, the same one every time."""
    return Runner(Settings(data=ROOT, compat=compat, shots=shots), builtin_registry())


def source(dataset: str, compat: Compat = "fixed") -> Source:
    """Open a slice; skips the calling test where it is not there."""
    if not (ROOT / dataset).is_dir():
        pytest.skip(f"no slice of {dataset} in {ROOT}")
    return runner(compat).source(dataset)


def rendered(
    dataset: str,
    example_id: str,
    serializer: str,
    perturbation: str,
    compat: Compat = "fixed",
) -> str:
    """Return a prompt."""
    case = Case(dataset, example_id, serializer, perturbation, "m", "id")
    return runner(compat).renderer.task(case).prompt
