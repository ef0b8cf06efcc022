"""From tables to questions: draw, answer, put into words, balance the kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random

from pytest_tablebench.generate.pair import (
    Amount,
    Pair,
    PlainAnswer,
    PlanStep,
    RejectedError,
    Texts,
    parse_number,
    plain_question,
    says,
)
from pytest_tablebench.generate.question_maker import (
    ComputedQuestions,
    TableQuestions,
    data_file,
    spoken,
)
from pytest_tablebench.generate.rules._answers import plain_answer
from pytest_tablebench.generate.rules._draw import draw_steps
from pytest_tablebench.generate.rules._sheet import ParsedSheet
from pytest_tablebench.generate.rules._wording import word
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

_MOST_AHEAD = 3
"""The most by which one recipe's answers yes and no may differ in number."""

_YES_NO = {"en": ("yes", "no"), "zh": ("是", "否")}

SKILLS: Mapping[str, str] = data_file("rules/recipes.toml")["skills"]


@dataclass(frozen=True)
class Recipe:
    """A kind of question: the operations of its steps, whose arguments are drawn."""

    name: str
    subtask: str
    difficulty: str
    steps: tuple[str, ...]

    @cached_property
    def cell(self) -> tuple[str, str]:
        """The unit of the balance."""
        return self.subtask, self.difficulty


RECIPES: Mapping[str, Recipe] = {
    name: Recipe(name, subtask, difficulty, tuple(steps))
    for subtask, levels in data_file("rules/recipes.toml")["recipes"].items()
    for difficulty, recipes in levels.items()
    for name, steps in recipes.items()
}


class RuleGenerator(ComputedQuestions):
    """Makes questions of one table after the other, with state of constant size.

    Arguments:
        seed, per_table, language: as for `ComputedQuestions`.
        subtasks: the kinds of questions; by default all of `SKILLS`.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        per_table: int = 20,
        language: str = "auto",
        subtasks: Sequence[str] = tuple(SKILLS),
    ) -> None:
        super().__init__(seed=seed, per_table=per_table, language=language)
        self._recipes = [recipe for recipe in RECIPES.values() if recipe.subtask in subtasks]

    def make(self, table: Table, most: int | None) -> TableQuestions:
        """Return a digest of the table and its questions, in a good mixture of subtasks.

        The next recipe is always the least used one that the table allows. Raises `RejectedError`.
        """
        sheet, seen = ParsedSheet.of(table), set[object]()
        rng = seeded_random(f"rules/{sheet.digest}", seed=self._seed)
        names = [recipe.name for recipe in self._recipes]
        return sheet.digest, self.drawn(
            names, most, self._next, lambda name: self._pair(RECIPES[name], sheet, rng, seen)
        )

    def cells(self) -> Counter[tuple[str, str]]:
        """Return the number of accepted questions by subtask and difficulty."""
        counts: Counter[tuple[str, str]] = Counter()
        for name, count in self.tally.recipes.items():
            counts[RECIPES[name].cell] += count
        return counts

    def _next(self, names: Iterable[str]) -> str:
        """Return the least used recipe of the least used subtask and difficulty."""
        cells, used = self.cells(), self.tally.recipes
        return min(names, key=lambda name: (cells[RECIPES[name].cell], used[name]))

    def _pair(self, recipe: Recipe, sheet: ParsedSheet, rng: Random, seen: set[object]) -> Pair:
        steps = draw_steps(recipe.steps, sheet, rng)
        if (recipe, steps) in seen:
            raise RejectedError("duplicate")
        result = plain_answer(steps, sheet)
        if isinstance(result, bool) and self._is_one_sided(recipe, result):
            raise RejectedError("too often the same")
        language = spoken(self._language, self.tally.accepted, sheet.cells)
        answers, metric, tolerance, unit = written_answer(result, language)
        question = word(steps, sheet, result, language, rng)
        key = plain_question(question)
        if key in seen:
            raise RejectedError("duplicate")
        if not isinstance(result, bool) and any(says(key, answer) for answer in answers):
            raise RejectedError("answer in question")
        if isinstance(result, bool):
            self.tally.verdicts[f"{recipe.name} {result}"] += 1
        seen |= {(recipe, steps), key}
        return Pair(
            id=f"{sheet.digest[:10]}-{recipe.name}-{len(seen) // 2}",
            steps=steps,
            question=question,
            answers=answers,
            metric=metric,
            tolerance=tolerance,
            unit=unit,
            tags={
                "skill": SKILLS[recipe.subtask],
                "subtask": recipe.subtask,
                "difficulty": recipe.difficulty,
                "language": language,
                "recipe": recipe.name,
            },
            perturbations=surviving(steps),
        )

    def _is_one_sided(self, recipe: Recipe, holds: bool) -> bool:
        """Return whether a recipe had this verdict too often to have it once more."""
        verdicts = self.tally.verdicts
        ahead = verdicts[f"{recipe.name} {holds}"] - verdicts[f"{recipe.name} {not holds}"]
        return ahead >= _MOST_AHEAD


def written_answer(answer: PlainAnswer, language: str) -> tuple[tuple[str, ...], str, str, str]:
    """Return the items of an answer, its metric, tolerance and unit."""
    if isinstance(answer, bool):
        return (_YES_NO[language][0 if answer else 1],), "yes_no", "", ""
    if isinstance(answer, Texts):
        if len(answer.items) > 1:
            return answer.items, "ordered_list" if answer.ordered else "list", "", ""
        number = parse_number(answer.items[0])
        return answer.items, "number" if number is not None else "", "", ""
    text = _written(answer)
    tolerance = "" if answer.exact else f"{Fraction(1, 10**answer.decimals).__float__():f}"
    return (text,), "number", tolerance.rstrip("0"), answer.unit


def _written(amount: Amount) -> str:
    """Write a number with its decimals, rounding half to even."""
    digits = round(Fraction(amount.value) * 10**amount.decimals)
    if amount.decimals == 0:
        return str(digits)
    whole = f"{abs(digits):0{amount.decimals + 1}d}"
    sign = "-" if digits < 0 else ""
    return f"{sign}{whole[: -amount.decimals]}.{whole[-amount.decimals :]}"


CHANGES: Mapping[str, list[str]] = data_file("rules/recipes.toml")["changes"]
"""What each perturbation of `tables.perturbations` changes."""


def surviving(steps: Sequence[PlanStep]) -> tuple[str, ...]:
    """Return the perturbations that keep the answer correct."""
    all_needs = data_file("rules/recipes.toml")["needs"]
    needs: set[str] = set()
    for step in steps:
        variant = f"{step.name} {step.arguments[1]}" if len(step.arguments) > 1 else ""
        needs |= set(all_needs.get(variant) or all_needs.get(step.name, all_needs["others"]))
    return tuple(name for name, changes in CHANGES.items() if needs.isdisjoint(changes))
