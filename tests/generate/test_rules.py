"""Tables that are fit or not, the wording of questions, and the parts of each operation."""

from __future__ import annotations

import string
from random import Random

import pytest

from pytest_tablebench.generate.pair import Amount, PlanStep, RejectedError, Texts
from pytest_tablebench.generate.question_maker import LANGUAGES, data_file
from pytest_tablebench.generate.rules import RECIPES, SKILLS, RuleGenerator
from pytest_tablebench.generate.rules._answers import ANSWERS, plain_answer
from pytest_tablebench.generate.rules._basics import NARROWING
from pytest_tablebench.generate.rules._draw import DRAWS
from pytest_tablebench.generate.rules._generate import written_answer
from pytest_tablebench.generate.rules._sheet import ParsedSheet
from pytest_tablebench.generate.rules._wording import ARGUMENTS, word
from pytest_tablebench.tables.table import Table

PRICES = Table(
    ["Item", "Kind", "Price", "Year"],
    [
        ["tea", "drink", "2.40", "1990"],
        ["coffee", "drink", "3.10", "1995"],
        ["cocoa", "drink", "2.95", "1990"],
        ["bread", "food", "4.00", "2001"],
        ["salt", "food", "0.80", "2003"],
    ],
)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (PRICES.replace(rows=PRICES.rows[:2]), "too small"),
        (PRICES.replace(rows=[*PRICES.rows, ["milk", "drink", "", "1999"]]), "missing values"),
        (PRICES.replace(rows=[*PRICES.rows, ["Total", "all", "13.25", "0"]]), "summary"),
        (PRICES.replace(rows=[*PRICES.rows, ["合计", "x", "13.25", "0"]]), "summary"),
        (PRICES.replace(header=["Item", "Kind", "Mean price", "Year"]), "summary"),
        (PRICES.replace(header=["商品", "种类", "平均价格", "年份"]), "summary"),
        (PRICES.replace(header=["Item", "Kind", "Price", "price "]), "two columns with one name"),
        (PRICES.replace(rows=[row[:3] for row in PRICES.rows]), "rows of unequal length"),
        (Table(["a", "b"], [["x", "y"], ["u", "v"], ["s", "t"]]), "no numeric column"),
        (PRICES.replace(rows=[["x" * 9, "k", str(n), "1"] for n in range(4000)]), "too long"),
    ],
)
def test_tables_that_are_left_out(table: Table, why: str) -> None:
    with pytest.raises(RejectedError, match=f"^{why}"):
        RuleGenerator().make(table, None)


def test_columns_are_known_by_their_use() -> None:
    sheet = ParsedSheet.of(PRICES)
    assert (sheet.label, sheet.groups) == ("Item", ("Kind",))
    assert tuple(sheet.numbers) == ("Price", "Year")
    assert sheet.measures == ("Price",)  # years measure nothing
    assert sheet.summed == ()  # nobody adds up prices


def test_every_operation_is_whole() -> None:
    """Drawn, computed, and worded in both languages."""
    answers = {*ANSWERS, "exceeds"}
    assert set(DRAWS) == answers | set(NARROWING)
    assert set(ARGUMENTS) == answers
    steps = {step for recipe in RECIPES.values() for step in recipe.steps}
    assert {step.partition(":")[0] for step in steps} == answers | set(NARROWING)
    assert {recipe.subtask for recipe in RECIPES.values()} == set(SKILLS)


def test_both_languages_have_the_same_templates_and_several_wordings() -> None:
    files = [data_file(f"rules/{language}.toml") for language in LANGUAGES]
    first, second = files
    assert first.keys() == second.keys()
    for section in first:
        assert first[section].keys() == second[section].keys(), section
    for file in files:
        for wordings in file["answers"].values():
            assert len(wordings) == len(set(wordings)) >= 2
    fields = [
        {
            name: {field for text in texts for _, field, _, _ in string.Formatter().parse(text)}
            for name, texts in file["answers"].items()
        }
        for file in files
    ]
    assert fields[0].keys() == fields[1].keys()
    for name, asked in fields[0].items():
        # `rows` may be left out where it can only be all of them.
        assert asked - {None, "rows"} == fields[1][name] - {None, "rows"}, name


def steps_of(*steps: tuple[str, tuple[object, ...]]) -> tuple[PlanStep, ...]:
    return tuple(PlanStep(name, arguments) for name, arguments in steps)


DRINKS = ("where", ("Kind", "=", ("drink",)))

# What a person works out from the table above.
BY_HAND = [
    (steps_of(("cell", ("tea", "Price"))), Texts(("2.40",))),
    (steps_of(("cell_at", (2, 3))), Texts(("3.10",))),
    (steps_of(("row_of", ("bread",))), Amount(4)),
    (steps_of(("neighbour", ("cocoa", "up"))), Texts(("coffee",))),
    (steps_of(("neighbour", ("cocoa", "right"))), Texts(("drink",))),
    (steps_of(("heading_of", ("2003",))), Texts(("Year",))),
    (steps_of(("find", ("Price", "4.00"))), Texts(("bread",))),
    (steps_of(DRINKS, ("count", ())), Amount(3)),
    (steps_of(DRINKS, ("labels", (False,))), Texts(("tea", "coffee", "cocoa"))),
    (
        steps_of(DRINKS, ("top", ("Price", 2, True)), ("labels", (True,))),
        Texts(("coffee", "cocoa"), ordered=True),
    ),
    (steps_of(("extreme", ("Price", False))), Texts(("salt",))),
    (steps_of(("is_more", ("Price", "tea", "cocoa"))), False),
    (steps_of(DRINKS, ("statistic", ("Price", "sum")), ("exceeds", ("8.40",))), True),
]


