"""Reading NumericNLG, SciGen and QTSumm: examples, prompts and demonstration files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import text_key
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.tables.table import Table
from tests.support.generation_files import (
    N_KEYS,
    N_TEST,
    N_TEST_DESC,
    N_VAL,
    N_VAL_DESC,
    Q_DEV,
    Q_TEST,
    S_DEV,
    S_MEDIUM,
    S_TEST,
    S_TRAIN,
    every,
    ids,
    n_files,
    n_table,
    n_text,
    opened,
    q_files,
    q_row,
    q_table,
    s_files,
    s_row,
)

# Examples


def test_numericnlg_joins_table_and_description(tmp_path: Path) -> None:
    source = opened("numericnlg", tmp_path)
    assert ids(source) == N_KEYS  # the order of the tables, not of the descriptions
    assert list(source.example_ids(1)) == N_KEYS[:1]
    example = source.example(N_KEYS[0])
    assert list(example.inputs) == ["table", "caption"]
    assert example.inputs["table"] == Table(
        ["", "Kiln || Old", "Kiln || New"], [["Fired || Day", "12", "40"]]
    )
    assert example.inputs["caption"] == example.question == "Kilns of P16-1table_2"
    text = "In P16-1table_2 the New kiln wins. It fires 40 times."
    assert (example.references, example.target) == ((text,), text)
    assert not source.problems


def test_scigen_reads_the_test_file_of_computation_and_language(tmp_path: Path) -> None:
    source = opened("scigen", tmp_path)
    assert ids(source) == ["17", "3"]  # in file order, with gaps
    example = source.example("17")
    assert list(example.inputs) == ["table", "caption"]
    assert example.inputs["table"] == Table(
        ["Kiln", "Fired"], [["Old", "[BOLD] 12"], ["New", "40\u00a0±\u00a01"]]
    )
    assert example.references == ("In a the New kiln wins. [CONTINUE] It fires 40 times.",)
    assert any("test-CL.json" in note and "test-Other.json" in note for note in source.facts.notes)
    assert set(source.facts.files) == {S_TEST, S_TRAIN}


def test_qtsumm_uses_the_table_unchanged(tmp_path: Path) -> None:
    source = opened("qtsumm", tmp_path)
    assert ids(source) == ["e-2", "e-1"]
    example = source.example("e-1")
    assert list(example.inputs) == ["table", "question"]
    assert example.question == "Which kiln wins e-1?"
    assert example.references == ("The New kiln wins e-1.",)
    mapping = example.inputs["table"].as_mapping()
    assert mapping == q_table()
    assert list(mapping) == ["header", "rows", "title", "table_id"]
    assert not source.facts.notes


@every
def test_pool_keys_equal_those_of_the_loaded_items(name: str, tmp_path: Path) -> None:
    pool = opened(name, tmp_path).pool
    assert len(pool) == 6
    assert [pool.key(n) for n in range(6)] == [text_key(pool[n]) for n in range(6)]


@every
def test_a_dataset_has_its_published_properties(name: str) -> None:
    dataset = builtin_registry().datasets[name]
    assert (dataset.benchmark, dataset.metric, dataset.shots, dataset.limit) == (
        "torr", "rouge", 5, 100,
    )  # fmt: skip
    assert dataset.threshold == {"qtsumm": 0.40}.get(name, 0.15)
    for compat in ("fixed", "reference"):
        chain = ("to_string_stripped",) if name == "qtsumm" else ("lower_case",)
        assert dataset.chain(compat) == chain
    assert "\n" not in dataset.fetch
    assert dataset.fetch


# Prompts: torr.md sections 3.5 to 3.7


def prompt(name: str, folder: Path, example_id: str, serializer: str = "csv") -> str:
    opened(name, folder)
    runner = Runner(Settings(data=folder), builtin_registry())
    text = runner.renderer.task(Case(name, example_id, serializer, "none", "m", "id")).prompt
    assert isinstance(text, str)
    return text


def test_the_prompt_of_numericnlg_equals_the_published_one(tmp_path: Path) -> None:
    text = prompt("numericnlg", tmp_path, N_KEYS[1])
    table = ",Kiln || Old,Kiln || New\nFired || Day,12,40"
    assert text.endswith(
        f"\n\ntable: \n{table} \ncaption: \nKilns of P16-1table_3 \ndescription:\n"
    )
    instruction, *shown = text.split("table: \n")
    assert len(shown) == 6  # five demonstrations and the question
    for demonstration in shown[:-1]:
        assert demonstration.startswith(f"{table} \ncaption: \nKilns of V16-")
        assert " \ndescription:\nIn V16-" in demonstration
    for word in ("table", "caption", "description", "examples", "output", "last"):
        assert word in instruction


def test_the_prompt_of_scigen_equals_the_published_one(tmp_path: Path) -> None:
    text = prompt("scigen", tmp_path, "3")
    table = "Kiln,Fired\nOld,[BOLD] 12\nNew,40\u00a0±\u00a01"
    assert text.endswith(
        f"\n\ntable: \n{table} \ncaption: \nTable 1: kilns of b \ntext description:\n"
    )
    assert text.count(" \ntext description:\nIn t") == 5
    assert "text description" in text.split("table: \n")[0]


def test_the_prompt_of_qtsumm_equals_the_published_one(tmp_path: Path) -> None:
    text = prompt("qtsumm", tmp_path, "e-1")
    table = "Kiln,Fired\nOld,12\nNew,40"
    assert text.endswith(f"\n\nTable:\n{table}\nQuery:\nWhich kiln wins e-1?\nAnswer:\n")
    assert text.count(f"Table:\n{table}\nQuery:\nWhich kiln wins t-") == 5
    assert text.count("?\nAnswer:\nThe New kiln wins t-") == 5
    assert "Kilns" not in text
    assert "k-1" not in text
    instruction = text.split("Table:\n")[0]
    for word in ("Table", "query", "paragraph", "examples", "output", "last"):
        assert word in instruction


# Demonstrations


def test_demonstrations_of_numericnlg_are_from_the_training_files_if_present(
    tmp_path: Path,
) -> None:
    source = opened("numericnlg", tmp_path)
    [note] = source.facts.notes
    assert "validation" in note
    assert set(source.facts.files) == {N_TEST, N_TEST_DESC, N_VAL, N_VAL_DESC}
    train = {"data/table_train.json": [n_table("T")], "data/table_desc_train.json": [n_text("T")]}
    source = opened("numericnlg", tmp_path / "2", n_files() | train)
    assert not source.facts.notes
    assert [source.pool[n].id for n in range(len(source.pool))] == ["T"]
    # One file of the pair is not enough.
    half = {"data/table_desc_train.json": [n_text("T")]}
    source = opened("numericnlg", tmp_path / "3", n_files() | half)
    assert len(source.pool) == 6
    assert source.facts.notes


def test_demonstrations_of_scigen_are_from_the_medium_training_file_if_present(
    tmp_path: Path,
) -> None:
    files = s_files() | {S_DEV: {"1": s_row("d")}}
    kinds = {}
    for number, extra in enumerate(({S_MEDIUM: {"9": s_row("m")}}, {})):
        source = opened("scigen", tmp_path / str(number), files | extra)
        kinds[source.pool[0].question[-2:]] = [n for n in source.facts.notes if "demonstr" in n]
    del files[S_TRAIN]
    source = opened("scigen", tmp_path / "3", files)
    kinds[source.pool[0].question[-2:]] = [n for n in source.facts.notes if "demonstr" in n]
    assert list(kinds) == [" m", "t0", " d"]
    assert kinds[" m"] == []
    assert "few-shot training" in kinds["t0"][0]
    assert "validation" in kinds[" d"][0]


def test_demonstrations_of_qtsumm_are_from_the_validation_file_without_a_training_file(
    tmp_path: Path,
) -> None:
    files = {Q_TEST: [q_row("e-1")], Q_DEV: [q_row("d-1")]}
    source = opened("qtsumm", tmp_path, files)
    [note] = source.facts.notes
    assert "validation" in note
    assert set(source.facts.files) == {Q_TEST, Q_DEV}
    assert source.pool[0].id == "d-1"


def test_rows_are_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_tablebench.datasets.torr.generation.SOURCE_LIMIT", 20)
    many = [q_row(f"e-{number}") for number in range(22)]
    source = opened("qtsumm", tmp_path, q_files(test=many, train=many))
    assert len(ids(source)) == len(source.pool) == 20
