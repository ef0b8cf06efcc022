"""Questions over tables in memory, as a user's suite defines them."""

from pathlib import Path

import pytest

from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.errors import DataError
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.scorer import Scorer
from pytest_tablebench.tables.table import Table

PRICES = Table(("product", "price"), (("tea", "2.40"), ("coffee", "3.10")))


def judge(dataset, example, reply):
    scorer = Scorer(builtin_registry())
    return scorer.score_text(dataset, reply, example.references, **example.context).score


def questions_of(*args, metric="exact_match", **options):
    example = table_question("q", PRICES, "Which?", *args, **options)
    dataset = TableQuestions("prices", [example], metric=metric)
    return dataset, dataset.open(Path()).example("q")


@pytest.mark.parametrize(("ordered", "value"), [(False, 1.0), (True, 0.0)])
def test_any_order_of_answers_is_right_unless_the_question_is_ordered(ordered, value):
    dataset, example = questions_of(["coffee", "tea"], ordered=ordered)
    assert judge(dataset, example, "tea, coffee").value == value
    assert judge(dataset, example, "coffee, tea").value == 1.0


def test_an_alias_is_right_too():
    dataset, example = questions_of(["tea"], aliases={"tea": ["chai", "char"]})
    assert [judge(dataset, example, reply).value for reply in ("Chai", "tea", "coffee")] == [
        1,
        1,
        0,
    ]


def test_a_dataset_names_its_metric():
    dataset, example = questions_of(["hot tea with milk"], metric="rouge")
    # Two of four words: precision 1, recall 1/2.
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
def test_ambiguous_aliases_are_refused(aliases, message):
    with pytest.raises(DataError, match=message):
        questions_of(["tea", "coffee"], aliases=aliases)
