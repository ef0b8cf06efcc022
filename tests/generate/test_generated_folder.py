"""The command: from files of tables to a folder that is read, checked and run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.folder import check_dataset, folder_datasets
from pytest_tablebench.errors import DataError
from pytest_tablebench.generate.folder import PART, TableSource, write_dataset
from pytest_tablebench.generate.rules import RuleGenerator
from pytest_tablebench.tables.table import Table
from tests.support.drawn_tables import drawn_table, write_tables
from tests.support.own_folders import only


def lines(folder: Path) -> list[dict[str, object]]:
    text = (folder / "questions.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_command_writes_what_the_check_has_nothing_against(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tables(tmp_path / "tables", 6, rows=24)
    (tmp_path / "tables/bad.csv").write_text("a,b\n1\n", encoding="utf-8")
    out = tmp_path / "mine"
    given = ["generate", "rules", str(tmp_path / "tables"), "-o", str(out), "--per-table=30"]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "180 questions from 6 tables" in said
    assert "bad.csv is left out: bad.csv: line 2: 1 cell, the header has 2" in said
    assert "tables left out: unreadable 1" in said
    dataset = only(out)
    checked = check_dataset(dataset, out)
    assert checked.problems == ()
    assert sum(checked.kinds.values()) == len(lines(out)) == 180
    assert dataset.limit == 100
    source = dataset.open(out)
    assert {source.example(id_).tags["skill"] for id_ in source.example_ids(None)} == {
        *("TU", "TBO", "TCO", "DA", "ADA")
    }
    assert not (out / PART).exists()


def test_every_kind_of_file_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for number in range(2):
        sheet = book.active if number == 0 else book.create_sheet("second")
        for row in (drawn_table(number).header, *drawn_table(number).rows):
            sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    files = ["book.xlsx"]
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        pass
    else:
        drawn_table(3).to_pandas().to_parquet(tmp_path / "third.parquet")
        files.append("third.parquet")
    out = tmp_path / "out"
    assert main(["generate", "rules", *(str(tmp_path / f) for f in files), "-o", str(out)]) == 0
    assert len({line["table"] for line in lines(out)}) == len(files) + 1
    assert f"from {len(files) + 1} tables" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "-o", "out"], "nowhere does not exist"),
        (["empty", "-o", "out"], "no table in empty"),
        (["tables", "-o", "text"], "text is not empty"),
        (["tables", "-o", "out", "--subtask", "Table_Quer"], "did you mean 'Table_Query'"),
        (["text/a.txt", "-o", "out"], "a table must be a file of .csv"),
        (["words", "-o", "out"], "no question could be made; tables left out: no numeric column 1"),
    ],
)
def test_what_cannot_work_is_said_in_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path / "tables", 1)
    (tmp_path / "empty").mkdir()
    for name, text in (("text/a.txt", "x"), ("words/w.csv", "a,b\nx,y\nu,v\ns,t\n")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert main(["generate", "rules", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


class Killed(Exception):
    pass


def sources(until: int | None = None) -> Iterator[TableSource]:
    for number in range(5):

        def read(number: int = number) -> Table:
            if number == until:
                raise Killed
            return drawn_table(number, rows=14)

        yield TableSource(f"t{number}.csv", read)
    yield TableSource("again.csv", lambda: drawn_table(0, rows=14))


def write(folder: Path, until: int | None = None) -> RuleGenerator:
    maker = RuleGenerator(per_table=8)
    write_dataset(folder, sources(until), maker, made_with={"seed": 0, "per_table": 8})
    return maker


def test_a_killed_run_goes_on_and_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole")
    assert whole.tally.tables == {"used": 5, "same as another": 1}
    for until, cut in ((0, 0), (3, 0), (3, 1), (4, 700)):
        folder = tmp_path / f"killed-{until}-{cut}"
        with pytest.raises(Killed):
            write(folder, until)
        assert not list(folder_datasets(folder))  # half a dataset is none
        part = folder / PART
        part.write_bytes(part.read_bytes()[: -cut or None] + b'{"id": "half a li')
        assert write(folder).tally == whole.tally
        assert tree(folder) == tree(tmp_path / "whole")


def test_a_killed_run_does_not_go_on_with_other_options(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        write(tmp_path / "out", 2)
    with pytest.raises(DataError, match="begun with other tables or options"):
        write_dataset(tmp_path / "out", sources(), RuleGenerator(), made_with={"seed": 1})


def test_the_limit_holds_over_all_tables(tmp_path: Path) -> None:
    maker = RuleGenerator(per_table=8)
    write_dataset(tmp_path / "out", sources(), maker, made_with={"seed": 0}, limit=11)
    assert len(lines(tmp_path / "out")) == 11


def test_the_questions_of_a_folder_are_no_table(tmp_path: Path) -> None:
    # The command of the tutorial: the folder that `new` writes has a table and questions.
    assert main(["new", str(tmp_path / "shop")]) == 0
    out = tmp_path / "asked"
    command = ["generate", "rules", str(tmp_path / "shop"), "-o", str(out), "--limit", "3"]
    assert main(command) == 0
    assert not any("questions" in path.name for path in (out / "tables").glob("*"))
    assert len(lines(out)) == 3
