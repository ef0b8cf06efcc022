"""Targets of generated questions: each is right over its own reply."""

from __future__ import annotations

import random

import pytest

from pytest_tablebench import Table, score
from pytest_tablebench.datasets.answers import answer_context
from pytest_tablebench.generate.pair import answer_text
from pytest_tablebench.generate.rules import RuleGenerator
from tests.support.matrix import FULL

NAMES = (
    *("1. FC Koeln", "3. Liga", "2. Liga", "(a)", "(b)", "a;b", "c", "Marks & Spencer", "A and B"),
    *("A*", "A", "O'Neil", "5'", "10-12", "A-17", "x/y", "Rock and Roll", "d'Arc", "[1]", "e)"),
    *("- x", "1,2", "№ 7", "茶和水", "北京、上海", "über uns", "No. 5", "yes", "no", "3 kg", "C++"),
    *("100%", "a:b", "The End", "1) one", "*star*", "_x_", "tea", "10 km", "1999-2000", "3/4"),
    *("N/A", "é", "E-5", "Q3", "12", "1e-05", "007", "-3", "(1,200)", "5. März 2024", "the tea"),
)


def is_right(answers: tuple[str, ...], table: Table, metric: str = "", question: str = "") -> bool:
    context = answer_context([table], answers, metric=metric or None, tolerance=None, unit=None)
    context |= {"question": question, "table 1": table}
    return score("typed_answer", ", ".join(answers), answers, **context).value == 1


@pytest.mark.parametrize("metric", ["list", "ordered_list"])
@pytest.mark.slow
def test_lists_are_right_over_their_own_replies(metric: str) -> None:
    rng = random.Random(24)
    names = [name for name in NAMES if answer_text(name) == name]
    assert len(names) > 45
    table = Table(["name"], [[name] for name in names])
    for _ in range(2_500 if FULL else 200):
        answers = tuple(rng.sample(names, rng.randint(2, 6)))
        assert is_right(answers, table, metric), answers


def test_generated_questions_are_right_over_their_own_replies() -> None:
    rng, kinds = random.Random(1), set[str]()
    generator = RuleGenerator(per_table=40, seed=3)
    for _ in range(8):
        names = rng.sample([name for name in NAMES if name != "N/A"], 10)
        rows = [[name, rng.choice("xyz"), str(rng.randint(1, 40))] for name in names]
        table = Table(["name", "group", "amount"], rows)
        for pair in generator.make(table, None)[1]:
            kinds.add(pair.metric)
            assert is_right(pair.answers, table, pair.metric, pair.question), pair
    assert {"list", "ordered_list", "number", "yes_no"} <= kinds
