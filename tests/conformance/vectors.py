"""Golden vectors: lists of records in JSON files, made by running the reference code.

`tests/golden` has those whose inputs were written by hand. A folder with more, which
TABLEBENCH_CONFORMANCE names or which lies beside the repository, comes first. A test of records
that neither has is skipped, with that as the reason.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Record = dict[str, Any]


_ROOT = Path(__file__).resolve().parents[2]
COMMITTED = _ROOT / "tests" / "golden"


def folder() -> Path:
    """The folder of all vectors, which need not exist."""
    override = os.environ.get("TABLEBENCH_CONFORMANCE")
    return Path(override) if override else _ROOT.parent / "shared" / "conformance"


def find(name: str) -> Path | None:
    """The file of this name: of all vectors, or else of the committed ones; None without either."""
    places = (folder() / name, COMMITTED / f"{name}.gz")
    return next((path for path in places if path.is_file()), None)


def read_text(path: Path) -> str:
    """The text of a file of vectors, which may be compressed."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


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
    path = find(name)
    if path is None:
        pytest.skip(absent(name), allow_module_level=True)
    return decode(json.loads(read_text(path)))


def params(
    name: str,
    label: Callable[[Record], str],
    *,
    keep: Callable[[Record], bool] = lambda _: True,
) -> list[Any]:
    """One parameter per kept record, with a readable id; one skipped parameter without the file."""
    if find(name) is None:
        mark = pytest.mark.skip(reason=absent(name))
        return [pytest.param(None, marks=mark, id="no-vectors")]
    seen: Counter[str] = Counter()
    found = []
    for record in load(name):
        if keep(record):
            text = re.sub(r"[^A-Za-z0-9_.:=/,-]+", "-", label(record)).strip("-")[:80]
            seen[text] += 1
            unique = text if seen[text] == 1 else f"{text}~{seen[text]}"
            found.append(pytest.param(record, id=unique))
    assert found, f"{name} holds no record for this test"
    return found


def absent(name: str) -> str:
    """Why a test over a file is skipped."""
    path = folder() / name
    return f"golden vectors are not there: {path} (set TABLEBENCH_CONFORMANCE to their folder)"
