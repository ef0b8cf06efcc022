"""Questions asked of a table and of its twin: the folder, and what is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.folder import check_dataset
from pytest_tablebench.generate.pair import RejectedError
from pytest_tablebench.generate.twins import TwinGenerator
from pytest_tablebench.tables.table import Table
from tests.support.own_folders import only

GROUPS = Table(
    ["Shop", "Q1", "Q2", "Q1", "Q2"],
    [
        ["Big", "", "", "", ""],
        ["North", "11", "12", "13", "14"],
        ["South", "21", "22", "23", "24"],
        ["Small", "", "", "", ""],
        ["East", "31", "32", "33", "34"],
    ],
    header_rows=[["", "2023", "", "2024", ""]],
    row_headers=1,
    sections=[0, 3],
    spans=[(0, 1, 1, 2), (0, 3, 1, 2), (2, 0, 1, 5), (5, 0, 1, 5)],
)
MERGED = Table(["a", "b"], [["1", "x"], ["2", ""]], spans=[(1, 1, 2, 1)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("twins")
    (folder / "tables").mkdir()
    GROUPS.to_xlsx(folder / "tables/groups.xlsx")
    (folder / "tables/flat.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    MERGED.to_xlsx(folder / "tables/alone.xlsx")
    return folder


def test_each_question_is_asked_of_a_table_and_of_its_twin(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = made / "out"
    assert main(["generate", "twins", str(made / "tables"), "-o", str(out), "--per-table=12"]) == 0
    said = capsys.readouterr().out
    assert "24 questions from 1 table\n" in said
    assert "tables left out: no parts to exchange 1, without merged cells 1" in said
    assert "twins with exchanged: header_groups 1, sections 1" in said
    dataset = only(out)
    assert check_dataset(dataset, out).problems == ()

    rows = [json.loads(line) for line in (out / "questions.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 24
    shown: dict[str, Table] = {
        row["table"]: Table.from_xlsx(out / row["table"], structure=True) for row in rows
    }
    assert len(shown) == 3
    paths = 0
    for original, twin in zip(rows[::2], rows[1::2], strict=True):
        assert twin["tags"].pop("twin_of") == original["id"]
        assert (original["tags"].pop("shown"), twin["tags"].pop("shown")) == ("original", "twin")
        same = ("question", "answer", "tags", "perturbations")
        assert [original[name] for name in same] == [twin[name] for name in same]
        assert original["table"] != twin["table"]
        if original["tags"]["probe"] == "path":
            paths += 1
            for row in (original, twin):
                assert _found(shown[row["table"]], row["question"]) == [row["answer"]]
    assert paths > 1
    source = dataset.open(out)
    tags = [source.example(id_).tags for id_ in source.example_ids(None)]
    assert {tag["structure"] for tag in tags} == {"header_groups", "sections"}
    # Columns: a second level, two names over others. Two sections. 8 of 36 steps.
    assert {tag["complexity"] for tag in tags} == {"0-25"}


def _found(table: Table, question: str) -> list[str]:
    """The values of the cells that stand under all names in a question's quotes."""
    names = sorted(re.findall('"([^"]+)"', question))
    return [
        str(cell)
        for row, cells in enumerate(table.rows)
        for column, cell in enumerate(cells)
        if sorted(name for part in table.path(row, column) for name in part) == names
    ]


def test_a_limit_counts_questions_and_leaves_none_without_its_twin(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = made / "few"
    assert main(["generate", "twins", str(made / "tables"), "-o", str(out), "--limit=3"]) == 0
    assert "6 questions from 1 table\n" in capsys.readouterr().out
    assert main(["generate", "twins", str(made / "tables/flat.csv"), "-o", f"{out}2"]) == 2
    said = "no question could be made; tables left out: without merged cells 1"
    assert said in capsys.readouterr().err


def test_a_run_that_was_killed_goes_on_with_what_was_counted() -> None:
    first, second = TwinGenerator(), TwinGenerator()
    assert len(list(first.make(GROUPS, None)[1])) == 2 * first.tally.accepted > 0
    second.resume(json.loads(json.dumps(first.state())))
    assert second.tally == first.tally
    assert second.tally.exchanged == {"header_groups": 1, "sections": 1}
    # Without being told, a table whose first column looks like no names is read in another way.
    odd = Table(["x", "y"], [["1", "2"], ["3", "4"]], row_headers=1, spans=[(0, 0, 1, 2)])
    with pytest.raises(RejectedError, match="read differently"):
        second.make(odd, None)
