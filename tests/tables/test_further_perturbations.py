"""Perturbations outside of ToRR's grid."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from inspect import signature
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.perturbations import (
    GRID,
    PERTURBATIONS,
    Question,
    apply_perturbation,
    perturb,
)
from pytest_tablebench.tables.perturbations._changes import _dictionary, counterfactual
from pytest_tablebench.tables.table import Table
from tests.support.matrix import draws

NAMES = st.sampled_from(
    [
        "Population",
        "inhabitants",
        "Company",
        "Firm",
        "TOTAL",
        "Year",
        "年份",
        "人口（万）",
        "",
        "x y",
    ]
)
CELLS = st.one_of(
    st.none(), st.integers(-9999, 99999), st.sampled_from(["", "1,234.5", "Ann", "年"])
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw rectangular tables with names from the dictionaries and cells of several types."""
    width = draw(st.integers(1, 4))
    header = draw(st.lists(NAMES, min_size=width, max_size=width))
    return Table(
        header, draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5))
    )


STRUCTURED = Table(
    header=["", "Population", "Rank"],
    rows=[["Europe", "", ""], ["Lund", "1,234", "2"], ["Aarhus", "98", "1"]],
    header_rows=[["Country", "Year", ""]],
    row_headers=1,
    spans=[Span(0, 0, 2, 1), Span(0, 1, 1, 2)],
    sections=[0],
    notes=[["Note", "", ""]],
)

CHANGE_MEANING = {
    *("mask_cols_names", "shuffle_cols_names", "truncate_rows", "repeat_rows", "distractor_rows"),
    *("missing_values", "counterfactual", "no_table"),
}


def test_perturbations_that_change_the_meaning_declare_it():
    marked = {n for n, f in PERTURBATIONS.items() if not getattr(f, "preserves_meaning", True)}
    assert marked == CHANGE_MEANING
    assert not marked & set(GRID)


def test_the_documentation_lists_all_perturbations():
    text = (Path(__file__).parents[2] / "docs" / "perturbations.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `(\w+)` \|.*\| (yes|no) \|$", text, re.MULTILINE)
    assert dict(found) == {n: "no" if n in CHANGE_MEANING else "yes" for n in PERTURBATIONS}
    assert [name for name, _ in found[:5]] == list(GRID)
    assert "`times=2`" in text
    for argument, function in (
        *(("tokens=2000", "repeat_rows"), ("tokens=2000", "distractor_rows")),
        *(("share=0.1", "missing_values"), ("count=2", "distractor_columns")),
        ("rows_to_keep=20", "truncate_rows"),
    ):
        name, _, value = argument.partition("=")
        assert f"`{argument}`" in text
        assert str(signature(PERTURBATIONS[function]).parameters[name].default) == value


# Names


@pytest.mark.parametrize("name", ["synonym_names", "abbreviate_names"])
@given(table=tables())
def test_other_names_keep_the_cells_and_stay_distinct(name, table):
    result = perturb(table, name)
    assert result.rows == table.rows
    assert len(result.header) == len(table.header)
    # Two columns have equal names only if they had before.
    for (a, x), (b, y) in product(zip(table.header, result.header, strict=True), repeat=2):
        assert (a == b) == (x == y)


def test_words_are_replaced_in_their_spelling():
    table = Table(
        ["Population 2020", "COMPANY", "average", "Nothing known", "营业收入（万元）"], []
    )
    assert perturb(table, "synonym_names").header == (
        *("Inhabitants 2020", "FIRM", "mean", "Nothing known", "营收（万元）"),
    )
    assert perturb(table, "abbreviate_names").header == (
        *("Pop. 2020", "CO.", "avg.", "Nothing known", "营收（万元）"),
    )
    taken = Table(["Company", "Firm", "firm of"], [])
    assert perturb(taken, "synonym_names").header == ("Company", "Firm", "company of")


def test_header_lines_and_structure_are_kept():
    result = perturb(STRUCTURED, "synonym_names")
    assert result.header == ("", "Inhabitants", "Ranking")
    assert result.header_rows == (("Nation", "Year", ""),)
    assert (result.spans, result.sections, result.notes) == (
        *(STRUCTURED.spans, STRUCTURED.sections, STRUCTURED.notes),
    )
    assert result.path(1, 1).column == ("Year", "Inhabitants")


def test_masked_names_hide_all_header_lines_and_keep_the_structure():
    result = perturb(STRUCTURED, "mask_cols_names")
    assert result.header == ("Col1", "Col2", "Col3")
    assert result.header_rows == (("Group1", "Group2", ""),)
    assert (result.rows, result.spans) == (STRUCTURED.rows, STRUCTURED.spans)
    shuffled = perturb(STRUCTURED, "shuffle_cols_names")
    assert sorted(shuffled.header) == sorted(STRUCTURED.header)
    assert shuffled.header_rows == STRUCTURED.header_rows


@pytest.mark.parametrize(
    "text", ["truncate_rows[rows_to_keep=1]", "duplicate_rows", "repeat_rows", "distractor_rows"]
)
def test_more_or_fewer_rows_need_a_flat_table(text):
    with pytest.raises(TableError, match="needs a flat table"):
        perturb(STRUCTURED, text)


