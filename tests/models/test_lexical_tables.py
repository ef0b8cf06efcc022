"""The built-in lexical model finds the last table of a prompt in every text layout."""

import pytest

from pytest_tablebench.models.lexical._find_table import find_table
from pytest_tablebench.models.lexical._question import find_question
from pytest_tablebench.models.lexical._words import format_number, order_key, parse_number
from pytest_tablebench.serializers import serialize
from pytest_tablebench.tables.table import Table
from tests.support.present import present

STRUCTURED = ["html", "csv", "json", "markdown", "indexed_row_major", "df"]

LAYOUTS = {
    "wikitq": "Answer from the table.\n\nQuestion: who won?\nTable: {table}\nAnswer: \n",
    "tabfact": "Classify: refuted, entailed.\nTable: {table}\nStatement: ann won \n",
    "starter": "Answer.\nTitle: Games\nTable:\n{table}\n\nQuestion: who won?\nAnswer: ",
    "qtsumm": "Summarise.\nTable:\n{table}\nQuery:\nwho won?\nAnswer:\n",
    "finqa": (
        "Write a program.\nPre-table text: in 2001\n                Table: {table}\n"
        "                Post-table text: later\n                Question: who won?\n"
    ),
    "indented": "Go.\n  table: \n{table} \ncaption: \nwho won? \ndescription:",
}

PLAIN = Table(["Name", "City", "Score"], [["Ann", "Oslo", "12"], ["Bob", "Rome", "7"]])
COMMAS = Table(["Name", "Pay, gross"], [["Lee, Ann", "1,250"], ["Bob, Jr.", "980"]])
QUOTES = Table(["Name", 'the "nick"'], [['Ann "A" Lee', '"x"'], ["O'Hara", "it's"]])
EMPTY = Table(["Name", "", "Note"], [["", "", ""], ["Ann", "", "x"], ["Bob", "y", ""]])
WORLD = Table(["都市", "Größe"], [["東京", "2,194 km²"], ["Łódź 🏭", "293 km²"]])
PIPES = Table(["Name", "a|b"], [["x|y", "1"], ["|", "2"]])
LINES = Table(["Name", "Note"], [["Ann\nLee", "first\n\nsecond"], ["Bob", "x\ny"]])
TRANSPOSED = Table([" ", "0", "1"], [["Name", "Ann", "Bob"], ["Score", "12", "7"]])

TABLES = {
    "plain": (PLAIN, STRUCTURED),
    "commas": (COMMAS, STRUCTURED),
    "quotes": (QUOTES, STRUCTURED),
    "empty": (EMPTY, STRUCTURED),
    "non_latin": (WORLD, STRUCTURED),
    "transposed": (TRANSPOSED, STRUCTURED),
    # The other layouts do not escape these characters, so they cannot be parsed back.
    "pipes": (PIPES, ["html", "csv", "json", "df", "indexed_row_major"]),
    "lines": (LINES, ["html", "csv", "json", "df", "markdown", "indexed_row_major"]),
}
CARRIED = [(name, layout) for name, (_, layouts) in TABLES.items() for layout in layouts]


def test_a_latex_table_is_read_with_its_merged_cells():
    text = (
        "% \\usepackage{multirow}\n\\begin{table}[]\n\\begin{tabular}{|l|cc|}\n\\hline\n"
        "\\multirow{2}{*}{\\textbf{City}} & "
        "\\multicolumn{2}{c}{\\cellcolor[HTML]{FFFF00}Pay \\%} \\\\\n"
        " & \\begin{tabular}[c]{@{}l@{}}in\\\\ 2001\\end{tabular} & 2002 \\\\\n"
        "Oslo & 1 \\& 2 & 3\n\\end{tabular}\n\\end{table}"
    )

    found = find_table(f"Table:\n{text}\n\nQuestion: who won?\n")

    assert found.layout == "latex"
    assert found.header == ("City", "Pay %", "")
    assert found.rows == (("", "in 2001", "2002"), ("Oslo", "1 & 2", "3"))


def texts(table):
    header = tuple(str(cell).strip() for cell in table.header)
    return header, tuple(tuple(str(cell).strip() for cell in row) for row in table.rows)


