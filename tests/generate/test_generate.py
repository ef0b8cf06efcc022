"""Rule generator: every kind's answer, every rejection, stability."""

import re

import pytest

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.generate import (
    KINDS,
    AmbiguousError,
    Condition,
    Plan,
    Question,
    answer,
    generate_questions,
    verify,
)
from pytest_tablebench.tables.table import Table

TOWNS = Table(
    ["Town", "Region", "People", "Area", "Rate", "Since", "Note"],
    [
        ["Ader", "North", "1,240", "12 km", 4.5, "2001-05-03", "x"],
        ["Bolm", "South", "980", "7 km", 3.25, "1999-12-31", ""],
        ["Cuva", "North", "2,015", "31 km", 6.75, "2010-01-01", None],
        ["Dorn", "West", "455", "20 km", 1.5, "2005-07-19", "y"],
        ["Elst", "South", "1,610", "16 km", -2.25, "2003-02-28", "z"],
    ],
    name="towns",
)


def above(column: str, value: str) -> Condition:
    return Condition(column, ">", (value,))


def plan(kind: str, column: str = "", **more) -> Plan:
    return Plan(kind, "Town", column, **more)


ANSWERS = [
    (plan("lookup", "Area", names=("Cuva",)), ("31 km",)),
    (plan("row", names=("Dorn",), columns=("Since", "Region", "Rate")),
     ("2005-07-19", "West", "1.5")),
    (plan("column", names=("Elst",), value="1,610"), ("People",)),
    (plan("find", "Rate", value="3.25"), ("Bolm",)),
    (plan("neighbour", names=("Dorn",), order="People"), ("Bolm",)),
    (plan("neighbour", names=("Dorn",), order="Since", highest=False), ("Elst",)),
    (plan("filter", conditions=(Condition("Region", "=", ("North",)),), order="Rate"),
     ("Ader", "Cuva")),
    (plan("filter", conditions=(Condition("Region", "!=", ("North",)),), order="Since"),
     ("Bolm", "Elst", "Dorn")),
    (plan("filter", conditions=(above("People", "1,240"),), order="Area"), ("Elst", "Cuva")),
    (plan("filter", conditions=(Condition("Rate", "<", ("3.25",)),), order="Rate"),
     ("Elst", "Dorn")),
    (plan("filter", conditions=(Condition("Area", "between", ("12 km", "20 km")),), order="People"),
     ("Dorn", "Ader", "Elst")),
    (plan("filter2", conditions=(above("Area", "12 km"), Condition("Region", "=", ("North",))),
          order="Rate"), ("Cuva",)),
    (plan("filter2", conditions=(above("Area", "20 km"), Condition("Region", "=", ("West",))),
          joined="or", order="Rate"), ("Dorn", "Cuva")),
    (plan("count", conditions=(above("People", "980"),)), ("3",)),
    (plan("count", conditions=(Condition("Area", "=", ("7 km",)),)), ("1",)),
    (plan("count", conditions=(Condition("Area", "!=", ("7 km",)),)), ("4",)),
    (plan("sum", "People"), ("6,300",)),
    (plan("sum", "Area"), ("86 km",)),
    (plan("sum", "Rate"), ("13.75",)),
    (plan("mean", "Rate"), ("2.75",)),
    (plan("min", "Rate"), ("-2.25",)),
    (plan("max", "People"), ("2,015",)),
    (plan("argmax", "Area"), ("Cuva",)),
    (plan("argmin", "People"), ("Dorn",)),
    (plan("topk", "People", k=2), ("Cuva", "Elst")),
    (plan("topk", "Rate", k=3, highest=False), ("Elst", "Dorn", "Bolm")),
    (plan("compare", "Area", names=("Ader", "Bolm"), claim="which"), ("Ader",)),
    (plan("compare", "Area", names=("Ader", "Bolm"), claim="which", highest=False), ("Bolm",)),
    (plan("compare", "Area", names=("Ader", "Dorn"), claim="whether"), ("no",)),
    (plan("compare", "Area", names=("Ader", "Dorn"), claim="whether", highest=False), ("yes",)),
    (plan("compare", "People", names=("Cuva", "Bolm"), claim="difference"), ("1,035",)),
    (plan("statement", "Region", names=("Ader",), value="North", claim="cell"), ("true",)),
    (plan("statement", "Region", names=("Ader",), value="West", claim="cell"), ("false",)),
    (plan("statement", "Rate", names=("Elst", "Dorn"), claim="compare"), ("false",)),
    (plan("statement", "Rate", names=("Elst", "Dorn"), claim="compare", highest=False), ("true",)),
    (plan("statement", "Rate", names=("Cuva",), claim="extreme"), ("true",)),
    (plan("statement", "Rate", names=("Cuva",), claim="extreme", highest=False), ("false",)),
    (plan("statement", conditions=(above("Rate", "1.5"),), k=3, claim="count"), ("true",)),
    (plan("statement", conditions=(above("Rate", "1.5"),), k=4, claim="count"), ("false",)),
]  # fmt: skip