@pytest.mark.parametrize("name", ["synonyms", "abbreviations"])
def test_the_dictionary_is_in_lower_case_and_maps_no_word_to_itself(name):
    words = _dictionary(name)
    assert len(words) > 60
    assert sum(not word.isascii() for word in words) >= 14
    assert all(word == word.lower() and word != other for word, other in words.items())


# Distractors


@pytest.mark.parametrize("name", ["repeat_rows", "distractor_rows"])
@settings(max_examples=draws(40))
@given(table=tables(), tokens=st.integers(0, 60))
def test_distractor_rows_keep_the_order_and_reach_the_length(name, table, tokens):
    result = perturb(table, name, tokens=tokens)
    rest = list(map(repr, table.rows))
    for row in result.rows:
        if rest and repr(row) == rest[0]:
            rest.pop(0)
    assert rest == []
    characters = sum(len(str(cell)) + 1 for row in (result.header, *result.rows) for cell in row)
    assert not table.rows or characters >= 4 * tokens
    if name == "repeat_rows":
        assert {*map(repr, result.rows)} == {*map(repr, table.rows)}


def test_distractor_rows_are_about_absent_entities():
    table = Table(["City", "People"], [["Lund", 90], ["Aarhus", 280], ["Bergen", 270]])
    result = perturb(table, "distractor_rows[tokens=60]")
    added = [row for row in result.rows if row not in table.rows]
    assert len(added) > 5
    assert not {row[0] for row in added} & {row[0] for row in table.rows}
    assert {row[1] for row in added} <= {90, 280, 270}
    assert len({row[0] for row in added}) == len(added)
    assert result == perturb(table, "distractor_rows[tokens=60]")
    assert result != perturb(table, "distractor_rows[tokens=60]", seed=1)


@settings(max_examples=draws(40))
@given(tables(), st.integers(0, 4))
def test_further_columns_are_after_the_others(table, count):
    result = perturb(table, "distractor_columns", count=count)
    width = len(table.header)
    assert (result.header[:width], len(result.header)) == (table.header, width + count)
    assert tuple(row[:width] for row in result.rows) == table.rows
    assert not set(result.header[width:]) & set(table.header)


def test_further_columns_keep_the_structure():
    result = perturb(STRUCTURED, "distractor_columns")
    assert result.rows[0][3:] == ("", "")
    assert all(result.rows[1][3:])
    assert result.path(1, 1) == STRUCTURED.path(1, 1)


# Missing values


@settings(max_examples=draws(40))
@given(tables(), st.sampled_from([0, 0.1, 0.5, 1]))
def test_a_share_of_the_cells_is_emptied_and_the_others_kept(table, share):
    result = perturb(table, "missing_values", share=share)
    cells = [
        pair
        for before, after in zip(table.rows, result.rows, strict=True)
        for pair in zip(before, after, strict=True)
    ]
    filled = sum(before not in ("", None) for before, _ in cells)
    changed = [(before, after) for before, after in cells if before is not after]
    assert all(after == "" for _, after in changed)
    assert len(changed) == round(Decimal(str(share)) * filled)


# Numbers


@given(tables(), st.sampled_from(["thousands", "plain", "scientific"]))
def test_numbers_keep_their_value_in_another_style(table, style):
    result = perturb(table, "number_format", style=style)
    assert result.header == table.header
    for before, after in zip(table.rows, result.rows, strict=True):
        for old, new in zip(before, after, strict=True):
            if old == new:
                continue
            assert Decimal(str(new).replace(",", "")) == Decimal(str(old).replace(",", ""))


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("thousands", ["1,234,500", "1,000", 26, "0.50", "-1,200.5", "007", "a 1000"]),
        ("plain", ["1234500", "1000", 26, "0.50", "-1200.5", "007", "a 1000"]),
        ("scientific", ["1.2345e6", "1e3", "2.6e1", "5.0e-1", "-1.2005e3", "007", "a 1000"]),
    ],
)
def test_numbers_are_written_in_a_style(style, expected):
    cells = ["1,234,500", "1000", 26, "0.50", "-1,200.5", "007", "a 1000"]
    table = Table([str(n) for n in range(7)], [cells, ["5"] * 7])
    assert list(perturb(table, "number_format", style=style).rows[0]) == expected


def ask(name, table, text="?", answers=(), **arguments):
    question = Question((table,), text, tuple(answers))
    return apply_perturbation(PERTURBATIONS[name], question, name, seed=0, arguments=arguments)


def test_an_answer_that_is_a_cell_is_written_as_the_cell():
    table = Table(["Year", "City", "People"], [[2001, "Lund", "91000"], [2002, "Bo", "7"]])
    changed = ask("number_format", table, answers=["91000", "Lund", "13"])
    assert changed.answers == ("91,000", "Lund", "13")
    assert changed.tables[0].rows[0] == (2001, "Lund", "91,000")  # years are not amounts
    # With two spellings the answer would be ambiguous.
    both = Table(["Year", "People"], [[2001, 2001], [2002, 70000]])
    assert ask("number_format", both, answers=["2001"]).tables == (both,)


