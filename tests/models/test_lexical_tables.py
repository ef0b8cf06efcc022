"""The built-in lexical model finds the last table of a prompt in the layouts that it reads."""

import pytest

from pytest_tablebench.models.lexical._prompt import find_question, find_table
from pytest_tablebench.serializers import serialize
from pytest_tablebench.tables.table import Table
from tests.support.present import present

STRUCTURED = ["html", "csv", "json", "markdown"]

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
    "pipes": (PIPES, ["html", "csv", "json"]),
    "lines": (LINES, ["html", "csv", "json"]),
}
CARRIED = [(name, layout) for name, (_, layouts) in TABLES.items() for layout in layouts]


def parsed(prompt):
    table = present(find_table(prompt).table)
    return table.header, table.rows


def texts(table):
    header = tuple(str(cell).strip() for cell in table.header)
    return header, tuple(tuple(str(cell).strip() for cell in row) for row in table.rows)


@pytest.mark.parametrize("prompt", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(("name", "layout"), CARRIED, ids=["-".join(pair) for pair in CARRIED])
def test_a_table_is_read_back_from_every_layout(name, layout, prompt):
    table = TABLES[name][0]

    assert parsed(prompt.format(table=serialize(table, layout))) == texts(table)


@pytest.mark.parametrize("prompt", LAYOUTS.values(), ids=LAYOUTS)
def test_concat_is_read_as_words(prompt):
    place = find_table(prompt.format(table=serialize(PLAIN, "concat")))

    assert place.table is None
    assert place.words == ("Name", "City", "Score", "Ann", "Oslo", "12", "Bob", "Rome", "7")


@pytest.mark.parametrize("layout", STRUCTURED)
@pytest.mark.parametrize("shown", [*STRUCTURED, "concat"])
def test_the_last_table_is_read_and_not_a_demonstration(shown, layout):
    old = Table(["Old", "Thing"], [["gone", "1"], ["past", "2"]])
    demo = f"\nQuestion: old?\nTable: {serialize(old, shown)}\nAnswer: \ngone\n\n"

    prompt = f"Do.{demo}\nQuestion: q?\nTable: {serialize(PLAIN, layout)}\nAnswer: \n"

    assert parsed(prompt) == texts(PLAIN)


def test_cells_of_json_become_text_as_written():
    table = Table(["k", "v", "w"], [["a", None, 1.5], ["b", True, float("nan")]])

    _, rows = parsed(f"Table: {serialize(table, 'json')}\nStatement: s \n")

    assert rows == (("a", "", "1.5"), ("b", "True", ""))


def test_questions_before_and_after_the_table_are_found():
    for layout in STRUCTURED:
        shown = serialize(PLAIN, layout)
        for prompt in (LAYOUTS["wikitq"], LAYOUTS["starter"], LAYOUTS["qtsumm"]):
            text = prompt.format(table=shown)
            assert find_question(text, find_table(text)).text == "who won?"


@pytest.mark.parametrize("layout", ["html", "json"])
def test_labels_inside_a_closed_table_are_cells(layout):
    table = Table(["a", "b"], [["x\nQuestion: inside?", "1"], ["y", "2"]])
    text = f"Table: {serialize(table, layout)}\nQuestion: outside?\n"

    place = find_table(text)

    assert present(place.table).rows == (("x\nQuestion: inside?", "1"), ("y", "2"))
    assert find_question(text, place).text == "outside?"


@pytest.mark.parametrize("layout", ["html", "json", "markdown"])
def test_a_table_without_a_label_is_found_by_its_markup(layout):
    prompt = f"Look at this.\n{serialize(PLAIN, layout)}\nQuestion: who won?"

    assert parsed(prompt) == texts(PLAIN)