@pytest.mark.parametrize("prompt", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(("name", "layout"), CARRIED, ids=["-".join(pair) for pair in CARRIED])
def test_a_table_is_read_back_from_every_layout(name, layout, prompt):
    table = TABLES[name][0]

    found = find_table(prompt.format(table=serialize(table, layout)))

    assert found.layout == layout
    assert (found.header, found.rows) == texts(table)


@pytest.mark.parametrize("prompt", LAYOUTS.values(), ids=LAYOUTS)
def test_concat_is_read_as_words(prompt):
    found = find_table(prompt.format(table=serialize(PLAIN, "concat")))

    assert found.layout == "concat"
    assert found.rows == (("Name", "City", "Score", "Ann", "Oslo", "12", "Bob", "Rome", "7"),)


@pytest.mark.parametrize("layout", [*STRUCTURED, "concat"])
@pytest.mark.parametrize("shown", [*STRUCTURED, "concat"])
def test_the_last_table_is_read_and_not_a_demonstration(shown, layout):
    old = Table(["Old", "Thing"], [["gone", "1"], ["past", "2"]])
    demo = f"\nQuestion: old?\nTable: {serialize(old, shown)}\nAnswer: \ngone\n\n"

    found = find_table(f"Do.{demo}\nQuestion: q?\nTable: {serialize(PLAIN, layout)}\nAnswer: \n")

    assert found.layout == layout
    words = " ".join([*found.header, *(cell for row in found.rows for cell in row)])
    assert words == "Name City Score Ann Oslo 12 Bob Rome 7"


def test_cells_of_json_and_data_frames_become_text_as_written():
    table = Table(["k", "v", "w"], [["a", None, 1.5], ["b", True, float("nan")]])

    for layout in ("json", "df"):
        found = find_table(f"Table: {serialize(table, layout)}\nStatement: s \n")
        assert found.rows == (("a", "", "1.5"), ("b", "True", ""))


def test_questions_before_and_after_the_table_are_found():
    for layout in STRUCTURED:
        shown = serialize(PLAIN, layout)
        for prompt in (LAYOUTS["wikitq"], LAYOUTS["starter"], LAYOUTS["qtsumm"]):
            text = prompt.format(table=shown)
            assert find_question(text, find_table(text)).text == "who won?"


@pytest.mark.parametrize("layout", ["html", "json", "df"])
def test_labels_inside_a_closed_table_are_cells(layout):
    table = Table(["a", "b"], [["x\nQuestion: inside?", "1"], ["y", "2"]])
    text = f"Table: {serialize(table, layout)}\nQuestion: outside?\n"

    found = find_table(text)

    assert found.rows == (("x\nQuestion: inside?", "1"), ("y", "2"))
    assert find_question(text, found).text == "outside?"


@pytest.mark.parametrize("layout", ["html", "df", "json", "indexed_row_major", "markdown"])
def test_a_table_without_a_label_is_found_by_its_markup(layout):
    found = find_table(f"Look at this.\n{serialize(PLAIN, layout)}\nQuestion: who won?")

    assert (found.layout, found.header) == (layout, ("Name", "City", "Score"))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        ("1,234,567", 1234567.0),
        ("12,34,567", 1234567.0),
        ("$1,250.50", 1250.5),
        ("-3.5 %", -3.5),
        ("−7", -7.0),
        ("(5)", -5.0),
        ("12 km", 12.0),
        ("€ 3 million", 3e6),
        ("4[1]", 4.0),
        (".5", 0.5),
        ("", None),
        ("n/a", None),
        ("Henry 8", None),
        ("3-2", None),
        ("2001-05-06", None),
        ("9" * 70, None),
    ],
)
def test_numbers_are_read_in_common_spellings(text, number):
    assert parse_number(text) == number


def test_dates_are_ordered():
    dates = ["1999", "May 5, 2001", "2001-06-01", "7 December 2001", "2002"]
    days = ["2 January", "14 January", "Feb 1", "30 Nov"]

    for ordered in (dates, days):
        keys = [present(order_key(text)) for text in ordered]
        assert keys == sorted(set(keys))
    assert order_key("Mayor of Rome") is None


@pytest.mark.parametrize(
    ("value", "text"), [(3.0, "3"), (2.5, "2.5"), (1 / 3, "0.33"), (1e300 * 1e300, "0")]
)
def test_computed_numbers_are_rounded(value, text):
    assert format_number(value) == text
