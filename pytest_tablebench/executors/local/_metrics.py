"""Metrics that score in another process: how they are found there, and known to be the same."""

from __future__ import annotations

import base64
import hashlib
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
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
    """Return all that scoring an answer needs, for whoever does it."""
    return to_json(
        {
            "metric": task.metric,
            "found": _found(task.function),
            "compat": task.compat,
            "arguments": base64.b64encode(task.arguments).decode("ascii"),
        }
    )


@lru_cache
def _found(function: Metric) -> dict[str, Any]:
    """Return where a metric is, and of what it is made. Raises `TypeError` for one of nowhere."""
    reference = reference_of(function)
    if reference is None:
        raise TypeError(f"{function!r} stands in no module under its own name")
    return {"reference": asdict(reference), "made": _made(reference.module)}


def _made(module: str) -> dict[str, Any]:
    """Return what tells two versions of a module apart: its package's version, and its text."""
    keepers = metadata.packages_distributions().get(module.partition(".")[0], ())
    file = getattr(sys.modules[module], "__file__", None)
    return {
        "versions": {name: metadata.version(name) for name in sorted(set(keepers))},
        "text": None if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest(),
    }


def find_metric(name: str, source: Mapping[str, Any]) -> Metric:
    """Return the metric of the other side. Raises `ModelError` where here is none, or another."""
    reference = source["reference"]
    place = f"metric {name!r} on {platform.node()}"
    try:
        metric = Reference(**{**reference, "path": tuple(reference["path"])}).find()
        made = _made(reference["module"])
    except Exception as error:  # of a part that is not ours
        raise ModelError(
            f"{place} cannot be loaded: {type(error).__name__}: {error}; install what registers it",
            reason=METRIC,
        ) from None
    if made != source["made"]:
        raise ModelError(
            f"{place} is not the one of this run ({reference['module']} differs): install the same "
            f"version",
            reason=METRIC,
        )
    return metric
