"""Run folders that are parts of one run over the dataset `toy`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.results import Record
from tests.support.run_folders import GRID, record, write_run


def part(path: Path, number: int, count: int, records: Sequence[Record], **facts: Any) -> Path:
    """Write the run folder of part `number` of `count`."""
    written: dict[str, Any] = {
        "shard": f"{number}/{count}",
        "shards": {"toy": [1] * count},
        "by_dataset": {"toy": {"threshold": 1.0, "does_not_apply": {}}},
        "start": "2026-01-02T03:04:05+00:00",
        "end": "2026-01-02T03:05:05+00:00",
        "calls_paid": len(records),
        "calls_repeated": 0,
        "prompt_tokens": 10 * len(records),
        "completion_tokens": len(records),
        "cost_usd": 0.5,
        "store_hits": 0,
    }
    return write_run(path, records, **(written | facts))


def cases(scores: Mapping[str, Sequence[float | None]], **fields: Any) -> list[Record]:
    return [
        record(example, *configuration, score, **fields)
        for example, example_scores in scores.items()
        for configuration, score in zip(GRID, example_scores, strict=True)
    ]


TWO: dict[str, list[float | None]] = {"e1": [1.0, 0.0, None, 1.0], "e2": [0.5, 0.5, 1.0, 1.0]}


def halves(tmp_path: Path, **facts: Any) -> list[Path]:
    """Write both parts of a run over two examples; `facts` are the second part's."""
    return [
        part(tmp_path / "a", 1, 2, cases({"e1": TWO["e1"]})),
        part(tmp_path / "b", 2, 2, cases({"e2": TWO["e2"]}), **facts),
    ]
