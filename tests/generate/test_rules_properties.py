"""Generated questions, answered a second time by code that the generator does not know."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.generate.pair import Pair
from pytest_tablebench.generate.question_maker import LANGUAGES, Tally
from pytest_tablebench.generate.rules import RECIPES, SKILLS, RuleGenerator
from pytest_tablebench.generate.rules._generate import CHANGES
from pytest_tablebench.tables.perturbations import PERTURBATIONS, perturb
from pytest_tablebench.tables.table import Table
from tests.support.drawn_tables import drawn_table
from tests.support.matrix import FULL, draws
from tests.support.oracle import Oracle

COUNT = 5_000 if FULL else 400
YES = {"yes": True, "no": False, "是": True, "否": False}


@cache
def generated() -> tuple[list[tuple[Table, Pair]], Tally]:
    maker = RuleGenerator(seed=1, per_table=50, language="both")
    found: list[tuple[Table, Pair]] = []
    seed = 0
    while len(found) < COUNT:
        table = drawn_table(seed)
        found += [(table, pair) for pair in maker.make(table, None)[1]]
        seed += 1
    return found, maker.tally


def holds(pair: Pair, result: object) -> bool:
    """Whether a written answer says what was found, as exactly as its tolerance."""
    if isinstance(result, bool):
        return YES[pair.answers[0]] is result
    if isinstance(result, list):
        if pair.metric == "ordered_list":
            return list(pair.answers) == result
        return sorted(pair.answers) == sorted(result)
    assert isinstance(result, int | float)
    (answer,) = pair.answers
    room = float(pair.tolerance or 0) * 0.5000001 + 1e-9 * abs(float(answer))
    return abs(float(answer) - result) <= room


def test_the_oracle_gives_every_answer() -> None:
    found, _ = generated()
    oracles: dict[str, Oracle] = {}
    for table, pair in found:
        if str(table.name) not in oracles:
            oracles[str(table.name)] = Oracle(table)
        assert holds(pair, oracles[str(table.name)].answer(pair.steps)), pair
    assert len({pair.tags["recipe"] for _, pair in found}) > len(RECIPES) * 0.9


NUMBERS = st.sampled_from(["0", "1", "1.0", "2", "2.50", "2.5", "3", "4", "40", "-7", "1,200"])


@settings(max_examples=draws(100), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("xXyz"), NUMBERS, NUMBERS), min_size=5, max_size=30),
    st.integers(0, 1000),
)
def test_the_oracle_answers_questions_on_ties_and_other_spellings(
    rows: list[tuple[str, str, str]], seed: int
) -> None:
    table = Table(
        ["Shop", "Region", "Weight", "Size"], [[f"s{n}", *row] for n, row in enumerate(rows)]
    )
    maker, oracle = RuleGenerator(seed=seed, per_table=40), Oracle(table)
    for pair in maker.make(table, None)[1]:
        assert holds(pair, oracle.answer(pair.steps)), pair


OTHER_NAMES = {"synonym_names", "abbreviate_names"}
NOT_TRIED = {"none", "transpose", "truncate_rows", *OTHER_NAMES}


@pytest.mark.parametrize("name", sorted(set(CHANGES) - NOT_TRIED))
def test_an_answer_survives_the_perturbations_that_its_question_names(name: str) -> None:
    """A transposed table has the same names and cells; no question below speaks of directions."""
    found, _ = generated()
    named = [(table, pair) for table, pair in found if name in pair.perturbations]
    assert named
    changed: dict[str, Oracle] = {}
    for table, pair in named[:150]:
        if str(table.name) not in changed:
            changed[str(table.name)] = Oracle(perturb(table, name, seed=3))
        assert holds(pair, changed[str(table.name)].answer(pair.steps)), (name, pair)


def test_questions_that_survive_a_transposition_speak_of_no_direction() -> None:
    found, _ = generated()
    asked = [pair for _, pair in found if "transpose" in pair.perturbations]
    assert len(asked) > COUNT // 2
    for pair in asked:
        spoken = r"\b(row|column|line)s?\b|directly|行号|第几?行|正[上下]方|侧紧邻"
        assert not re.search(spoken, pair.question)


def test_no_question_survives_that_rows_are_left_out() -> None:
    assert not any("truncate_rows" in pair.perturbations for _, pair in generated()[0])


def test_positions_survive_no_other_order_of_rows() -> None:
    found, _ = generated()
    places = [pair for _, pair in found if pair.tags["recipe"] in {"cell_at", "row_of"}]
    assert places
    for pair in places:
        assert not {"shuffle_rows", "insert_empty_rows", "transpose"} & set(pair.perturbations)


def test_every_perturbation_is_known_for_what_it_changes() -> None:
    changing = {"distractor_rows", "missing_values", "change_units", "counterfactual", "no_table"}
    assert set(PERTURBATIONS) - set(CHANGES) == {*changing, "number_format"}


def test_no_heading_is_asked_for_under_other_names() -> None:
    for _, pair in generated()[0]:
        if pair.tags["recipe"] in {"heading_of", "partner"}:
            assert not OTHER_NAMES & set(pair.perturbations)


def test_subtasks_difficulties_and_verdicts_are_balanced() -> None:
    """Over large tables, which give something for every kind, no kind is left behind."""
    maker = RuleGenerator(seed=2, per_table=60)
    verdicts: Counter[str] = Counter()
    for seed in range(4):
        _, pairs = maker.make(drawn_table(seed * 3, rows=60), None)
        verdicts.update(pair.answers[0] for pair in pairs if pair.metric == "yes_no")
    cells = maker.cells()
    assert {subtask for subtask, _ in cells} == set(SKILLS)
    most, least = max(cells.values()), min(cells.values())
    assert least >= most * 0.6, cells
    assert 0.4 < verdicts["yes"] / verdicts.total() < 0.6


def test_a_question_comes_once_and_does_not_say_its_answer() -> None:
    found, _ = generated()
    asked = Counter((table.name, " ".join(pair.question.split()).lower()) for table, pair in found)
    assert set(asked.values()) == {1}
    assert len({pair.id for _, pair in found}) == len(found)
    for _, pair in found:
        assert pair.id.isascii()
        assert pair.tags["language"] in LANGUAGES
        assert not re.search(r"[{}]", pair.question)
        if pair.metric != "yes_no":
            for answer in pair.answers:
                plain = re.escape(answer)
                assert len(answer) < 2 or not re.search(rf"(?<!\w){plain}(?!\w)", pair.question)
