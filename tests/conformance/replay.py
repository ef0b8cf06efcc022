"""Replaying golden records: what kind a record is of, and what of it our code says otherwise.

A replay is a function from a record to the list of what differs, empty where all is equal. There
is one for each kind, in one module for each benchmark; a record of whatever file is known by its
shape, for not all files name their kinds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .revisions import revised
from .vectors import decode, read_text

Record = Mapping[str, Any]
Replay = Callable[[Record], Iterable[str]]

Summary = Callable[[Sequence[Record]], tuple[str, Iterable[str]]]

REPLAYS: dict[str, Replay] = {}
"""Every kind that can be replayed, by its name."""

SUMMARIES: dict[str, Summary] = {}
"""Functions that judge all records of a kind together, by its name."""

_SHAPES = (
    # the fields that only records of this kind have; the first that fits decides
    ("metric", "references"),
    ("perturbation", "deterministic"),
    ("serializer", "table"),
    ("instruction", "demos"),
    ("params", "records"),
    ("answers", "reply", "verdict"),
)
_NAMES = ("metric", "perturbation", "serializer", "prompt", "analysis", "verdict")


def replays(*kinds: str) -> Callable[[Replay], Replay]:
    """Register the function as the replay of these kinds."""

    def register(function: Replay) -> Replay:
        for kind in kinds:
            assert kind not in REPLAYS, f"two replays of {kind}"
            REPLAYS[kind] = function
        return function

    return register


def summarizes(kind: str) -> Callable[[Summary], Summary]:
    """Register the function that judges all records of a kind: a note, and what differs."""

    def register(function: Summary) -> Summary:
        SUMMARIES[kind] = function
        return function

    return register


def kind_of(record: Record) -> str:
    """The kind of a record: as it says itself, or by its shape.

    Where two benchmarks have kinds of one name, the id begins with the benchmark's.
    """
    if "kind" in record:
        benchmark = str(record.get("id", "")).partition("/")[0]
        own = f"{benchmark}.{record['kind']}"
        return own if own in REPLAYS else str(record["kind"])
    if record.get("metric") == "postprocessor":
        return "postprocessor"
    for shape, name in zip(_SHAPES, _NAMES, strict=True):
        if set(shape) <= set(record):
            return f"metric.{record['metric']}" if name == "metric" else name
    if str(record.get("metric", "")).endswith("_batch"):
        return f"metric.{record['metric']}"
    return "unknown"


def read(path: Path) -> list[tuple[str, str, Record]]:
    """Kind, id and content of each record of a file; ids are places where records have none.

    A record that takes its cases from another one of its file has them under `source`.
    """
    records = decode(json.loads(read_text(path)))
    by_id = {record["id"]: record for record in records if "id" in record}
    found = []
    for place, record in enumerate(records):
        whole = revised(record)
        if "records_of" in record:
            whole = {**whole, "of": by_id[record["records_of"]]}
        found.append((kind_of(record), str(record.get("id", f"#{place}")), whole))
    return found


def replay(kind: str, record: Record) -> list[str]:
    """What of a record our code says otherwise; an exception is a difference too."""
    try:
        return list(REPLAYS[kind](record))
    except Exception as error:  # one record that cannot be replayed is no end of the others
        return [f"{type(error).__name__}: {error}"]


def differences(found: Any, expected: Any, where: str = "", tolerance: float = 1e-9) -> list[str]:
    """Where two JSON values differ; numbers are equal within the tolerance, kinds must be."""
    return list(_differences(found, expected, where, tolerance))


def _differences(found: Any, expected: Any, where: str, tolerance: float) -> Iterator[str]:
    pairs: Iterable[tuple[Any, Any, str]]
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        if set(found) != set(expected):
            yield f"{where}: keys {sorted(found)} instead of {sorted(expected)}"
            return
        pairs = [(found[key], expected[key], f"{where}/{key}") for key in expected]
    elif isinstance(expected, list) and isinstance(found, list | tuple):
        if len(found) != len(expected):
            yield f"{where}: {len(found)} entries instead of {len(expected)}"
            return
        both = zip(found, expected, strict=True)
        pairs = [(one, other, f"{where}/{place}") for place, (one, other) in enumerate(both)]
    else:
        if not _equal(found, expected, tolerance):
            yield f"{where}: {found!r:.200} instead of {expected!r:.200}"
        return
    for one, other, place in pairs:
        yield from _differences(one, other, place, tolerance)


def _equal(found: Any, expected: Any, tolerance: float) -> bool:
    if _is_number(expected):
        same = _is_number(found) and (math.isnan(found) == math.isnan(expected))
        return same and (
            math.isnan(expected) or math.isclose(found, expected, rel_tol=0, abs_tol=tolerance)
        )
    return type(found) is type(expected) and bool(found == expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
