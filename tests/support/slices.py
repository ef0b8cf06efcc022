"""The real slices of the datasets: their folder, and a runner over them.

They are not part of the project. Their folder is `../shared/data` next to the repository, or the
value of TABLEBENCH_DATA_SLICES. Tests are skipped without them.
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

BESIDE = Path(__file__).resolve().parents[3] / "shared/data"
ROOT = Path(os.environ.get("TABLEBENCH_DATA_SLICES") or BESIDE)


def needs_slices(*names: str) -> pytest.MarkDecorator:
    """Skip a test if the slices, or the slices of the named datasets, are missing."""
    missing = [name for name in names if not (ROOT / name).is_dir()]
    what = f"no slice of {', '.join(missing)} in" if missing else "real slices are not there:"
    return pytest.mark.skipif(
        bool(missing) or not ROOT.is_dir(),
        reason=f"{what} {ROOT} (set TABLEBENCH_DATA_SLICES to their folder)",
    )


@cache
def runner(compat: Compat = "fixed", shots: int | None = None) -> Runner:
    """Return a runner over the slices, always the same one."""
    return Runner(Settings(data=ROOT, compat=compat, shots=shots), builtin_registry())


def source(dataset: str, compat: Compat = "fixed") -> Source:
    """Open a slice; skip the calling test if it is missing."""
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
    case = Case(dataset, example_id, serializer, perturbation, "m", "id")
    text = runner(compat).renderer.task(case).prompt
    assert isinstance(text, str)
    return text
