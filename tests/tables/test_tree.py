"""Header trees of tables and of model replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.hierarchy.tree import (
    Header,
    HeaderTree,
    aligned,
    read_tree,
    true_tree,
)
from pytest_tablebench.tables.table import Table

# A corner, two years with two quarters each, and indented rows in a section.
SALES = Table(
    ["", "Q1", "Q2", "Q1", "Q2"],
    [
        ["Europe", "", "", "", ""],
        ["All", "1", "2", "3", "4"],
        ["North", "5", "6", "7", "8"],
        ["South", "9", "10", "11", "12"],
    ],
    header_rows=[["Region", "2020", "", "2021", ""]],
    row_headers=1,
    row_levels=[0, 0, 1, 1],
    sections=[0],
    spans=[Span(0, 0, 2, 1), Span(0, 1, 1, 2), Span(0, 3, 1, 2)],
)

HEADERS = (
    Header("C", 0, 1, 1, "Region"),
    Header("C", 0, 2, 3, "2020"),
    Header("C", 1, 2, 2, "Q1"),
    Header("C", 1, 3, 3, "Q2"),
    Header("C", 0, 4, 5, "2021"),
    Header("C", 1, 4, 4, "Q1"),
    Header("C", 1, 5, 5, "Q2"),
    Header("R", 0, 1, 4, "Europe"),
    Header("R", 1, 2, 4, "All"),
    Header("R", 2, 3, 3, "North"),
    Header("R", 2, 4, 4, "South"),
)


def test_the_tree_of_a_table_follows_merges_sections_and_indents():
    tree = true_tree(SALES)
    assert tree.headers == HEADERS
    assert tree.parents == (None, None, 1, 1, None, 4, 4, None, 7, 8, 8)
    assert tree.edges()["C", "2020", "q1"] == 1
    assert [*tree.lines()] == [
        "ROOT (columns)",
        "  Region  [C0 1]",
        "  2020  [C0 2-3]",
        "    Q1  [C1 2]",
        "    Q2  [C1 3]",
        "  2021  [C0 4-5]",
        "    Q1  [C1 4]",
        "    Q2  [C1 5]",
        "ROOT (rows)",
        "  Europe  [R0 1-4]",
        "    All  [R1 2-4]",
        "      North  [R2 3]",
        "      South  [R2 4]",
    ]


def test_a_flat_table_has_only_column_headers_and_equal_names_are_two():
    tree = true_tree(Table(["a", "b", "b"], [["1", "2", "3"]]))
    assert tree.headers == tuple(
        Header("C", 0, at, at, text) for at, text in enumerate("abb", start=1)
    )
    assert tree.edges() == {("C", "root", "a"): 1, ("C", "root", "b"): 2}


def test_a_merged_row_header_is_one_and_rows_of_one_name_are_two():
    table = Table(
        ["", "", "n"],
        [["A", "x", "1"], ["", "x", "2"], ["B", "y", "3"]],
        row_headers=2,
        spans=[Span(1, 0, 2, 1)],
    )
    rows = [one for one in true_tree(table).headers if one.kind == "R"]
    assert rows == [
        Header("R", 0, 1, 2, "A"),
        Header("R", 1, 1, 1, "x"),
        Header("R", 1, 2, 2, "x"),
        Header("R", 0, 3, 3, "B"),
        Header("R", 1, 3, 3, "y"),
    ]


def test_every_tuple_of_a_reply_is_read_once():
    reply = """L = [(C0, 1, 2, "Sales (net), in m"), T(C1, 1, 1, Q1);
    (r0, 3, 5, City)
    (C1, 1, 1, Q1) -> ROOT, (C1, 2, two, no number), (X0, 1, 1, no kind)"""
    assert read_tree(reply).headers == (
        Header("C", 0, 1, 2, "Sales (net), in m"),
        Header("C", 1, 1, 1, "Q1"),
        Header("R", 0, 3, 5, "City"),
    )


def test_the_f1_is_over_labelled_edges():
    true = true_tree(SALES)
    assert HeaderTree(HEADERS).f1(true) == 1.0
    # Without the years four quarters are children of the root, and three more edges are missing.
    flat = HeaderTree(tuple(one for one in HEADERS if one.text not in {"2020", "2021"}))
    # 9 edges here, 11 there, of which 5 are the same: Region, Europe, All, North, South.
    assert flat.f1(true) == pytest.approx(2 * 5 / 20)
    assert HeaderTree(()).f1(true) == 0.0
    assert HeaderTree(()).f1(HeaderTree(())) == 1.0


def test_a_range_outside_of_higher_headers_is_a_child_of_the_root():
    top = Header("C", 0, 1, 2, "a")
    tree = HeaderTree((top, Header("C", 2, 2, 3, "b"), Header("R", 1, 1, 1, "c")))
    assert tree.parents == (None, None, None)
    wide = top._replace(end=9)
    deep = HeaderTree((wide, Header("C", 1, 1, 4, "b"), Header("C", 3, 2, 2, "c")))
    assert deep.parents == (None, 0, 1)


@given(st.text(alphabet='(CR0129, )T\nab"', max_size=300))
def test_any_reply_is_read(text):
    tree = read_tree(text)
    assert sum(tree.edges().values()) == len(tree.headers)
    assert len(tree.parents) == len(tree.headers)


def test_a_long_hostile_reply_is_read_quickly():
    assert len(read_tree("(C0, 1, 1, " * 50_000).headers) == 0
    assert len(read_tree("".join(f"(C0, {n}, {n}, x)" for n in range(9000))).headers) == 5000


PEOPLE = Table(
    ["Name", "Age > in years", "Home > City", "Home > Country"],
    [["Ada Byron", "36", "London", "UK"], ["Bo Diddley", "41", "McComb", "US"]],
)


@pytest.mark.parametrize(
    ("question", "threshold", "rows", "columns"),
    [
        ("What age is Bo Diddley?", 0.9, (1,), (0, 1)),
        # City and cities share two of their 4 and 6 trigrams: 2 * 2 / 10.
        ("Which cities are there?", 0.4, (0, 1), (0, 2)),
        ("Which cities are there?", 0.41, (0, 1), (0, 1, 2, 3)),
        ("Everything about home", 1.0, (0, 1), (0, 2, 3)),
        ("", 0.1, (0, 1), (0, 1, 2, 3)),
    ],
)
def test_rows_and_columns_named_in_a_question_are_kept(question, threshold, rows, columns):
    part = aligned(PEOPLE, question, threshold)
    assert (part.rows, part.columns) == (rows, columns)
    assert part.table.header == tuple(PEOPLE.header[at] for at in columns)
    assert part.table.rows == tuple(tuple(PEOPLE.rows[row][at] for at in columns) for row in rows)


def test_the_recall_is_over_the_cells_with_the_answer():
    part = aligned(PEOPLE, "age of Bo Diddley", 0.9)
    assert part.recall(PEOPLE, ["41"]) == 1.0
    assert part.recall(PEOPLE, ["36, 41"]) == 0.5
    assert part.recall(PEOPLE, ["US"]) == 0.0
    assert part.recall(PEOPLE, ["77"]) is None


def test_words_without_blanks_between_them_are_found():
    table = Table(["城市", "人口"], [["北京", "1"], ["上海", "2"]])
    part = aligned(table, "上海的人口是多少", 0.9)
    assert (part.rows, part.columns) == ((1,), (0, 1))
