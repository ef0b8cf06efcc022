"""`tablebench complexity`: the complexity of tables by rule and by a model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from pytest_tablebench.cli import main

MARKS = ("column_header", "row_header", "partition", "compound", "visual")
DEEP = "<table><tr><td></td><td colspan=2>both</td></tr><tr><td>n</td><td>x</td><td>y</td></tr>"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "flat.csv").write_text("a,b\n1,2\n", "utf-8")
    rows = "<tr><td>r</td><td>1</td><td>2</td></tr></table>"
    (folder / "deep.html").write_text(DEEP + rows, "utf-8")
    (folder / "bad.csv").write_text("a,b\n1\n", "utf-8")
    return folder


def model(tmp_path: Path) -> str:
    marks_by_table = {"deep": (5, 4, 3, 2, 9), "flat": (1, 1, 1, 1, 1)}
    replies = {
        name: json.dumps(dict(zip(MARKS, marks, strict=True)))
        for name, marks in marks_by_table.items()
    }
    lines = [{"match": "both", "text": replies["deep"]}, {"default": replies["flat"]}]
    (tmp_path / "model.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return f"--model=tablebench/scripted:{tmp_path / 'model.jsonl'}"


def test_complexity_shows_the_rule_and_the_model(
    tmp_path: Path, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["complexity", str(tables), "-o", str(out), model(tmp_path), "--bench-store=none"]
    assert main([*arguments, "--yes"]) == 0
    output = capsys.readouterr().out
    assert "bad.csv is left out: bad.csv: line 2: 1 cell, the header has 2" in output
    assert "rule and model over 2 tables: rank correlation 1.000" in output
    assert "asked: 2 calls" in output
    lines = (out / "complexity.csv").read_text("utf-8").splitlines()
    rows = {row["table"]: row for row in csv.DictReader(lines)}
    # By rule two header levels and one parent header: 1 + 2 + 1, so 3 of 36. By the model
    # 5 + 4 + 3 + 2, so 10 of 36; the visual mark is in no figure.
    assert (rows["deep.html"]["complexity"], rows["deep.html"]["by model"]) == ("8", "28")
    assert rows["deep.html"]["visual by model"] == "9"
    assert (rows["flat.csv"]["complexity"], rows["flat.csv"]["by model"]) == ("0", "0")
    assert (out / "complexity_tokens.png").stat().st_size > 5_000


def test_without_yes_complexity_shows_only_the_rule(
    tmp_path: Path, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["complexity", str(tables), model(tmp_path), "--bench-store=none"]) == 0
    output = capsys.readouterr().out
    assert "2 calls to pay" in output
    assert "the model was not asked; add --yes to ask" in output
    assert "by model" not in output
