"""Parts of a run are split by table, in the same way on every machine."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings, read_settings
from pytest_tablebench.datasets import Example, SourceFacts, shard_numbers, stratum_of
from pytest_tablebench.datasets._questions import memory_source
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.tables.table import Table


def example(number: int, table: Table | None) -> Example:
    inputs = {"question": f"{number}?"} | ({} if table is None else {"table": table})
    return Example(f"e{number}", inputs, f"{number}?", ("1",), "1")


def test_parts_are_split_by_table_or_else_by_example_id() -> None:
    tables = [Table(["a"], [[number]]) for number in range(20)]
    found = [example(number, tables[number // 3]) for number in range(60)]
    found += [example(number, None) for number in range(60, 160)]
    source = memory_source(found, [], SourceFacts({}))
    ids = source.example_ids(None)
    numbers = shard_numbers(source, ids, 4)
    by_table = defaultdict(set)
    for place, number in enumerate(numbers[:60]):
        by_table[place // 3].add(number)
    assert all(len(one) == 1 for one in by_table.values())
    assert set(numbers[60:]) == {1, 2, 3, 4}
    # The rule: the first eight bytes of the SHA-256 as a number, modulo the number of parts.
    digest = hashlib.sha256(b"e60").digest()
    assert numbers[60] == 1 + int.from_bytes(digest[:8], "big") % 4
    assert shard_numbers(source, ids, 1) == [1] * 160


@pytest.mark.parametrize("draws", [{}, {"configs_per_example": 2}, {"sample": 15}, {"limit": 9}])
def test_the_parts_together_have_the_cases_of_the_whole_run(draws: dict[str, Any]) -> None:
    def cases(shard: str | None) -> tuple[list[Case], list[str], Runner]:
        settings = Settings(shard=shard, serializers=("csv", "html"), **draws)
        runner = Runner(settings, builtin_registry())
        return *runner.cases("starter"), runner

    whole, ids, _ = cases(None)
    found, parts = [], []
    for number in (1, 2, 3):
        own, own_ids, runner = cases(f"{number}/3")
        found += list(zip(own, own_ids, strict=True))
        parts.append(runner.shards["starter"])
        assert parts[-1][number - 1] == len({case.example_id for case in own})
    assert sorted(found, key=repr) == sorted(zip(whole, ids, strict=True), key=repr)
    assert parts[0] == parts[1] == parts[2]
    source = Starter().open(Path())
    tables = [
        {stratum_of(source.example(case.example_id)).table for case in cases(f"{number}/3")[0]}
        for number in (1, 2, 3)
    ]
    assert sum(map(len, tables)) == len(set.union(*tables))


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "-1/3", "1/3/5", "1.5/3", "1/"])
def test_an_invalid_part_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="--bench-shard takes I/N, part I of N"):
        read_settings({"bench_shard": text}.get, Path())


def test_a_part_has_one_spelling() -> None:
    assert read_settings({"bench_shard": " 02/010 "}.get, Path()).shard == "2/10"
