"""Several tables in one sheet."""

from __future__ import annotations

from pytest_tablebench import Table
from tests.support.slices import ROOT, needs_slices

REAL = ROOT / "realhitbench" / "data" / "tables"


def table(*lines: list[str]) -> Table:
    cells = "".join(f"<tr>{''.join(f'<td>{cell}' for cell in line)}" for line in lines)
    return Table.from_html(f"<table>{cells}</table>", structure=True)


def test_one_table_is_its_only_part() -> None:
    single = table(["City", "a", "b"], ["Leeds", "1", "2"])
    assert single.parts() == (single,)


def test_stacked_tables_start_with_the_same_header() -> None:
    head = ["City", "a", "b"]
    first, second = table(
        ["One", "", ""], head, ["Leeds", "1", "2"], ["", "", ""], ["Two"], head, ["York", "3", "4"]
    ).parts()
    assert (first.captions, first.rows[0]) == ((("One", "", ""),), ("Leeds", "1", "2"))
    assert ("Two", "", "") in second.captions
    assert (second.header, second.rows) == (("City", "a", "b"), (("York", "3", "4"),))


def test_tables_side_by_side_have_the_same_names() -> None:
    first, second = table(
        ["luminal", "", "", "basal", ""],
        ["no", "mean", "", "no", "mean"],
        ["1", "2", "", "3", "4"],
        ["5", "6", "", "", ""],
    ).parts()
    assert (first.captions, second.captions) == ((("luminal", ""),), (("basal", ""),))
    assert first.path(1, 1) == (("5",), ("mean",))
    assert second.path(0, 1) == (("3",), ("mean",))
    assert (len(first.rows), len(second.rows)) == (2, 1)


def test_a_value_in_the_gap_makes_it_one_table() -> None:
    lines = [["no", "mean", "", "no", "mean"], ["1", "2", "x", "3", "4"]]
    assert len(table(*lines).parts()) == 1


@needs_slices("realhitbench")
def test_real_sheets_with_several_tables_are_split() -> None:
    counts = {
        stem: len(Table.from_xlsx(REAL / f"{stem}.xlsx", structure=True).parts())
        for stem in ("health-table32", "science-table01", "science-table29", "health-table36")
    }
    assert counts == {
        "health-table32": 3,
        "science-table01": 4,
        "science-table29": 2,
        "health-table36": 1,
    }