NAMES = [f"{asked.kind}-{number}" for number, (asked, _) in enumerate(ANSWERS)]


@pytest.mark.parametrize(("asked", "expected"), ANSWERS, ids=NAMES)
def test_kind_is_answered_in_both_ways(asked, expected):
    assert answer(asked, TOWNS) == expected
    verify(asked, TOWNS, expected)


def test_every_kind_has_an_example_above_and_is_generated():
    assert {asked.kind for asked, _ in ANSWERS} == set(KINDS)
    generated = {q.kind for q in generate_questions(TOWNS, per_table=len(KINDS))}
    assert generated == set(KINDS)


def changed(row: int, column: int, cell: object) -> Table:
    rows = [list(cells) for cells in TOWNS.rows]
    rows[row][column] = cell
    return TOWNS.replace(rows=rows)


SUMMED = TOWNS.replace(rows=[*TOWNS.rows, ["Total", "", "6,300", "86 km", 13.75, "", ""]])

REJECTED = {
    "label not unique": (ANSWERS[0][0], changed(0, 0, "Bolm")),
    "label not unique but for case": (ANSWERS[0][0], changed(0, 0, "BOLM")),
    "label empty": (ANSWERS[0][0], changed(0, 0, "")),
    "cell empty": (ANSWERS[0][0], changed(2, 3, "")),
    "cell missing": (ANSWERS[0][0], changed(2, 3, None)),
    "cell is a boolean": (ANSWERS[0][0], changed(2, 3, True)),
    "cell is a float shown with or without a point": (ANSWERS[0][0], changed(2, 3, 31.0)),
    "cell holds a list separator": (ANSWERS[0][0], changed(2, 3, "31, about")),
    "cell holds a pipe": (ANSWERS[0][0], changed(2, 3, "a|b")),
    "cell holds a newline": (ANSWERS[0][0], changed(2, 3, "a\nb")),
    "cell ends with a full stop": (ANSWERS[0][0], changed(2, 3, "approx.")),
    "one of several cells empty": (ANSWERS[1][0], changed(3, 1, "")),
    "value twice in the entry": (ANSWERS[2][0], changed(4, 6, "1610")),
    "value twice in the column": (ANSWERS[3][0], changed(0, 4, 3.25)),
    "empty cell in the searched column": (ANSWERS[3][0], changed(0, 4, None)),
    "order with equals": (ANSWERS[4][0], changed(0, 2, "455")),
    "no one comes after": (plan("neighbour", names=("Cuva",), order="People"), TOWNS),
    "no one comes before": (
        plan("neighbour", names=("Dorn",), order="People", highest=False), TOWNS,
    ),
    "list order with equals": (ANSWERS[6][0], changed(0, 4, 6.75)),
    "empty cell in a condition": (ANSWERS[6][0], changed(1, 1, "")),
    "one value in two writings": (ANSWERS[6][0], changed(2, 1, "north")),
    "filter selects nothing": (plan("filter", conditions=(above("Area", "31 km"),), order="Rate"),
                               TOWNS),
    "filter selects everything": (
        plan("filter", conditions=(Condition("Area", "between", ("7 km", "31 km")),), order="Rate"),
        TOWNS,
    ),
    "second condition changes nothing": (
        plan("filter2", conditions=(above("Area", "12 km"), above("Area", "7 km")), order="Rate"),
        TOWNS,
    ),
    "count selects nothing": (plan("count", conditions=(above("Rate", "6.75"),)), TOWNS),
    "bound in another unit": (plan("count", conditions=(above("Area", "12 m"),)), TOWNS),
    "sum over an empty cell": (plan("sum", "Area"), changed(1, 3, "")),
    "sum over mixed units": (plan("sum", "Area"), changed(1, 3, "7 m")),
    "mixed units in a condition": (
        plan("count", conditions=(Condition("Area", "=", ("12 km",)),)), changed(1, 3, "12"),
    ),
    "sum over text": (plan("sum", "Region"), TOWNS),
    "sum that could end in zero": (plan("sum", "Rate"), changed(0, 4, 4.75)),
    "mean between two roundings": (
        plan("mean", "B"),
        Table(["Town", "B"], [["a", 0.01], ["b", 0.02], ["c", 0.03], ["d", 0.44]]),
    ),
    "mean that could end in zero": (plan("mean", "Area"), TOWNS),
    "extreme in two writings": (plan("max", "People"), changed(0, 2, "2015")),
    "all values alike": (
        plan("max", "B"), Table(["Town", "B"], [["a", 1], ["b", 1], ["c", 1]]),
    ),
    "tie at the top": (plan("argmax", "Area"), changed(0, 3, "31 km")),
    "tie at the bottom": (plan("argmin", "Area"), changed(0, 3, "7 km")),
    "tie inside the first k": (plan("topk", "Area", k=3), changed(0, 3, "31 km")),
    "tie at the border of k": (plan("topk", "Area", k=2), changed(4, 3, "20 km")),
    "k takes everything": (plan("topk", "Area", k=5), TOWNS),
    "compared entries alike": (ANSWERS[26][0], changed(0, 3, "7 km")),
    "claimed extreme ties": (ANSWERS[35][0], changed(0, 4, 6.75)),
    "claimed value in another writing": (
        plan("statement", "People", names=("Ader",), value="1240", claim="cell"), TOWNS,
    ),
    "two columns of one name": (
        ANSWERS[0][0], TOWNS.replace(header=["Town", "Area", "People", "area", "R", "S", "N"]),
    ),
    "unknown column": (plan("lookup", "Mayor", names=("Ader",)), TOWNS),
    "unknown entry": (plan("lookup", "Area", names=("Zell",)), TOWNS),
    "a cell holds a list": (ANSWERS[0][0], changed(0, 6, ["x"])),
    "fewer than three entries": (plan("sum", "Area"), TOWNS.replace(rows=TOWNS.rows[:2])),
}  # fmt: skip


