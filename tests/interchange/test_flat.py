"""CSV and Parquet: a row for each case, and no text that a spreadsheet computes."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from tests.support.exported_runs import FORMULA, QUESTION, write_full_run
from tests.support.run_folders import record, write_run


def exported(run: Path, *options: str) -> list[dict[str, str]]:
    assert main(["export", str(run), "--to", "csv", *options]) == 0
    with (run / "export" / "records.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_three_outcomes_stand_apart(tmp_path: Path) -> None:
    rows = exported(write_full_run(tmp_path / "run"))
    found = [(row["outcome"], row["score"], row["passed"], row["reason"]) for row in rows]
    assert found[:3] == [
        ("right", "1.0", "true", ""),
        ("wrong", "0.25", "false", ""),
        ("no_answer", "", "", "timeout"),
    ]


def test_parts_checks_and_tags_are_columns_and_lists_are_json(tmp_path: Path) -> None:
    rows = exported(write_full_run(tmp_path / "run"), "--raw")
    assert rows[3]["part.partial"] == "0.5"
    assert rows[3]["check.test_toy"] == "true"
    assert rows[3]["check.test_odd"] == rows[0]["check.test_toy"] == ""
    assert rows[0]["tag.kind"] == "lookup"
    assert rows[0]["references"] == '["Hexley", "HEXLEY"]'
    assert rows[1]["prediction"] == '["x", 2]'
    assert rows[0]["question"] == QUESTION
    assert rows[5]["question"] == ""


def test_what_a_spreadsheet_would_compute_is_text_unless_raw(tmp_path: Path) -> None:
    run = write_full_run(tmp_path / "run")
    guarded, raw = exported(run), exported(run, "--raw")
    assert [row["raw"] for row in guarded][:2] == ["Hexley", f"'{FORMULA}"]
    assert [row["raw"] for row in raw][:2] == ["Hexley", FORMULA]
    assert guarded[0]["tag.tag:odd"] == "'=1"
    assert guarded[0]["score"] == "1.0"


def test_every_beginning_of_a_formula_is_guarded(tmp_path: Path) -> None:
    texts = ["=1", "+1", "-1", "@a", "\t=1", " =1", "\rx", "＝1"]
    records = [record(str(n), "csv", "none", (1.0, text)) for n, text in enumerate(texts)]
    rows = exported(write_run(tmp_path / "run", records))
    assert [row["raw"] for row in rows] == [f"'{text}" for text in texts]


def test_names_without_end_are_one_column(tmp_path: Path) -> None:
    many = {f"t{number}": "x" for number in range(101)}
    [row] = exported(write_run(tmp_path / "run", [record("a", "csv", "none", 1.0, tags=many)]))
    assert json.loads(row["tags"]) == many
    assert "tag.t0" not in row


def test_a_lone_surrogate_is_written_as_an_escape(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [record("a", "csv", "none", (1.0, "\ud800"))])
    assert exported(run)[0]["raw"] == "\\ud800"


def test_parquet_without_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", str(write_full_run(tmp_path / "run")), "--to", "parquet"]) == 2
    assert "pip install 'pytest-tablebench[parquet]'" in capsys.readouterr().err


def test_parquet_has_the_columns_with_their_types(tmp_path: Path) -> None:
    pq: Any = pytest.importorskip("pyarrow.parquet")
    run = write_full_run(tmp_path / "run")
    assert main(["export", str(run), "--to", "parquet"]) == 0
    table = pq.read_table(run / "export" / "records.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    wanted = {"score": "double", "passed": "bool", "prompt_tokens": "int64", "reason": "string"}
    assert types | wanted == types
    rows = table.to_pylist()
    assert [row["raw"] for row in rows][:3] == ["Hexley", FORMULA, None]
    assert [row["passed"] for row in rows][:3] == [True, False, None]


def test_an_option_of_another_form_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_full_run(tmp_path / "run")
    assert main(["export", str(run), "--to", "every-eval-ever", "--raw"]) == 2
    assert "--raw needs --to csv, not every-eval-ever" in capsys.readouterr().err


def test_a_run_without_cases_has_nothing_to_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", [])
    assert main(["export", str(run), "--to", "csv"]) == 2
    assert "has no recorded case, so there is nothing to export" in capsys.readouterr().err
