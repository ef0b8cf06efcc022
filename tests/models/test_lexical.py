"""The built-in lexical model answers from the prompt alone and never fails."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.models.base import Message, Provider, Reply, Request
from pytest_tablebench.models.lexical.model import LexicalModel
from pytest_tablebench.serializers import serialize
from pytest_tablebench.tables.perturbations import perturb
from pytest_tablebench.tables.table import Table
from tests.support.matrix import FULL, draws, reduced

FORMATS = ["html", "csv", "json", "markdown", "indexed_row_major", "df", "concat"]
READ = FORMATS[:4]
PERTURBATIONS = ["none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows"]

SHIPS = Table(
    ["Ship", "Port", "Built", "Crew", "Load"],
    [
        ["Merlin", "Dover", "1998", "24", "1,250 t"],
        ["Petrel", "Bergen", "2004", "17", "860 t"],
        ["Gannet", "Dover", "2011", "31", "2,400 t"],
        ["Puffin", "Tromsø", "1987", "17", "310 t"],
    ],
)
LAKES = Table(
    ["Lake", "Country", "Area (km²)", "Depth"],
    [
        ["Brenta", "Italy", "38.5", "120 m"],
        ["Solva", "Norway", "112.0", "310 m"],
        ["Mirna", "Croatia", "7.25", "45 m"],
        ["Orr", "Norway", "64.1", "98 m"],
        ["Tessel", "Italy", "20.0", "33 m"],
    ],
)


def complete(text, **more):
    return LexicalModel().complete(Request("tablebench/lexical", (Message("user", text),), **more))


def ask(question, table=SHIPS, serializer="html"):
    shown = serialize(table, serializer)
    return complete(f"Answer.\nTable:\n{shown}\n\nQuestion: {question}\nAnswer: ").text


PLAIN_QUESTIONS = [
    ("What is the Port of Petrel?", "Bergen"),
    ("How many crew does the Merlin have?", "24"),
    ("Which ship was built in 2011?", "Gannet"),
    ("How many ships have the port Dover?", "2"),
    ("What is the total of Crew?", "89"),
    ("What is the sum of Load?", "4820"),
    ("What is the average Crew?", "22.25"),
    ("Which Ship has the highest Load?", "Gannet"),
    ("What is the lowest Load?", "310 t"),
    ("Which ship has the most crew?", "Gannet"),
    ("Which ship has the least load?", "Puffin"),
    ("True or false: the Crew of Merlin is 24.", "true"),
    ("True or false: the Crew of Merlin is 31.", "false"),
    ("Is the Port of Petrel Bergen?", "yes"),
    ("Is the Port of Petrel Dover?", "no"),
]


@pytest.mark.parametrize("serializer", READ)
@pytest.mark.parametrize(("question", "answer"), PLAIN_QUESTIONS)
def test_each_kind_of_question_is_answered(question, answer, serializer):
    assert ask(question, serializer=serializer) == answer


@pytest.mark.parametrize("serializer", READ)
@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("the merlin be build in 1998", "entailed"),
        ("the merlin be build in 2004", "refuted"),
        ("the port of the petrel be not bergen", "refuted"),
    ],
)
def test_statements_are_judged(statement, verdict, serializer):
    head = "Classify the entailment into one of these classes: refuted, entailed.\n"
    prompt = f"{head}Table: {serialize(SHIPS, serializer)}\nStatement: {statement} \n"

    assert complete(prompt).text == verdict


def test_without_entailment_classes_a_statement_is_true_or_false():
    assert (
        complete(f"Table: {serialize(SHIPS, 'csv')}\nStatement: merlin be 1998 \n").text == "true"
    )


def test_empty_rows_are_not_counted():
    gaps = SHIPS.replace(rows=[[""] * 5, *SHIPS.rows[:2], [""] * 5, *SHIPS.rows[2:]])

    assert ask("How many rows are there?", gaps) == "4"


@pytest.mark.parametrize("digit", ["²", "٣", "①"])
def test_digits_that_are_no_numbers_are_text(digit):
    table = Table(["Day", "Rank"], [[f"{digit} May", digit], ["5 May", "2"]])

    check(complete(f"Table: {serialize(table, 'html')}\nStatement: there be {digit} day \n"))
    assert ask(f"Which are the top {digit} days by the highest Day?", table)
    assert ask("What is the highest Day?", table)


def test_a_demonstration_is_not_answered():
    demo = f"Question: What is the Depth of Solva?\nTable: {serialize(LAKES, 'json')}\nAnswer: \n"
    last = f"Question: What is the Port of Petrel?\nTable: {serialize(SHIPS, 'json')}\nAnswer: \n"

    assert complete(f"Do.\n\n{demo}310 m\n\n\n{last}").text == "Bergen"
    assert complete(f"Do.\n\n{last}Bergen\n\n\n{demo}").text == "310 m"


@pytest.mark.parametrize("serializer", FORMATS[4:])
def test_in_other_formats_the_answer_is_next_to_the_last_word_of_the_question(serializer):
    words = serialize(SHIPS, serializer).split()
    following = {after for word, after in pairwise(words) if "Petrel" in word}

    assert ask("What is the name Petrel?", serializer=serializer) in following


def test_a_reply_has_finish_reason_and_token_counts():
    reply = complete(f"Table: {serialize(SHIPS, 'html')}\nQuestion: What is the Port of Petrel?")

    assert reply.text == "Bergen"
    assert reply.finish_reason == "stop"
    assert reply.prompt_tokens == len(serialize(SHIPS, "html").split()) + 8
    assert reply.completion_tokens == 1
    assert reply.cost_usd == 0.0
    assert reply.latency_s is None


def test_the_answer_depends_only_on_the_prompt():
    prompt = f"Table: {serialize(SHIPS, 'json')}\nQuestion: What is the Port of Petrel?"
    first, second = prompt.split("\n", 1)
    model: Provider = LexicalModel()
    replies = [
        model.complete(request)
        for request in (
            Request("tablebench/lexical", (Message("user", prompt),)),
            Request("other", (Message("user", prompt),), {"temperature": 1}, case_id="starter/x"),
            Request("other", (Message("system", first), Message("user", second))),
        )
    ]
    model.complete(Request("m", (Message("user", "Table: a,b\n1,2\nQuestion: What is a?"),)))
    replies.append(model.complete(Request("tablebench/lexical", (Message("user", prompt),))))

    assert [reply.text for reply in replies] == ["Bergen"] * 4
    assert len(set(replies)) == 1


def check(reply):
    assert isinstance(reply, Reply)
    assert reply.text.strip()
    assert "\n" not in reply.text
    reply.text.encode()


PIECES = [
    *("<table>", "</table>", "<tr>", "<td>", "</td>", "<th", "|", "||", "|---|", "\n", " ", ","),
    *('"', "{", "}", "[", "]", ":", '{"0": {', "pd.DataFrame({\n", "},\nindex=[0])", "col : "),
    *("row 1 : ", "row 2 : ", " | ", "Table: ", "\nTable:\n", "\nQuestion: ", "\nStatement: "),
    *("how many", "highest", "total", "more than 5", "top 3", "average", "after", "or", "x", "²"),
    *("Is ", "which", "first listed", "not", "12", "1,000", "$5", "(3)", "٣", "²", "\x00", "\r"),
    *("true or false: ", "refuted, entailed", "difference", "NaN", "null", "\ud800", "a", "2001"),
]


@settings(deadline=None, max_examples=draws(500))
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=60))
def test_broken_tables_get_a_reply(pieces):
    check(complete("".join(pieces)))


@settings(deadline=None, max_examples=draws(300))
@given(
    st.sampled_from(FORMATS),
    st.sampled_from(PERTURBATIONS),
    st.sampled_from([question for question, _ in PLAIN_QUESTIONS]) | st.text(max_size=40),
    st.tuples(st.integers(0, 400), st.integers(0, 60), st.text(max_size=8)),
)
def test_damaged_tables_get_a_reply(serializer, change, question, damage):
    start, length, inserted = damage
    shown = serialize(perturb(SHIPS, change, seed=0), serializer)
    damaged = shown[:start] + inserted + shown[start + length :]

    check(complete(f"Table: {damaged}\nQuestion: {question}\n"))
    check(complete(f"Table: {damaged}\nStatement: {question}\n"))


@pytest.mark.parametrize("label", reduced(["", "Table: "], "Table: "))
@pytest.mark.parametrize(
    "unit",
    [
        *("<td>", "<tr><td>", "<td ", "<table>", "|", "||\n", "|---|\n", "|a|b|\n|---|---|\n"),
        *("[", ",", ",\n", '"', "{", '{"a":', '{"0": {', "pd.DataFrame({", "col : a row 1 : "),
        *("\nTable:", "\nQuestion:", "\n ", " ", "9", "9,", "more than ", "(", "\x00"),
    ],
)
def test_long_nonsense_gets_a_reply(unit, label):
    reply = complete(label + unit * ((1_000_000 if FULL else 200_000) // len(unit)))

    check(reply)
    assert len(reply.text) <= 1000


def test_a_long_table_is_read_up_to_a_limit():
    lines = "\n".join(f"n{number},{number}" for number in range(100_000))
    table = f"Table: name,score\n{lines}\n"

    assert complete(f"{table}Question: What is the score of n77?").text == "77"
    assert complete(f"{table}Question: How many rows are there?").text == "16667"


def test_model_text_is_not_evaluated(tmp_path):
    target = tmp_path / "made"
    call = f"__import__('pathlib').Path({str(target)!r}).touch()"

    check(complete(f'Table: pd.DataFrame({{\n"a": [{call}]}},\nindex=[0])\nQuestion: a?'))

    assert not target.exists()