LENGTHS = Table(["River", "Length (km)"], [["Aa", "1.5"], ["Bo", "2,300"], ["Cy", ""]])


def test_a_unit_changes_with_its_column_and_the_answer():
    changed = ask("change_units", LENGTHS, "How long is Bo?", ["2,300"])
    assert changed.tables[0] == Table(
        ["River", "Length (m)"], [["Aa", "1,500"], ["Bo", "2,300,000"], ["Cy", ""]]
    )
    assert changed.answers == ("2,300,000",)
    chinese = Table(["公司", "收入（万元）"], [["甲", "12"]])
    assert perturb(chinese, "change_units") == Table(["公司", "收入（元）"], [["甲", "120000"]])
    money = Table(["Firm", "Revenue (million USD)"], [["A", "2.50"]])
    assert perturb(money, "change_units") == Table(
        ["Firm", "Revenue (thousand USD)"], [["A", "2500"]]
    )


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Which rivers are longer than 2?", ["Bo"]),  # the number has the old unit
        ("How many km is Bo long?", ["2,300"]),
        ("How long are both?", ["2,301.5"]),  # computed from cells
    ],
)
def test_units_are_kept_if_the_meaning_could_change(text, answers):
    changed = ask("change_units", LENGTHS, text, answers)
    assert (changed.tables, changed.answers) == ((LENGTHS,), tuple(answers))


def test_a_column_with_other_texts_keeps_its_unit():
    table = Table(["Length (km)"], [["1.5"], ["about 3"]])
    assert perturb(table, "change_units") == table


# Counterfactual tables


CITIES = Table(
    ["City", "Mayor", "People"],
    [["Lund", "Ann Berg", "91000"], ["Bo", "Cy", "7000"], ["Bo", "Lund-Ek", "8"]],
)


def test_the_answer_and_its_cell_get_another_name():
    question = Question((CITIES,), "Who is mayor of Lund?", ("Ann Berg",))
    changed = counterfactual(question)
    [new] = changed.answers
    assert new not in {"Ann Berg", "Cy", "Lund-Ek"}
    assert [len(word) for word in new.split()] == [3, 4]
    assert new.istitle()
    expected = [["Lund", new, "91000"], ["Bo", "Cy", "7000"], ["Bo", "Lund-Ek", "8"]]
    assert changed.tables == (Table(CITIES.header, expected),)
    assert changed == counterfactual(question)
    assert changed != counterfactual(question, seed=1)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (Question((CITIES,), "?", ("Nobody",)), "is not the text of one cell"),
        (Question((CITIES,), "?", ("Bo",)), "is not the text of one cell"),
        (Question((CITIES,), "?", ("Lund",)), "is in other cells too"),
        (Question((CITIES,), "Is it Cy?", ("Cy",)), "is in the question too"),
        (Question((CITIES,), "?", ("Cy",), more="aliases: Cy, C."), "is in the question too"),
        (Question((CITIES,), "?", ("91000",)), "contains a number, which may be compared"),
        (Question((CITIES,), "?", ()), "needs a question with an answer"),
        (Question((), "?", ("Cy",)), "is not the text of one cell"),
    ],
)
def test_a_question_outside_of_the_rule_is_not_changed(question, why):
    with pytest.raises(TableError, match=why):
        counterfactual(question)


def test_a_number_is_changed_only_in_lookup_questions():
    question = Question((CITIES,), "How many people has Lund?", ("91000",), kind="lookup")
    changed = counterfactual(question)
    [new] = changed.answers
    assert new != "91000"
    assert (len(new), new.isdecimal(), new[0] == "0") == (5, True, False)
    assert changed.tables[0].rows[0] == ("Lund", "Ann Berg", new)


def test_no_table_removes_the_table():
    result = perturb(CITIES, "no_table")
    assert (result.header, result.rows) == ((), ())


# Bad input


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("repeat_rows[tokens=-1]", "tokens must be a whole number"),
        ("distractor_rows[tokens=2000000]", "tokens must be at most 1,000,000"),
        ("distractor_columns[count=99]", "count must be at most 7"),
        ("missing_values[share=2]", "share must be a number from 0 to 1"),
        ("missing_values[share='a']", "share must be a number from 0 to 1"),
        ("number_format[style='roman']", "style must be one of thousands, plain, scientific"),
        ("change_units[factor=2]", "it takes no arguments; remove 'factor'"),
        ("counterfactual[table=1]", "it takes no arguments; remove 'table'"),
    ],
)
def test_wrong_arguments_are_settings_errors(text, said):
    with pytest.raises(SettingsError, match=said):
        perturb(CITIES, text)


def test_facts_are_the_same_in_every_form():
    # A looked-up value is kept by every perturbation that keeps the meaning.
    kept = [name for name in PERTURBATIONS if name not in CHANGE_MEANING and name not in GRID]
    for name in kept:
        result = perturb(CITIES, name)
        values = Counter(str(row[-1]).replace(",", "") for row in CITIES.rows)
        found = Counter(str(cell).replace(",", "") for row in result.rows for cell in row)
        assert values <= found, name
