"""TReB's submission: upstream's fields and ids, each sample once, read back equal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.results import Record
from tests.support.run_folders import record, write_run

REPLY = 'Thought.\n```json\n{"thought": "a\u2028b", "answer": "七"}\n```'


def answered(example: str, dataset: str = "treb_table_query", **fields: object) -> Record:
    values = {"prediction": "七", "benchmark": "treb", **fields}
    return record(example, "tsv", "none", (1.0, REPLY), dataset=dataset, **values)  # type: ignore[arg-type]


def read_submission(path: Path) -> list[dict[str, str]]:
    lines = path.read_text("utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines]


def test_lines_have_upstreams_fields_and_are_read_back(tmp_path: Path) -> None:
    lost = record("English|t|3|q_1", "tsv", "none", None, dataset="treb_table_query")
    records = [
        replace(answered("English|t|1|q_1"), strategy="tcot"),
        replace(answered("Chinese|t|2|q_1"), strategy="tcot"),
        replace(answered("English|t|1|q_1", prediction="8\n"), strategy="pot", case_id="p"),
        replace(lost, benchmark="treb", strategy="tcot"),
        record("ada", "csv", "none", 1.0),  # of another benchmark
    ]
    run = write_run(tmp_path / "run", records)
    assert main(["export", str(run), "--to", "treb-submission"]) == 0
    assert sorted(path.name for path in (run / "export").iterdir()) == [
        "treb-pot.jsonl",
        "treb-tcot.jsonl",
    ]
    expected = [
        {
            "id": f"Table_Query|t|{number}|q_1",
            "model_name": "m",
            "question": "",
            "generation": REPLY,
            "pred_answer": "七",
        }
        for number in (1, 2)
    ]
    path = run / "export" / "treb-tcot.jsonl"
    assert read_submission(path) == expected
    lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    assert [list(line) for line in lines] == [
        ["id", "model_name", "question", "generation", "pred_answer"]
    ] * 2
    [printed] = read_submission(run / "export" / "treb-pot.jsonl")
    assert printed["pred_answer"] == "8\n"


def test_a_sample_with_several_answers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = answered("English|t|1|q_1")
    twice = [first, answered("English|t|1|q_1", tail="/r2", repeat=2)]
    # A strategy that comes first in the order of files is not written either.
    run = write_run(tmp_path / "run", [*twice, replace(first, strategy="alone", case_id="a")])
    assert main(["export", str(run), "--to", "treb-submission"]) != 0
    assert "Table_Query|t|1|q_1 was answered several times" in capsys.readouterr().err
    assert not list(run.rglob("treb-*.jsonl"))


def test_a_run_without_treb_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "run", [record("ada", "csv", "none", 1.0)])
    assert main(["export", str(run), "--to", "treb-submission"]) != 0
    assert "no answered case of TReB" in capsys.readouterr().err