REASONS = {
    "cannot stand in an answer": ("cell ", "one of several"),
    "does not name one entry each": ("label not unique",),
    "is not the name of one entry": ("unknown entry",),
    "has empty cells": ("label empty", "empty cell in", "sum over an empty"),
    "under 2 headings": ("value twice in the entry",),
    "2 entries have": ("value twice in the column",),
    "are alike in the order": ("order with equals", "list order"),
    "has no neighbour": ("no one",),
    "writes one value in two ways": ("one value in two",),
    "select nothing or everything": ("filter selects", "count selects"),
    "changes nothing": ("second condition",),
    "is not written like": ("bound in",),
    "mixes units": ("sum over mixed", "mixed units in"),
    "is not numeric": ("sum over text",),
    "written in several ways": ("sum that",),
    "lies between two roundings": ("mean between",),
    "mean ends in zero": ("mean that",),
    "or all are alike": ("extreme in", "all values"),
    "entries tie": ("tie ", "claimed extreme"),
    "is no choice": ("k takes",),
    "two entries are alike": ("compared",),
    "in another writing": ("claimed value",),
    "have the same name": ("two columns",),
    "no usable column": ("unknown column",),
    "holds a list": ("a cell holds",),
    "fewer than three": ("fewer",),
}  # fmt: skip


@pytest.mark.parametrize("case", REJECTED)
def test_ambiguous_plans_are_refused(case):
    asked, table = REJECTED[case]
    (reason,) = (text for text, starts in REASONS.items() if case.startswith(starts))
    with pytest.raises(AmbiguousError, match=re.escape(reason)):
        answer(asked, table)


