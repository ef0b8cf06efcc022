"""Questions over tables held in memory: what a user's own suite is made of."""

from pathlib import Path

import pytest

from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.errors import DataError
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.scoring import judge_reply
from pytest_tablebench.tables.table import Table

PRICES = Table(("product", "price"), (("tea", "2.40"), ("coffee", "3.10")))


def judge(dataset, example, reply):
    found = judge_reply(
        builtin_registry(), dataset, reply, example.references, compat="fixed", **example.context
    )
    return found.score


def own(*args, metric="exact_match", **options):
    example = table_question("q", PRICES, "Which?", *args, **options)
    dataset = TableQuestions("prices", [example], metric=metric)
    return dataset, dataset.open(Path()).example("q")


@pytest.mark.parametrize(("ordered", "value"), [(False, 1.0), (True, 0.0)])
def test_any_order_is_right_unless_the_question_has_one(ordered, value):
    dataset, example = own(["coffee", "tea"], ordered=ordered)
    assert judge(dataset, example, "tea, coffee").value == value
    assert judge(dataset, example, "coffee, tea").value == 1.0


def test_an_alias_is_as_right_as_the_answer():
    dataset, example = own(["tea"], aliases={"tea": ["chai", "char"]})
    assert [judge(dataset, example, reply).value for reply in ("Chai", "tea", "coffee")] == [
        1,
        1,
        0,
    ]


def test_a_dataset_names_its_metric():
    dataset, example = own(["hot tea with milk"], metric="rouge")
    # Two of four words, both found: precision 1, recall 1/2.
    assert judge(dataset, example, "hot tea").parts["rougeL"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ({"milk": ["cream"]}, "question 'q': aliases for 'milk', which is not an answer"),
        ({"tea": "chai"}, "question 'q': the aliases of 'tea' must be a list"),
        (
            {"tea": ["x"], "coffee": ["x"]},
            "question 'q': 'x' is an alias of both 'tea' and 'coffee'",
        ),
        ({"tea": ["coffee"]}, "question 'q': 'coffee' is an alias of both 'coffee' and 'tea'"),
    ],
)
def test_aliases_that_leave_it_open_are_refused(aliases, message):
    with pytest.raises(DataError, match=message):
        own(["tea", "coffee"], aliases=aliases)
