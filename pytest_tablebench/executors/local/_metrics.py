"""Find a metric in another process and check that it is the same version."""

from __future__ import annotations

import base64
import hashlib
import platform
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import METRIC, ModelError
from pytest_tablebench.executors._wire import to_json
from pytest_tablebench.executors.local.providers import Reference, reference_of
from pytest_tablebench.metrics import Metric
from pytest_tablebench.metrics.steps import Grade


def grade_body(task: Grade) -> bytes:
    """Encode an answer, its metric and the metric's arguments for a scorer."""
    return to_json(
        {
            "metric": task.metric,
            "found": _source(task.function),
            "compat": task.compat,
            "arguments": base64.b64encode(task.arguments).decode("ascii"),
        }
    )


@lru_cache
def _source(function: Metric) -> dict[str, Any]:
    reference = reference_of(function)
    if reference is None:
        raise TypeError(f"{function!r} cannot be imported by its name from a module")
    return {"reference": vars(reference), "made": _version(reference.module)}


def _version(module: str) -> dict[str, Any]:
    packages = metadata.packages_distributions().get(module.partition(".")[0], ())
    file = getattr(sys.modules[module], "__file__", None)
    return {
        "versions": {name: metadata.version(name) for name in sorted(set(packages))},
        "text": None if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest(),
    }


def find_metric(name: str, source: Mapping[str, Any]) -> Metric:
    """Return the metric of `grade_body`. Raises `ModelError` if it is missing or differs here."""
    reference = source["reference"]
    place = f"metric {name!r} on {platform.node()}"
    try:
        metric = Reference(**reference).find()
        version = _version(reference["module"])
    except Exception as error:  # any error of the metric's module
        raise ModelError(
            f"{place} cannot be loaded: {type(error).__name__}: {error}; install its package",
            reason=METRIC,
        ) from None
    if version != source["made"]:
        raise ModelError(
            f"{place} differs from this run's metric ({reference['module']}): install the same "
            f"version",
            reason=METRIC,
        )
    return metric