def test_more_than_six_items_are_refused():
    rows = [[f"Entry {letter}", number] for number, letter in enumerate("abcdefghij")]
    table = Table(["Town", "Size"], rows)

    def asked(bound: int) -> Plan:
        return plan("filter", conditions=(above("Size", str(bound)),), order="Size")

    assert len(answer(asked(3), table)) == 6
    with pytest.raises(AmbiguousError, match="more than 6"):
        answer(asked(2), table)


SINGLE = {"lookup", "row", "column", "find", "compare"}
OVER_ALL = [
    pytest.param(asked, id=name)
    for (asked, _), name in zip(ANSWERS, NAMES, strict=True)
    if asked.kind not in SINGLE and asked.claim not in {"cell", "compare"}
]


@pytest.mark.parametrize("asked", OVER_ALL)
@pytest.mark.parametrize(
    "label",
    ["Total", "sum:", "Subtotal", "Mean", "average", "AVG", "All", "Overall", "Combined",
     "Grand total", "合计", "总计", "小计", "平均", "均值"],
)  # fmt: skip
def test_questions_over_all_entries_refuse_summary_rows_and_columns(asked, label):
    assert answer(asked, TOWNS)
    with pytest.raises(AmbiguousError, match="sums up"):
        answer(asked, TOWNS.replace(header=[*TOWNS.header[:-1], label]))
    row = [label, "East", "1", "1 km", 0.75, "2020-01-01", ""]
    with pytest.raises(AmbiguousError, match="sums up"):
        answer(asked, TOWNS.replace(rows=[*TOWNS.rows, row]))


def test_longer_words_and_sentences_are_no_summary():
    for note in ("Sumner", "The ferry runs all year"):
        row = ["Allmere", "Meanwood", "1", "1 km", 0.75, "2020-01-01", note]
        table = TOWNS.replace(rows=[*TOWNS.rows, row])
        assert answer(plan("sum", "Area"), table) == ("87 km",)


def test_tables_with_a_summary_still_give_questions_about_single_entries():
    questions = generate_questions(SUMMED, per_table=40)
    allowed = {"lookup", "row", "column", "find", "compare", "statement"}
    assert questions
    assert {q.kind for q in questions} <= allowed
    compared = {name for q in questions if q.kind == "compare" for name in q.plan.names}
    assert compared
    assert "Total" not in compared


def test_generation_never_yields_what_the_rules_refuse():
    for asked, table in REJECTED.values():
        for question in generate_questions(table, per_table=20):
            assert question.plan != asked
            assert answer(question.plan, table) == question.answers


def test_years_identifiers_and_rates_are_not_added_up():
    table = Table(
        ["Name", "Bib", "Opened", "Share", "Speed", "Weight"],
        [["a", 7, 1987, "12.5%", "3 km/h", 31], ["b", 9, 2003, "7.1%", "5 km/h", 12],
         ["c", 4, 1999, "9.9%", "8 km/h", 15], ["d", 2, 2011, "8.4%", "9 km/h", 40]],
        name="sums",
    )  # fmt: skip
    questions = generate_questions(table, per_table=80)
    assert {q.plan.column for q in questions if q.kind == "sum"} == {"Weight"}
    assert {q.plan.column for q in questions if q.kind == "mean"} <= {"Share", "Speed", "Weight"}
    ranked = {q.plan.column for q in questions if q.kind in {"argmax", "topk", "min"}}
    assert ranked == {"Share", "Speed", "Weight"}


def test_same_seed_same_questions_other_seed_others():
    first = generate_questions(TOWNS, seed=1, per_table=12)
    assert first == generate_questions(TOWNS, seed=1, per_table=12)
    assert [q.text for q in first] != [
        q.text for q in generate_questions(TOWNS, seed=2, per_table=12)
    ]


def test_questions_do_not_change_when_more_are_asked_for():
    few = generate_questions(TOWNS, seed=3, per_table=5)
    assert generate_questions(TOWNS, seed=3, per_table=30)[:5] == few


