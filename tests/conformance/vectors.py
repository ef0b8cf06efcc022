"""Golden vectors: lists of records in JSON files, made by running the reference code.

They are no part of the repository: they lie in `../shared/conformance` beside it, or where
TABLEBENCH_CONFORMANCE says. Without them the tests are skipped, with that as the reason.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

__all__ = ["decode", "folder", "load", "params"]

Record = dict[str, Any]


def folder() -> Path:
    """The folder that holds (or should hold) the vectors."""
    override = os.environ.get("TABLEBENCH_CONFORMANCE")
    return Path(override) if override else _ROOT.parent / "shared" / "conformance"


_ROOT = Path(__file__).resolve().parents[2]


def decode(value: Any) -> Any:
    """Replace each `{"$float": "nan"}` (also inf, -inf), however deep, by that number."""
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return float(value["$float"])
        return {key: decode(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [decode(inner) for inner in value]
    return value


def load(name: str) -> Any:
    """The decoded content of one file; skips the calling test or module where it is absent."""
    path = folder() / name
    if not path.is_file():
        pytest.skip(_absent(path), allow_module_level=True)
    return decode(json.loads(path.read_text(encoding="utf-8")))


def params(
    name: str,
    label: Callable[[Record], str],
    *,
    keep: Callable[[Record], bool] = lambda _: True,
) -> list[Any]:
    """One parameter per kept record, with a readable id; one skipped parameter without the file."""
    path = folder() / name
    if not path.is_file():
        mark = pytest.mark.skip(reason=_absent(path))
        return [pytest.param(None, marks=mark, id="no-vectors")]
    seen: Counter[str] = Counter()
    found = []
    for record in load(name):
        if keep(record):
            text = re.sub(r"[^A-Za-z0-9_.:=/,-]+", "-", label(record)).strip("-")[:80]
            seen[text] += 1
            unique = text if seen[text] == 1 else f"{text}~{seen[text]}"
            found.append(pytest.param(record, id=unique))
    assert found, f"{path} holds no record for this test"
    return found


def _absent(path: Path) -> str:
    return f"golden vectors are not there: {path} (set TABLEBENCH_CONFORMANCE to their folder)"
