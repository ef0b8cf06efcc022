"""Probes: what they ask of small tables, answered by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.folder import check_dataset
from pytest_tablebench.generate.pair import Pair, RejectedError
from pytest_tablebench.generate.probes import PROBES, ProbeGenerator
from pytest_tablebench.generate.question_maker import LANGUAGES
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.perturbations import perturb
from pytest_tablebench.tables.table import Table
from tests.support.drawn_tables import write_tables
from tests.support.own_folders import only

FLAT = Table(
    ["Item", "Price", "Seller"],
    [["tea", "2.40", "Ann"], ["coffee", "3.10", "Bob"], ["cocoa", "", "Ann"]],
)
MERGED = Table(
    ["Shop", "Q1", "Q2", "Q1", "Q2"],
    [["North", "11", "12", "13", "14"], ["South", "21", "22", "23", "24"]],
    header_rows=[["", "2023", "", "2024", ""]],
    row_headers=1,
    spans=[Span(0, 1, 1, 2), Span(0, 3, 1, 2)],
)


def probes(table: Table, language: str = "en") -> dict[str, list[Pair]]:
    maker = ProbeGenerator(per_table=80, language=language)
    found: dict[str, list[Pair]] = {}
    for pair in maker.make(table, None)[1]:
        found.setdefault(pair.tags["probe"], []).append(pair)
    return found


def facts(pairs: list[Pair], pattern: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """What a question names, and its answer."""
    return {tuple(re.findall(pattern, pair.question)): pair.answers for pair in pairs}


def test_a_flat_table_is_asked_for_all_that_it_has() -> None:
    found = probes(FLAT)
    assert set(found) == set(PROBES) - {"merged_columns", "merged_rows", "under_merged", "path"}
    assert [pair.answers for pair in found["rows"]] == [("3",)]
    assert [pair.answers for pair in found["columns"]] == [("3",)]
    assert [pair.answers for pair in found["headings"]] == [("Item", "Price", "Seller")]
    for pair in found["cell_at"]:
        row, column = map(int, re.findall(r"row (\d), column (\d)", pair.question)[0])
        assert pair.answers == (FLAT.rows[row - 1][column - 1],)
    cells = facts(found["cell"], r'"([^"]+)"')
    assert {frozenset(names) for names in cells} <= {
        frozenset({"Price", "tea"}),
        frozenset({"Price", "coffee"}),
        *(frozenset({"Seller", name}) for name in ("tea", "coffee", "cocoa")),
    }
    for names, answer in cells.items():
        cells_of_row = next(row for row in FLAT.rows if row[0] in names)
        assert answer == (cells_of_row[1 if "Price" in names else 2],)
    assert (
        facts(found["row_of"], r'"([^"]+)"').items()
        <= {
            ("tea",): ("1",),
            ("2.40",): ("1",),
            ("coffee",): ("2",),
            ("3.10",): ("2",),
            ("Bob",): ("2",),
            ("cocoa",): ("3",),
        }.items()
    )
    # Ann sells two things: nobody can say which.
    assert {names[-2:] for names in facts(found["name_of"], r'"([^"]+)"')} <= {
        *(("Price", "2.40"), ("Price", "3.10"), ("Seller", "Bob")),
        *(("2.40", "Item"), ("3.10", "Item"), ("Bob", "Item")),
    }
    assert (
        facts(found["row"], r'"([^"]+)"').items()
        <= {
            ("tea",): ("2.40", "Ann"),
            ("coffee",): ("3.10", "Bob"),
        }.items()
    )
    assert (
        facts(found["column"], r'"([^"]+)"').items()
        <= {
            ("Item",): ("tea", "coffee", "cocoa"),
            ("Seller",): ("Ann", "Bob", "Ann"),
        }.items()
    )


def test_merged_cells_and_paths_are_asked_for() -> None:
    found = probes(MERGED)
    assert facts(found["merged_columns"], r'"([^"]+)"') == {("2023",): ("2",), ("2024",): ("2",)}
    assert facts(found["under_merged"], r'"([^"]+)"') == {
        ("2023",): ("Q1", "Q2"),
        ("2024",): ("Q1", "Q2"),
    }
    paths = {
        frozenset(names): answer for names, answer in facts(found["path"], r'"([^"]+)"').items()
    }
    assert paths
    for names, (answer,) in paths.items():
        row = 0 if "North" in names else 1
        column = 1 + 2 * ("2024" in names) + ("Q2" in names)
        assert answer == MERGED.rows[row][column]
    assert "rows" not in found


def test_positions_move_under_the_perturbations_that_are_not_named() -> None:
    """And those that are named keep the size of a table, which a person counts."""
    found = probes(FLAT)
    for pair in (*found["cell_at"], *found["row_at"]):
        assert not {"shuffle_rows", "shuffle_cols", "transpose"} & set(pair.perturbations)
    for name in found["rows"][0].perturbations:
        assert len(perturb(FLAT, name).rows) == 3
    for name in found["columns"][0].perturbations:
        assert len(perturb(FLAT, name).header) == 3
    assert "insert_empty_rows" not in found["rows"][0].perturbations


def test_probes_are_worded_in_both_languages() -> None:
    english, chinese = (probes(FLAT, language) for language in LANGUAGES)
    assert set(english) == set(chinese)
    assert all("表" in pair.question or "列" in pair.question for pair in chinese["headings"])


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (Table(["a", "a"], [["1", "2"]]), "empty or repeated headings"),
        (Table(["a", ""], [["1", "2"]]), "empty or repeated headings"),
        (Table(["a", "b"], []), "too small"),
        (Table(["a", "b"], [["1"]]), "rows of unequal length"),
    ],
)
def test_tables_that_are_left_out(table: Table, reason: str) -> None:
    with pytest.raises(RejectedError, match=reason):
        ProbeGenerator().make(table, None)


def test_the_command_writes_a_folder_that_the_check_has_nothing_against(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tables(tmp_path / "tables", 4)
    MERGED.to_xlsx(tmp_path / "tables/merged.xlsx")
    out = tmp_path / "probes"
    assert main(["generate", "probes", str(tmp_path / "tables"), "-o", str(out)]) == 0
    assert "from 5 tables" in capsys.readouterr().out
    dataset = only(out)
    assert check_dataset(dataset, out).problems == ()
    source = dataset.open(out)
    kinds = {source.example(id_).tags["probe"] for id_ in source.example_ids(None)}
    assert {"rows", "cell", "row", "merged_columns", "path"} <= kinds
    # By rule nothing is asked of several lines of headings.
    assert main(["generate", "rules", str(tmp_path / "tables"), "-o", str(tmp_path / "r")]) == 0
    assert "merged cells or several lines of headings 1" in capsys.readouterr().out