def test_ids_are_short_unique_ascii_and_say_table_and_kind():
    questions = generate_questions(TOWNS, per_table=60)
    ids = [q.id for q in questions]
    assert len(set(ids)) == len(ids) == 60
    assert len({q.plan for q in questions}) == 60
    for question in questions:
        assert re.fullmatch(rf"towns-{question.kind}-[0-9]+", question.id)
        assert len(question.id) <= 24
        assert question.table_id == "towns"


@pytest.mark.parametrize("name", ["A long name of a file.csv", "城市", None])
def test_table_names_that_cannot_stand_in_an_id_are_replaced(name):
    table = Table(TOWNS.header, TOWNS.rows, name=name)
    other = Table(TOWNS.header, TOWNS.rows[1:], name=name)
    (question,) = generate_questions(table, per_table=1)
    assert re.fullmatch(r"[a-z0-9-]{6,12}", question.table_id)
    assert len(question.id) <= 24
    assert generate_questions(other, per_table=1)[0].table_id != question.table_id


def test_kinds_can_be_chosen_and_are_tried_in_their_order():
    questions = generate_questions(TOWNS, per_table=5, kinds=("sum", "lookup"))
    assert [q.kind for q in questions] == ["sum", "lookup", "sum", "lookup", "lookup"]  # two sums
    with pytest.raises(SettingsError, match=r"'median'.*lookup"):
        generate_questions(TOWNS, kinds=("median",))


def test_statements_say_so_and_are_both_true_and_false():
    questions = generate_questions(TOWNS, per_table=40, kinds=("statement",))
    assert all(q.text.startswith("True or false: ") for q in questions)
    assert {q.answers for q in questions} == {("true",), ("false",)}
    assert {q.plan.claim for q in questions} == {"cell", "compare", "extreme", "count"}


def test_each_kind_has_several_wordings():
    for kind in KINDS:
        openings = set()
        for seed in range(12):
            for question in generate_questions(TOWNS, seed=seed, per_table=6, kinds=(kind,)):
                text = question.text
                for cell in sorted({*TOWNS.header, *(str(c) for row in TOWNS.rows for c in row)},
                                   key=len, reverse=True):  # fmt: skip
                    text = text.replace(cell, "#") if cell else text
                openings.add(text[:16])
        assert len(openings) >= 2, kind


def test_questions_say_rounding_and_unit():
    means = generate_questions(TOWNS, per_table=9, kinds=("mean",))
    assert means
    assert all("rounded to two decimals" in q.text for q in means)
    sums = {q.plan.column: q for q in generate_questions(TOWNS, per_table=9, kinds=("sum",))}
    assert "(km)" in sums["Area"].text
    assert "unit" not in sums["People"].text


def test_no_wording_depends_on_places_in_the_table():
    questions: list[Question] = []
    for seed in range(10):
        questions += generate_questions(TOWNS, seed=seed, per_table=40)
    for question in questions:
        assert not re.search(
            r"\b(rows?|columns?|lines?|first|second|last|above|below|left|right|top|bottom)\b",
            question.text.casefold(),
        ), question.text


def test_tables_without_use_give_no_questions():
    assert generate_questions(Table(["A"], [])) == []
    assert generate_questions(Table([], [])) == []
    assert generate_questions(Table(["A", "a"], [[1, 2], [3, 4], [5, 6]])) == []
    assert generate_questions(Table(["A", "B"], [["", None], ["", ""]])) == []


def test_ragged_tables_are_named():
    with pytest.raises(TableError, match="table 'odd': row 2 has 1 cell"):
        generate_questions(Table(["A", "B"], [[1, 2], [3]], name="odd"))


def test_tables_without_names_for_entries_still_give_figures():
    table = Table(
        ["Kind", "Size"], [["a", 1.25], ["a", 3.5], ["b", 1.25], ["b", 7.75]], name="plain"
    )
    kinds = {q.kind for q in generate_questions(table, per_table=30)}
    assert (
        {"sum", "min", "max", "count"}
        <= kinds
        <= {"sum", "mean", "min", "max", "count", "statement"}
    )


def test_numbers_name_entries_where_no_text_does():
    table = Table(["Year", "Size"], [[2001, 4], [2002, 9], [2003, 6]], name="years")
    texts = [q.text for q in generate_questions(table, per_table=9, kinds=("lookup",))]
    assert any("the entry with Year 200" in text for text in texts)
