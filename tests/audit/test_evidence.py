"""The reasons to doubt a gold besides the agreement of voters."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pytest_tablebench.audit._ballots import AuditedExample, OtherAnswer
from pytest_tablebench.audit._evidence import (
    REASONS,
    absence,
    derivation,
    derived_answer,
    number_absence,
    other_golds,
    programs,
    units,
)
from pytest_tablebench.audit._table_faults import fault_of, unequal_totals
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.metrics.normal_form import normal_form
from pytest_tablebench.tables.table import Table
from tests.audit.audit_runs import audited, table_example

HEADER = ["City", "Visitors", "Price (EUR)"]
ROWS = [["Bonn", "120", "4.50"], ["Ulm", "80", "3"], ["Trier", "300", "2"]]


def asked(question: str, gold: str, metric: str = "wikitq") -> AuditedExample:
    return audited(table_example(question, [gold], HEADER, ROWS), metric=metric)


def voted(example: AuditedExample, **answers: str) -> AuditedExample:
    """Let voters answer."""
    for voter, answer in answers.items():
        form = normal_form(answer)
        example.votes[voter] = Counter([form])
        example.texts[form] = answer
    return example


@pytest.mark.parametrize(
    ("question", "answer", "rule"),
    [
        ("What is the total number of visitors of all cities combined?", "500", "sum"),
        ("What is the average price?", "3.166667", "mean"),
        ("How many cities are listed?", "3", "count"),
        ("Which city has the most visitors?", "Trier", "extreme"),
        ("Which city has the lowest price?", "Trier", "extreme"),
        ("What is the price of Ulm?", "3", "look-up"),
    ],
)
def test_a_rule_computes_the_answer(question: str, answer: str, rule: str) -> None:
    derived = derived_answer(asked(question, "7"))
    assert derived is not None
    assert (derived.answer, derived.rule) == (answer, rule)
    gold = "7" if derived.number is not None else "Bonn"
    [against] = derivation(asked(question, gold))
    assert against.weight > 0
    assert against.answer == answer
    assert against.text.endswith(f"the gold is {gold}")
    [support] = derivation(asked(question, answer))
    assert support.weight < 0


@pytest.mark.parametrize(
    "question",
    [
        "What is the total number of visitors from abroad?",
        "How many visitors did Bonn and Ulm have in total?",
        "What is the price of tea in Ulm?",
        "Which city has the most visitors and the lowest price?",
        "How many cities have more than 100 visitors?",
        "What is the average?",
    ],
)
def test_a_rule_is_silent_about_a_word_that_it_does_not_know(question: str) -> None:
    assert derived_answer(asked(question, "7")) is None


def test_the_rules_agree_with_every_question_made_by_rule() -> None:
    source = Starter().open(Path())
    examples = [audited(source.example(name)) for name in source.example_ids(None)]
    evidence = [item for example in examples for item in derivation(example)]
    assert len(evidence) >= 5
    assert [item.text for item in evidence if item.weight > 0] == []


def test_a_total_row_is_no_part_of_a_sum() -> None:
    rows = [*ROWS, ["Total", "500", "9.50"]]
    example = table_example("What is the total number of visitors?", ["500"], HEADER, rows)
    derived = derived_answer(audited(example))
    assert derived is not None
    assert derived.answer == "500"
    assert derived.cells == ((0, 0, 1), (0, 1, 1), (0, 2, 1))


def test_a_last_row_that_equals_the_sum_is_a_total_in_any_language() -> None:
    rows = [*ROWS, ["Totaal", "500", "9.50"]]
    example = table_example("What is the total number of visitors?", ["500"], HEADER, rows)
    [support] = derivation(audited(example))
    assert support.weight < 0


@pytest.mark.parametrize(
    ("gold", "answer", "words"),
    [
        ("115.7", "1157", "by a factor of 10"),
        ("0.25", "25%", "by a factor of 100, as a percentage and a share do"),
        ("-4", "4", "only in their sign"),
        ("3.448", "3.45", "only by rounding"),
    ],
)
def test_units_are_named(gold: str, answer: str, words: str) -> None:
    example = voted(asked("How many?", gold), a=answer, b=answer)
    [evidence] = units(example)
    assert evidence.text.endswith(f"differ {words}")
    assert evidence.answer == answer


@pytest.mark.parametrize(
    ("gold", "answer"), [("4", "5"), ("0", "10"), ("Bonn", "4"), ("7", "71"), ("2002", "2003")]
)
def test_other_differences_have_no_unit(gold: str, answer: str) -> None:
    example = voted(asked("How many?", gold), a=answer, b=answer)
    assert list(units(example)) == []


def test_the_answer_of_one_voter_is_not_compared() -> None:
    example = voted(asked("How many?", "1200"), a="120", b="1200")
    assert list(units(example)) == []
    assert list(number_absence(example)) == []


def test_a_gold_in_words_that_is_absent() -> None:
    example = voted(asked("Where?", "Berlin"), a="Trier", b="Trier")
    [evidence] = absence(example)
    assert evidence.text == "'Berlin' does not occur in the table"
    assert evidence.answer == "Trier"
    for gold in ("Trier", "yes", "5", "Bonn, Ulm", "no clear trend"):
        assert list(absence(asked("Where?", gold))) == []
    assert list(absence(asked("Where?", "Berlin", metric="rouge"))) == []
    coded = table_example("Where?", ["Italy"], ["Name"], [["Bettini (ITA)"]])
    assert list(absence(audited(coded, metric="wikitq"))) == []


def test_only_one_of_two_numbers_occurs() -> None:
    example = voted(asked("How many visitors had Trier?", "3000"), a="300", b="300")
    [against] = number_absence(example)
    assert (against.answer, against.weight > 0) == ("300", True)
    example = voted(asked("How many visitors had Trier?", "300"), a="3000", b="3000")
    [support] = number_absence(example)
    assert (support.answer, support.weight < 0) == ("300", True)


def test_another_gold() -> None:
    example = asked("How many?", "115.7")
    example.others.append(OtherAnswer("v2/file.jsonl", "1157", "#1157"))
    [evidence] = other_golds(example)
    assert evidence.text == "the gold of the same question in v2/file.jsonl is 1157"
    [unit] = units(example)
    assert unit.text == "the gold and 1157 differ by a factor of 10"


def test_a_program_speaks_if_another_voter_agrees() -> None:
    example = voted(asked("How many?", "4"), a="5", b="5")
    example.programs["a"] = Counter({"#5": 3})
    [evidence] = programs(example)
    assert evidence.text == "a program of a prints 5, and 1 other voter answers the same"
    alone = voted(asked("How many?", "4"), a="5", b="4")
    alone.programs["a"] = Counter({"#5": 1})
    assert list(programs(alone)) == []
    alone.programs["a"] = Counter({"#4": 1})
    [support] = programs(alone)
    assert support.weight < 0


def test_totals_that_differ_from_their_sums() -> None:
    columns = Table(["City", "2020"], [["A", "10"], ["B", "20"], ["C", "30.5"], ["Total", "60"]])
    [unequal] = unequal_totals(columns)
    assert unequal.sentence == "the table's total of 2020 is 60, the sum of its parts is 60.5"
    rows = Table(
        ["Kind", "A", "B", "C", "Total"],
        [
            ["x", "10", "20", "30", "60"],
            ["y", "1", "2", "3", "7"],
            ["z", "1", "2", "3", "6"],
            ["u", "1", "1", "1", "3"],
        ],
    )
    [unequal] = unequal_totals(rows)
    assert unequal.sentence == "the table's total of y is 7, the sum of its parts is 6"
    far = Table(["City", "2020"], [["A", "10"], ["B", "20"], ["C", "30"], ["Total", "90"]])
    assert list(unequal_totals(far)) == []
    revenue = [["A", "$500"], ["share of A", "94.2%"], ["B", "$30"], ["share of B", "5.8%"]]
    shares = Table(["Part", "2020"], [*revenue, ["Total", "$530"]])
    assert list(unequal_totals(shares)) == []


def test_broken_tables() -> None:
    plain = [["Bonn", "1", "2"], ["Ulm", "3", "4"], ["Trier", "5", "6"], ["Köln", "7", "8"]]
    header = ["City", "Home", "Away"]
    assert fault_of(Table(header, plain)) is None
    assert fault_of(Table(header, [["x", "Home", "Away"], *plain])) == (
        "row 1 of the table repeats names of its header, so it is a second header"
    )
    shifted = [*plain, ["", "Wien", "9"]]
    wide = [[*row, "a"] for row in plain] + [["", "Wien", "9", "10"]]
    assert fault_of(Table([*header, "Land"], wide)) == (
        "the cells of row 5 are shifted by one column"
    )
    assert fault_of(Table(header, shifted)) is None
    assert fault_of(Table(["City", "", "Home", "Home"], [[*row, "9"] for row in plain])) == (
        "the table has a column without a name and columns that share a name"
    )


def test_all_reasons_take_an_example_without_tables_or_answers() -> None:
    empty = audited(table_example("Why?", ["x"], [], []))
    assert [item for reason in REASONS for item in reason(empty)] == []
