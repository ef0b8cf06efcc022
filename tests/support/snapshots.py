"""Runs of the toy dataset that record answers, and their stored answers and messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
import syrupy.extensions.amber  # noqa: F401 - pytester takes out what a test imports

from pytest_tablebench.results.snapshot_comparison import read_entries
from pytest_tablebench.results.snapshots import Entry
from tests.support.toy_bench import Bench

RECORD = ("--bench-snapshot", "--snapshot-update")
RIGHT = {"ada": "36", "bo": "41", "cy": "12"}


def answers(bench: Bench, **texts: str | None) -> str:
    """Return a scripted model for ada, bo and cy, right except for `texts`; None is no answer."""
    lines = [
        {"match": f"How old is {name.capitalize()}?"}
        | ({"error": "timeout"} if text is None else {"text": text})
        for name, text in (RIGHT | texts).items()
    ]
    return "--model=" + bench.script(*lines)


def stored(bench: Bench) -> dict[str, Entry]:
    """Return all stored answers by name."""
    entries: dict[str, Entry] = {}
    for path in sorted((bench.path / "snapshots").glob("*")):
        assert path.suffix == ".ambr", path
        entries |= {name: Entry.decode(data) for name, data in read_entries(path).items()}
    return entries


def content(bench: Bench) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (bench.path / "snapshots").glob("*")}


def changes(bench: Bench, results: str) -> dict[str, Any]:
    text = (bench.path / results / "snapshots.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def counts(bench: Bench, results: str) -> dict[str, int]:
    """Return the counts that are not 0."""
    return {kind: count for kind, count in changes(bench, results)["counts"].items() if count}


def summary(result: pytest.RunResult) -> list[str]:
    """Return the lines of our section."""
    lines = result.outlines
    start = next(n for n, line in enumerate(lines) if "snapshots of answers" in line)
    end = next((n for n, line in enumerate(lines) if n > start and line.startswith("=")), None)
    return lines[start + 1 : end]
