"""Survey, check, copy and compact the folder of a store, and list its model versions."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

from pytest_tablebench.store._layer import SEGMENTS, Layer, blocks
from pytest_tablebench.store._line import ANSWER, RESOLUTION, BadLine, read_answer, read_other
from pytest_tablebench.util.files import write_whole


def fingerprints(folder: Path, generation: str) -> Counter[str]:
    """Return how many answers of a generation name each fingerprint.

    Answers without a fingerprint, and damaged lines, are left out. Raises `StoreError` or `OSError`
    if the store cannot be read.
    """
    counts: Counter[str] = Counter()
    for path in segments_of(folder):
        with path.open("rb") as file:
            for line in file:
                if b'"fingerprint"' not in line:
                    continue
                try:
                    data = read_answer(line.rstrip(b"\n"))
                except BadLine:
                    continue
                version = data["reply"].get("fingerprint")
                if data["request"].get("generation") == generation and isinstance(version, str):
                    counts[version] += 1
    return counts


def may_have_answers(folder: Path | None, readonly: Sequence[Path | str] = ()) -> bool:
    """Return whether a store may contain more than facts about models; False without a store.

    Read-only layers always may. Reads until the first other line, which is usually the first one.
    """
    if folder is None or readonly:
        return bool(readonly)
    try:
        return any(map(_has_other_lines, (folder / SEGMENTS).glob("*.jsonl")))
    except OSError:  # the store reports it when it is opened
        return True


def _has_other_lines(segment: Path) -> bool:
    with segment.open("rb") as lines:
        return any(not line.startswith(RESOLUTION) for line in lines)


IDLE = 600.0
"""Seconds without a write after which a segment counts as finished."""


_MERGED = re.compile(r"(-c[0-9a-f]{8})+$")


def segments_of(folder: Path) -> list[Path]:
    """Return the segments in a store's folder or in a folder of segments, sorted by name."""
    inside = folder / SEGMENTS
    return sorted((inside if inside.is_dir() else folder).glob("*.jsonl"))


@dataclass
class Survey:
    """The content of a store. `answers` counts entries by model.

    `last_used` has the time of the newest answer of each model, and `facts` its newest facts.
    """

    segments: int = 0
    bytes: int = 0
    keys: int = 0
    entries: int = 0
    damaged: int = 0
    programs: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    last_used: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def survey(folder: Path) -> Survey:
    """Read and check every line of a store. Raises `OSError`."""
    paths = segments_of(folder)
    counts = Survey(len(paths), sum(path.stat().st_size for path in paths))
    inside = folder / SEGMENTS
    with closing(Layer(inside if inside.is_dir() else folder, counts.problems.append)) as layer:
        layer.refresh(opening=True)
        counts.keys = len(layer.index)
        for position in layer.places():
            data = layer.read(position)
            if data is None:
                counts.damaged += 1
                continue
            counts.entries += 1
            request = data.get("request")
            if isinstance(request, dict):
                model, written = str(request.get("model")), str(data.get("written", ""))
                counts.answers[model] += 1
                counts.last_used[model] = max(written, counts.last_used.get(model, ""))
            else:
                counts.programs += 1
        entries = (entry for _, entry in sorted(layer.resolutions(), key=itemgetter(0)))
        counts.facts = facts_by_model(entries)
    return counts


def facts_by_model(entries: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the last facts of each model; entries of older versions do not name their model."""
    return {
        entry["model"]: entry["facts"]
        for entry in entries
        if isinstance(entry.get("model"), str) and isinstance(entry.get("facts"), dict)
    }


def copy_segments(source: Path, target: Path) -> tuple[int, int]:
    """Copy segments that another folder lacks, or of which it has fewer lines.

    Returns their number and bytes. Raises `OSError`.
    """
    count = size = 0
    folder = target / SEGMENTS
    folder.mkdir(parents=True, exist_ok=True)
    for path in segments_of(source):
        copy, data = folder / path.name, path.read_bytes()
        data = data[: data.rfind(b"\n") + 1]  # without an unfinished line
        if data and (not copy.exists() or copy.stat().st_size < len(data)):
            write_whole(copy, data)
            count, size = count + 1, size + len(data)
    return count, size


@dataclass(frozen=True)
class Compacted:
    """The result of a compaction: segments and bytes before and after, and why it stopped."""

    before: tuple[int, int]
    after: tuple[int, int]
    stopped: str = ""


def compact(folder: Path, *, idle: float = IDLE) -> Compacted:
    """Merge finished segments into one, each entry once, so that the same answers are served.

    It merges the first segments by name, up to the first that is damaged or was written to in the
    last `idle` seconds. Processes that have old segments open report that these are gone. Raises
    `OSError`, `StoreError`.
    """
    paths = segments_of(folder)
    before = len(paths), sum(path.stat().st_size for path in paths)
    taken, lines, stopped = merged(paths, idle=idle)
    if len(taken) < 2:
        return Compacted(before, before, stopped)
    first = taken[0][0]
    whole = first.with_name(f"{merged_name(first.name.partition('.jsonl')[0])}.jsonl")
    write_whole(whole, lines, durable=True)
    for path, size in taken:
        if path.stat().st_size != size:  # a process is still writing to it
            continue
        with suppress(FileNotFoundError):
            path.unlink()
    left = segments_of(folder)
    return Compacted(before, (len(left), sum(path.stat().st_size for path in left)), stopped)


def merged(
    paths: Iterable[Path], *, idle: float
) -> tuple[Sequence[tuple[Path, int]], Sequence[bytes], str]:
    """Merge the first segments, up to the first that cannot be merged. Raises `OSError`.

    Returns them with their sizes, their lines (each entry once), and why merging stopped.
    """
    stopped = ""
    taken: list[tuple[Path, int]] = []
    answers: dict[bytes, bytes] = {}
    others: dict[str, tuple[str, bytes]] = {}
    for path in paths:
        facts = path.stat()
        if time.time() - facts.st_mtime < idle:
            stopped = f"{path.name} was written to in the last {idle:.0f} s"
            break
        try:
            entries = list(_sound(path))
        except BadLine as error:
            stopped = f"{path.name} is damaged ({error}); see tablebench store verify"
            break
        for key, written, line in entries:
            if isinstance(key, bytes):
                answers.setdefault(key, line)
            elif key not in others or written >= others[key][0]:
                others[key] = written, line
        taken.append((path, facts.st_size))
    return taken, [*answers.values(), *(line for _, line in others.values())], stopped


def merged_name(first: str) -> str:
    """Return a name for the merged segment that sorts like the first one's name."""
    return f"{_MERGED.sub('', first)[:80]}-c{secrets.token_hex(4)}"


def _sound(path: Path) -> Iterator[tuple[bytes | str, str, bytes]]:
    """Yield key, time and line of each entry; the key of an answer is bytes.

    Raises `BadLine` for a segment with any other line.
    """
    with path.open("rb", buffering=0) as file:
        end = 0
        for _, lines, reached in blocks(file, 0):
            end = reached
            for line in lines.splitlines():
                if line.startswith(ANSWER):
                    data = read_answer(line)
                    yield bytes.fromhex(data["key"]), "", line + b"\n"
                elif line:
                    data = read_other(line)
                    yield data["key"], data["written"], line + b"\n"
        if file.seek(0, os.SEEK_END) > end:
            raise BadLine("its last line is torn")
