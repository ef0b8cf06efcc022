"""TURL's column types and TableBench over real slices of the upstream files.

They lie in `../shared/data` beside the repository, or where TABLEBENCH_DATA_SLICES says.
Without them the tests are skipped, with that as the reason.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import Source
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import TableError
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.serializers import SERIALIZERS, serialize
from pytest_tablebench.tables.perturbations import GRID
from tests.support.slices import ROOT, needs_slices, runner

pytestmark = needs_slices("turl_cta", "tablebench")

KINDS = {
    "tablebench_da": "DataAnalysis",
    "tablebench_fc": "FactChecking",
    "tablebench_nr": "NumericalReasoning",
}
PLAIN, DP, V2 = "TableBench.jsonl", "TableBench_DP.jsonl", "v2/TableBench_TCoT.jsonl"


def rows(file: str) -> list[dict[str, object]]:
    text = (ROOT / "tablebench" / file).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


# TURL: read off the file by hand


LAST = ("Scottish Cup", "4th Round", "5th Round")
BEFORE = (
    ("Scottish Premier League", "", ""),
    ("UEFA Champions League", "Group stage", "Group stage"),
    ("UEFA Europa League", "Round of 32", "Round of 16"),
    ("League Cup", "3rd Round", "Winners"),
)


@pytest.mark.parametrize("compat", COMPAT_MODES)
def test_the_columns_of_the_first_turl_table(compat: Compat) -> None:
    source = runner(compat, 2).source("turl_cta")
    assert list(source.example_ids(None)) == ["27295818-29-1", "27295818-29-2", "27295818-29-3"]
    examples = [source.example(name) for name in source.example_ids(None)]
    table = examples[0].inputs["table"]
    assert table.header == ("competition", "started round", "final position / round")
    assert table.rows == (BEFORE if compat == "reference" else (*BEFORE, LAST))
    assert all(example.inputs["table"] is table for example in examples)
    assert [example.inputs["colname"] for example in examples] == list(table.header)
    for example in examples:
        assert example.references == ("time.event",)
        assert example.inputs["page_title"] == "2010–11 rangers f.c. season"
        assert (example.inputs["section_title"], example.inputs["table_caption"]) == ("overall", "")
        vocabulary = example.inputs["vocab"]
        assert len(vocabulary) == len(set(vocabulary)) == 255
        assert (vocabulary[0], vocabulary[-1]) == (
            "royalty.noble_person",
            "baseball.baseball_player",
        )
        assert "time.event" in vocabulary
    assert not source.problems
    [note] = source.facts.notes
    assert "test file itself" in note


# TableBench: counts by the lottery, run here with the standard library's generator


@pytest.mark.parametrize(
    ("dataset", "tests", "pool", "first"),
    [
        ("tablebench_da", 38, 11, ("37125493373f4dba45a76bf2ae812a57", "No clear impact")),
        ("tablebench_fc", 24, 7, ("c2f777e603e02e71156416f9065b55f5", "Bulgaria")),
        ("tablebench_nr", 38, 11, ("1aba704991b72a8107475d7fea800b42", "115.7")),
    ],
)
def test_splits_of_each_kind(dataset: str, tests: int, pool: int, first: tuple[str, str]) -> None:
    source = runner().source(dataset)
    ids = source.example_ids(None)
    assert (len(ids), len(source.pool)) == (tests, pool)
    example = source.example(ids[0])
    assert (example.id, example.references[0]) == first
    shown = {source.pool[index].id for index in range(pool)}
    assert len(shown) == pool
    assert shown.isdisjoint(ids)
    assert not source.problems
    assert list(source.facts.files) == [PLAIN]
    assert "our own words" in source.facts.notes[0]


def test_the_id_that_occurs_twice() -> None:
    source = runner().source("tablebench_nr")
    name = "e067a40ab6736ac5a004d9dc69f2d5c0"
    # The first of the two became a demonstration, the second is asked.
    assert name in {source.pool[index].id for index in range(len(source.pool))}
    assert f"{name}-2" in source.example_ids(None)
    assert source.example(f"{name}-2").references == ("51.44",)
    assert any(name in note for note in source.facts.notes)


@pytest.mark.parametrize(
    ("file", "counts", "words"),
    [
        (DP, {"tablebench_da": 7, "tablebench_fc": 2, "tablebench_nr": 8}, "field instruction"),
        (V2, {"tablebench_da": 0, "tablebench_fc": 0, "tablebench_nr": 4}, "with answer_formatter"),
    ],
)
def test_each_version_alone(tmp_path: Path, file: str, counts: dict[str, int], words: str) -> None:
    target = tmp_path / "tablebench" / file
    target.parent.mkdir(parents=True)
    shutil.copy(ROOT / "tablebench" / file, target)
    run = Runner(Settings(data=tmp_path), builtin_registry())
    for dataset, count in counts.items():
        wanted = [row for row in rows(file) if row["qtype"] == KINDS[dataset]]
        assert len(wanted) == count
        if not count:
            continue
        source = run.source(dataset)
        assert list(source.facts.files) == [file]
        assert f"({count} rows)" in source.facts.notes[0]
        assert words in source.facts.notes[0]
        assert not source.problems
        by_id = {row["id"]: row for row in wanted}
        for name in source.example_ids(None):
            example, row = source.example(name), by_id[name]
            formatter = example.inputs["answer_formatter"]
            # Both are upstream's own text.
            if "answer_formatter" in row:
                assert formatter == row["answer_formatter"]
            else:
                assert f"\n\n\n{formatter}\n\n\n" in str(row["instruction"])
                assert "Final Answer: " in formatter


def test_the_form_is_the_same_from_the_field_and_from_the_instruction() -> None:
    found = rows(V2)
    assert len(found) == 4
    for row in found:
        assert str(row["instruction"]).split("\n\n\n")[1] == row["answer_formatter"]


# The whole grid


@pytest.mark.parametrize("compat", COMPAT_MODES)
@pytest.mark.parametrize(
    ("dataset", "examples", "shots"),
    [
        ("turl_cta", 3, 2),  # the slice has two other columns to show
        ("tablebench_da", 38, None),
        ("tablebench_fc", 24, None),
        ("tablebench_nr", 38, None),
    ],
)
def test_every_example_renders_in_all_35_configurations(
    dataset: str, examples: int, shots: int | None, compat: Compat
) -> None:
    run = runner(compat, shots)
    source: Source = run.source(dataset)
    refused: Counter[tuple[str, str, str]] = Counter()
    done = 0
    for example_id in source.example_ids(None):
        for perturbation in GRID:
            for serializer in SERIALIZERS:
                case = Case(dataset, example_id, serializer, perturbation, "m", "id")
                try:
                    task = run.renderer.task(case)
                    example, prompt = task.example, task.prompt
                except TableError:
                    refused[example_id, perturbation, serializer] += 1
                    continue
                asked = "colname" if dataset == "turl_cta" else "question"
                # A bracket at the very end is lost in the reference.
                assert example.inputs[asked].rstrip("()N\\\n") in prompt
                if compat == "fixed":
                    assert serialize(example.inputs["table"], serializer) in prompt
                done += 1
    assert not refused
    assert done == examples * 35
