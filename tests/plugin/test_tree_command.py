"""`tablebench tree` over files with and without a tree."""

from __future__ import annotations

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.table import Table


@pytest.fixture
def sales(tmp_path):
    table = Table(
        ["", "Q1", "Q2"],
        [["North\x1b[31m", "5", "6"], ["South", "9", "10"]],
        header_rows=[["Region", "2020", ""]],
        row_headers=1,
        spans=[Span(0, 0, 2, 1), Span(0, 1, 1, 2)],
    )
    path = tmp_path / "sales.html"
    rows = "".join(
        f"<tr><th>{row[0]}</th><td>{row[1]}</td><td>{row[2]}</td></tr>" for row in table.rows
    )
    head = (
        "<tr><th rowspan=2>Region</th><th colspan=2>2020</th></tr><tr><th>Q1</th><th>Q2</th></tr>"
    )
    path.write_text(f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>", "utf-8")
    return path


def test_tree_prints_headers_and_complexity(sales, capsys):
    assert main(["tree", str(sales)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    lines = printed.splitlines()
    assert lines[:5] == [
        "ROOT (columns)",
        "  Region  [C0 1]",
        "  2020  [C0 2-3]",
        "    Q1  [C1 2]",
        "    Q2  [C1 3]",
    ]
    # Nine steps in each of four dimensions: 2 for the second level, 1 for the parent header.
    assert lines[-3:] == [
        "  South  [R0 2]",
        "4 column headers, 2 row headers",
        "complexity 8 of 100 (column header 4, row header 1, partition 1, compound 1)",
    ]
    assert main(["tree", "--tuples", str(sales)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "(C0, 2, 3, 2020)"


def test_tree_why_names_the_evidence(sales, capsys):
    assert main(["tree", "--why", str(sales)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "lines 1-2: 2 header lines: the file marks its cells as headers, merged cells divide it",
        "lines 3-4: rows are named by the first column",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.html", "missing.html"),
        ("table.pdf", "must be a .xlsx, .html or .csv file"),
    ],
)
def test_tree_refuses_a_missing_or_unsupported_file(tmp_path, capsys, name, message):
    assert main(["tree", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


def test_tree_why_refuses_a_csv_file(tmp_path, capsys):
    assert main(["tree", "--why", str(tmp_path / "a.csv")]) == 2
    assert "a.csv: a CSV file has no structure to explain; --why needs .xlsx or .html" in (
        capsys.readouterr().err
    )
