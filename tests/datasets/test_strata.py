"""Samples are spread over tags and tables and reproducible."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pytest_tablebench.datasets import Example, Source, Stratum, sampled_ids, table_question
from pytest_tablebench.datasets._questions import memory_source
from pytest_tablebench.datasets._source import draw
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table
from tests.support import upstream

GROUPED = [Stratum((), table) for table in "abcd" for _ in range(10)]
"""Forty questions, ten about each of four tables, grouped by table."""


def sample(strata: list[Stratum], count: int, *, name: str = "d", seed: int = 0) -> list[Stratum]:
    return [strata[place] for place in draw(strata, count, name=name, seed=seed)]


def test_every_table_is_drawn_before_any_is_drawn_twice() -> None:
    assert Counter(one.table for one in sample(GROUPED, 4)) == dict.fromkeys("abcd", 1)
    assert Counter(one.table for one in sample(GROUPED, 8)) == dict.fromkeys("abcd", 2)


def test_tags_alternate_until_they_are_used_up() -> None:
    strata = [Stratum("much", n) for n in range(50)]
    strata += [Stratum("little", n) for n in range(5)] + [Stratum("few", n) for n in range(2)]
    assert Counter(one.tags for one in sample(strata, 6)) == {"much": 2, "little": 2, "few": 2}
    assert Counter(one.tags for one in sample(strata, 20)) == {"much": 13, "little": 5, "few": 2}


def test_tags_do_not_take_each_others_tables() -> None:
    strata = [Stratum(tag, table) for table in range(6) for tag in ("x", "y") for _ in range(3)]
    for seed in range(20):
        found = sample(strata, 6, seed=seed)
        assert Counter(one.table for one in found) == dict.fromkeys(range(6), 1)
        assert Counter(one.tags for one in found) == {"x": 3, "y": 3}


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    strata = [Stratum(n % 3, n // 7) for n in range(60)]
    larger: set[int] = set()
    for count in range(61):
        drawn = draw(strata, count, name="d")
        assert len(drawn) == count
        assert drawn == sorted(set(drawn))
        assert larger <= set(drawn)
        larger = set(drawn)
    assert draw(strata, 1000, name="d") == list(range(60))


def test_the_sample_depends_only_on_seed_and_dataset_name() -> None:
    first = draw(GROUPED, 12, name="d", seed=1)
    assert draw(GROUPED, 12, name="d", seed=1) == first
    assert draw(GROUPED, 12, name="d", seed=2) != first
    assert draw(GROUPED, 12, name="e", seed=1) != first


def test_each_example_of_a_table_can_be_drawn() -> None:
    drawn = {place for seed in range(200) for place in draw(GROUPED, 4, name="d", seed=seed)}
    assert drawn == set(range(40))


# Sources


def questions(count: int) -> list[Example]:
    tables = [Table(["N"], [[str(n)]], name="the same") for n in range(3)]
    return [
        table_question(f"q{n}", tables[n % 3], f"Which {n}?", ["x"], tags={"kind": str(n % 2)})
        for n in range(count)
    ]


def test_questions_of_a_user_have_tags_and_tables() -> None:
    found = memory_source(questions(60))
    ids = sampled_ids(found, 6, name="own")
    numbers = [int(name[1:]) for name in ids]
    assert numbers == sorted(numbers)
    assert Counter(n % 3 for n in numbers) == {0: 2, 1: 2, 2: 2}
    assert Counter(n % 2 for n in numbers) == {0: 3, 1: 3}


class Loading(Source):
    """A user's source without strata."""

    def __init__(self) -> None:
        self.examples = {example.id: example for example in questions(9)}

    def example_ids(self, limit: int | None) -> list[str]:
        return list(self.examples)[:limit]

    def example(self, example_id: str) -> Example:
        if example_id == "q4":
            raise DataError("broken")
        return self.examples[example_id]


def test_a_source_without_strata_loads_its_examples() -> None:
    source = Loading()
    ids = sampled_ids(source, 3, name="own")
    # Three kinds alternate: two kinds of questions, and the example that cannot be loaded.
    assert "q4" in ids
    assert {int(name[1:]) % 2 for name in ids if name != "q4"} == {0, 1}


def test_perturbed_examples_keep_their_tags() -> None:
    [example] = questions(1)
    assert example.with_tables(lambda table: table).tags == {"kind": "0"}


@pytest.mark.parametrize("name", ["wikitq", "tabfact"])
def test_strata_of_upstream_files_name_tables_without_reading_them(
    tmp_path: Path, name: str
) -> None:
    from pytest_tablebench.running.builtins import builtin_registry

    getattr(upstream, name)(tmp_path)
    source = builtin_registry().datasets[name].open(tmp_path)
    ids = source.example_ids(None)
    strata = [source.stratum(example_id) for example_id in ids]
    tables = [
        next(v for v in source.example(i).inputs.values() if isinstance(v, Table)).name for i in ids
    ]
    assert [strata.index(one) for one in strata] == [tables.index(one) for one in tables]