@pytest.mark.parametrize(("steps", "expected"), BY_HAND)
def test_answers_that_are_known(steps: tuple[PlanStep, ...], expected: object) -> None:
    sheet = ParsedSheet.of(PRICES)
    found = plain_answer(steps, sheet)
    if isinstance(expected, Amount):
        assert isinstance(found, Amount)
        assert found.value == expected.value
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("name", "text", "tolerance"),
    [
        ("sum", "8.45", ""),
        ("mean", "2.817", "0.001"),  # 8.45 / 3 = 2.81666...
        ("median", "2.950", "0.001"),
        ("range", "0.70", ""),
        ("std", "0.369", "0.001"),  # deviations -.416667, .283333, .133333
    ],
)
def test_numbers_as_they_are_written(name: str, text: str, tolerance: str) -> None:
    found = plain_answer(steps_of(DRINKS, ("statistic", ("Price", name))), ParsedSheet.of(PRICES))
    assert written_answer(found, "en") == ((text,), "number", tolerance, "")


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (steps_of(("where", ("Price", ">", ("9.00",))), ("count", ())), "empty"),
        (steps_of(("where", ("Price", ">", ("0.10",))), ("count", ())), "trivial"),
        (steps_of(("top", ("Year", 4, False)), ("count", ())), "ambiguous"),  # 1990 twice
        (steps_of(("row_of", ("drink",))), "ambiguous"),
        (steps_of(("neighbour", ("tea", "up"))), "empty"),
        (steps_of(("find", ("Kind", "food"))), "ambiguous"),
        (steps_of(("is_cell", ("salt", "Price", "0.8"))), "ambiguous"),
        (steps_of(DRINKS, ("statistic", ("Price", "sum")), ("exceeds", ("8.45",))), "borderline"),
    ],
)
def test_questions_that_are_rejected(steps: tuple[PlanStep, ...], why: str) -> None:
    with pytest.raises(RejectedError, match=why):
        plain_answer(steps, ParsedSheet.of(PRICES))


def test_a_chain_is_said_step_by_step() -> None:
    steps = steps_of(DRINKS, ("above", ("Price", "mean", True)), ("statistic", ("Price", "max")))
    sheet = ParsedSheet.of(PRICES)
    found = plain_answer(steps, sheet)
    english = word(steps, sheet, found, "en", Random(0))
    assert english.startswith(
        'Begin with the entries whose "Kind" is "drink". Of these, keep the ones whose "Price" is '
        'above the mean of "Price" among them. '
    )
    assert 'the largest value of "Price"' in english
    chinese = word(steps, sheet, found, "zh", Random(0))
    assert chinese.startswith(
        "先取“Kind”为“drink”的条目。再从中取“Price”高于其中“Price”平均值的条目。"
    )


def test_normality_of_published_values() -> None:
    """Shapiro and Wilk (1965), weights of men: W = 0.79, p below 0.01."""
    weights = (148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236)
    sheet = ParsedSheet.of(Table(["Man", "Weight"], [[f"m{w}", str(w)] for w in weights]))
    assert plain_answer(steps_of(("normal", ("Weight",))), sheet) is False


def test_a_value_at_the_edge_of_a_range_is_no_outlier() -> None:
    # The quartiles are 0.3 and 0.7 by both rules: 0.7 + 1.5 * 0.4 = 1.3, which floats miss.
    sizes = ["0.3"] * 4 + ["0.7"] * 4 + ["1.3"]
    sheet = ParsedSheet.of(Table(["Shop", "Size"], [[f"s{n}", s] for n, s in enumerate(sizes)]))
    assert plain_answer(steps_of(("is_outlier", ("Size", "tukey", "s8"))), sheet) is False


def test_the_same_seed_gives_the_same_questions() -> None:
    def asked(seed: int) -> list[str]:
        maker = RuleGenerator(seed=seed, per_table=10)
        return [pair.question for pair in maker.make(PRICES, None)[1]]

    assert asked(0) == asked(0)
    assert asked(0) != asked(1)


def test_tables_with_hostile_cells_give_questions_or_none() -> None:
    """Braces, format strings, quotes and formulas are text like any other."""
    cells = ["{rows}", "{0.__class__}", '"', "=1+1", "%s", "a|b", "x, y", "\u202e", "<b>"]
    rows = [[f"n{number}", cell, str(number * 7)] for number, cell in enumerate(cells)]
    maker = RuleGenerator(per_table=50)
    _, pairs = maker.make(Table(["{name}", "Cell {", "Value"], rows), None)
    assert any("{name}" in pair.question for pair in pairs)


def test_numbers_with_a_decimal_comma_are_not_computed_with():
    # 12.500 and 1.380 are whole numbers here, because another column has decimal commas.
    rows = [["Kiel", "12.500", "1,5"], ["Ulm", "17", "2,25"], ["Jena", "1.380", "3,0"]]
    german = Table(["Stadt", "Einwohner", "Anteil"], rows)
    with pytest.raises(RejectedError, match="no numeric column"):
        ParsedSheet.of(german)
    usual = [["Kiel", "12500", "1.5"], ["Ulm", "17", "2.25"], ["Jena", "1380", "3.0"]]
    values = ParsedSheet.of(german.replace(rows=usual)).numbers["Einwohner"].values
    assert list(map(int, values)) == [12500, 17, 1380]
