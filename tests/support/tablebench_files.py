"""Small files of TableBench in its three versions, with made-up content."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.datasets import Source
from pytest_tablebench.datasets.torr.tablebench import DATASETS, TableBench

PLAIN, DP, V2 = "TableBench.jsonl", "TableBench_DP.jsonl", "v2/TableBench_TCoT.jsonl"
FACTS = {"columns": ["ship", "men"], "data": [["gull", 12], ["tern", None], ["skua", 7.5]]}


def record(number: int = 1, qtype: str = "FactChecking", **changes: Any) -> dict[str, Any]:
    """Return a row of the version that has neither formatter nor instruction."""
    made: dict[str, Any] = {
        "id": f"q{number}",
        "qtype": qtype,
        "qsubtype": "MatchBased",
        "table": FACTS,
        "question": f"How many men has ship {number}?",
        "answer": str(number),
    }
    return {key: value for key, value in (made | changes).items() if value is not ...}


def with_instruction(number: int = 1, kind: str = "DP", **changes: Any) -> dict[str, Any]:
    text = (
        f"You are an analyst.\n\n\nWrite it like this, {number}. \n\n\nNow read:\n[TABLE]\n\nAsk."
    )
    return record(number, instruction=text, instruction_type=kind, **changes)


def with_formatter(number: int = 1, kind: str = "DP", **changes: Any) -> dict[str, Any]:
    extra = {"table": json.dumps(FACTS), "answer_formatter": f"The form (UN) of {number}."}
    return with_instruction(number, kind, **(extra | changes))


def many(make: Any, count: int = 30, **changes: Any) -> list[dict[str, Any]]:
    return [make(number, **changes) for number in range(1, count + 1)]


def written(folder: Path, **files: Sequence[Any] | str) -> Path:
    """Write files by key `plain`, `dp`, `v2`, from rows or lines."""
    for key, content in files.items():
        path = folder / {"plain": PLAIN, "dp": DP, "v2": V2}[key]
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [line if isinstance(line, str) else json.dumps(line) for line in content]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def dataset(name: str = "tablebench_fc") -> TableBench:
    [matching] = [each for each in DATASETS if isinstance(each, TableBench) and each.name == name]
    return matching


def opened(folder: Path, name: str = "tablebench_fc") -> Source:
    return dataset(name).open(folder)


def numbers(source: Source) -> tuple[list[int], list[int]]:
    """Return the numbers of the evaluated questions and of the pool's."""
    pool = [source.pool[index].id for index in range(len(source.pool))]
    return tuple([int(name[1:]) for name in names] for names in (source.example_ids(None), pool))  # type: ignore[return-value]
