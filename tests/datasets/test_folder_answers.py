"""The columns of a table decide how an answer is read."""

from __future__ import annotations

import pytest

from pytest_tablebench.datasets.answers import answer_context, percent_note
from pytest_tablebench.datasets.files import BadRowError
from pytest_tablebench.metrics.typed_columns import column_format
from pytest_tablebench.tables.table import Table


def context(cells: list[object], answer: str, name: str = "x", **given: str) -> dict[str, object]:
    table = Table([name], [[cell] for cell in cells])
    row = {"metric": None, "tolerance": None, "unit": None, **given}
    return answer_context([table], [answer], **row)


def test_the_decimal_sign_is_read_from_the_column() -> None:
    assert context(["1.234,5", "2.000"], "2.000")["decimal"] == ","
    assert context(["12,50", "3,10"], "3,10")["decimal"] == ","
    assert context(["1,234.5", "2,000"], "2,000")["decimal"] == "."
    assert context(["12.500", "17", "3,5"], "12.500")["decimal"] == ","
    assert context(["12 500,5", "12.500"], "12.500")["decimal"] == ","
    assert context(["1 380,50 €", "12.500 €"], "12.500 €")["decimal"] == ","
    assert context(["1.234", "2.000"], "2.000")["decimal"] == "."  # ambiguous
    assert context(["1.234", "2.000"], "2.000", decimal=",")["decimal"] == ","
    assert context(["1,5", "1.5"], "1.5")["decimal"] == "."  # contradictory


@pytest.mark.parametrize(
    ("cells", "others", "decimal", "is_open"),
    [
        (["12.500", "17", "1.380"], [], ".", True),
        (["12.500", "17", "1.380"], ["2,5"], ",", False),
        (["12.500", "17", "1.380"], ["2.5"], ".", False),
        (["12.500", "0.125"], ["2,5"], ".", False),
        (["1.234.567", "1.380"], [], ",", False),
        (["1,234", "560"], [], ".", False),
        (["05.03.2024", "12.500"], [], ".", True),
        ([12.5, 3, None, "tea"], [], ".", False),
    ],
)
def test_other_columns_show_the_decimal_sign_of_an_open_column(
    cells: list[object], others: list[object], decimal: str, is_open: bool
) -> None:
    form = column_format([cells], [cells, others])
    assert (form.decimal, form.is_open) == (decimal, is_open)


def test_a_decimal_sign_must_be_a_point_or_a_comma() -> None:
    with pytest.raises(BadRowError, match="must be a point or a comma"):
        context(["1.234"], "1.234", decimal="'")


def test_only_the_column_with_the_answer_is_read() -> None:
    table = Table(["a", "b"], [["1,5", "2.75"]])
    row = {"metric": None, "tolerance": None, "unit": None}
    assert answer_context([table], ["2.75"], **row)["decimal"] == "."
    assert answer_context([table], ["1,5"], **row)["decimal"] == ","


def test_the_order_of_day_and_month_is_read_from_the_column() -> None:
    assert context(["5/3/2024", "25/3/2024"], "5/3/2024")["day_first"] is True
    assert context(["5/3/2024", "3/25/2024"], "5/3/2024")["day_first"] is False
    assert context(["5/3/2024", "6/3/2024"], "5/3/2024")["day_first"] is None


def test_the_unit_is_read_from_the_column() -> None:
    assert context([12, 13], "12", "Weight (kg)")["unit"] == "kg"
    assert context([12, 13], "12", "Weight (kg)", unit="lb")["unit"] == "lb"
    assert context([12, 13], "12", "Weight")["unit"] == ""


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("12", "number"),
        ("1,234.5", "number"),
        ("25 %", "number"),
        ("5 kg", "number"),
        ("14 t CO2", "number"),
        ("5 boxes", "text"),
        ("5 A", "text"),
        ("007", "text"),
        ("0.5", "number"),
        ("2024-03-05", "date"),
        ("14:30", "date"),
        ("Yes", "yes_no"),
        ("tea", "text"),
        ("one two three four five six seven eight nine ten eleven twelve", "free_text"),
    ],
)
def test_the_kind_of_answer_follows_from_its_spelling(answer: str, kind: str) -> None:
    assert context(["x"], answer)["kind"] == kind


def test_the_row_overrides_the_kind_and_a_unit_makes_a_number() -> None:
    assert context(["x"], "12", metric="text")["kind"] == "text"
    assert context(["x"], "yes", metric="yes/no")["kind"] == "yes_no"
    assert context(["x"], "5 kg", unit="kg")["kind"] == "number"
    # Any other word names a metric, which must be registered (see `check_datasets`).
    assert context(["x"], "12", metric="rouge")["kind"] == "rouge"


def test_invalid_settings_of_a_row_are_refused() -> None:
    with pytest.raises(BadRowError, match=r"must be a number, 0\.5, or a share") as caught:
        context(["x"], "12", tolerance="some")
    assert caught.value.field == "tolerance"
    table = Table(["x"], [["1"]])
    row = {"metric": "number", "tolerance": None, "unit": None}
    with pytest.raises(BadRowError, match="number takes one answer, the row has 2"):
        answer_context([table], ["1", "2"], **row)


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ("37.5", "37.5 is read as 37.5%, as the column is in percent"),
        ("0.375", "0.375 is read as 37.5%, as the column is in percent"),
        ("37.5%", None),
    ],
)
def test_check_names_how_an_answer_in_a_column_of_percents_is_read(
    answer: str, note: str | None
) -> None:
    assert percent_note(answer, context(["37.5%", "8%"], answer)) == note
