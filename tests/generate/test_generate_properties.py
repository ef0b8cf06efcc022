"""Properties that hold on any table: checked answers, and answers no reordering changes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_tablebench.generate import (
    AmbiguousError,
    answer,
    generate_questions,
    recompute,
    verify,
)
from pytest_tablebench.tables.table import Table
from tests.support.matrix import draws

WORDS = [
    "north",
    "South",
    "ost",
    "Total",
    "东部",
    "شمال",
    "Été",
    "a, b",
    "",
    "12 km",
    "7",
    "0.5",
    "yes",
]
UNITS = ["", " km", "%", " m³/s", " €"]

texts = st.sampled_from(WORDS) | st.text(min_size=0, max_size=6)
anything = (
    texts
    | st.none()
    | st.booleans()
    | st.integers(-2000, 3000)
    | st.floats(width=32)
    | st.sampled_from(["1,200", "1200", "3 km", "-4", "2020-02-02"])
)


@st.composite
def columns(draw, size: int) -> list[object]:
    """Draw a column: names, numbers (of one unit, typed, of several), dates, words, or a mess."""
    form = draw(st.integers(0, 7))
    numbers = st.integers(-50, 4000)
    if form == 0:
        return [f"N{number}" for number in draw(st.permutations(range(size)))]
    if form == 1:
        unit = draw(st.sampled_from(UNITS))
        decimals = draw(st.integers(0, 2))
        values = draw(st.lists(numbers, min_size=size, max_size=size))
        return [f"{value / 10**decimals:,.{decimals}f}{unit}" for value in values]
    if form == 2:
        return draw(st.lists(numbers, min_size=size, max_size=size))
    if form == 3:
        values = draw(st.lists(numbers, min_size=size, max_size=size))
        return [value / 4 for value in values]
    if form == 4:
        days = draw(st.lists(st.dates(), min_size=size, max_size=size))
        return [day.isoformat() for day in days]
    if form == 5:
        return draw(st.lists(st.sampled_from(["red", "blue", "灰"]), min_size=size, max_size=size))
    if form == 6:
        prices = st.sampled_from(["$ 39", "39", "43", "43 kg"])
        return draw(st.lists(prices, min_size=size, max_size=size))
    return draw(st.lists(anything, min_size=size, max_size=size))


@st.composite
def tables(draw) -> Table:
    size = draw(st.integers(0, 9))
    width = draw(st.integers(1, 6))
    names = draw(
        st.lists(
            st.sampled_from(["Town", "Area", "Year", "size", "城市", "Rate", "Total", " ", "3"])
            | st.text(max_size=5),
            min_size=width, max_size=width, unique=True,
        )
    )  # fmt: skip
    by_column = [draw(columns(size)) for _ in range(width)]
    return Table(names, list(zip(*by_column, strict=True)), name="any")


def reordered(table: Table, draw) -> Table:
    """Return the table with rows and columns shuffled and empty rows put in between."""
    order = draw(st.permutations(range(len(table.header))))
    rows = [[row[place] for place in order] for row in draw(st.permutations(table.rows))]
    for _ in range(draw(st.integers(0, 3))):
        empty = draw(st.sampled_from([[""] * len(order), [None] * len(order)]))
        rows.insert(draw(st.integers(0, len(rows))), empty)
    return table.replace(header=[table.header[place] for place in order], rows=rows)


relaxed = settings(
    max_examples=draws(120),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@relaxed
@given(table=tables(), seed=st.integers(0, 5))
def test_every_answer_is_reproduced_and_can_be_read_as_a_list(table, seed):
    for question in generate_questions(table, seed=seed, per_table=20):
        verify(question.plan, table, question.answers)
        assert question.answers
        assert ", ".join(question.answers).split(", ") == list(question.answers)
        assert all(item == item.strip() and item for item in question.answers)
        assert not any(sign in item for item in question.answers for sign in "|\n\r")


@relaxed
@given(table=tables(), seed=st.integers(0, 5), data=st.data())
def test_no_reordering_changes_an_answer(table, seed, data):
    questions = generate_questions(table, seed=seed, per_table=20)
    other = reordered(table, data.draw)
    for question in questions:
        assert answer(question.plan, other) == question.answers
        verify(question.plan, other, question.answers)


@relaxed
@given(table=tables(), other=tables())
def test_plans_of_another_table_are_answered_alike_or_refused(table, other):
    """Both ways agree on plans nobody checked, too; what is refused need not agree."""
    for question in generate_questions(table, per_table=10):
        try:
            answers = answer(question.plan, other)
        except AmbiguousError:
            continue
        verify(question.plan, other, answers)


def test_the_tables_drawn_here_do_give_questions():
    counts = []

    # What is drawn differs with the modules that are loaded: about a third gives questions.
    @settings(max_examples=draws(200), deadline=None, database=None, derandomize=True)
    @given(table=tables())
    def collect(table):
        counts.append(len(generate_questions(table, per_table=8)))

    collect()
    assert sum(count > 0 for count in counts) > len(counts) / 5


def test_recomputing_is_not_blind_to_empty_rows():
    table = Table(
        ["Town", "Area"], [["a", 1], ["", ""], ["b", 3], [None, None], ["c", 4]], name="x"
    )
    (question,) = generate_questions(table, per_table=1, kinds=("sum",))
    assert question.answers == ("8",)
    assert recompute(question.plan, table) == pytest.approx(8.0)
