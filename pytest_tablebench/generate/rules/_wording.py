"""Put plans into words, with templates from one file for each language."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pytest_tablebench.generate.pair import Amount, PlainAnswer, PlanStep, Texts, parse_number
from pytest_tablebench.generate.question_maker import data_file
from pytest_tablebench.generate.rules._basics import NARROWING
from pytest_tablebench.generate.rules._sheet import ParsedSheet

ARGUMENTS: dict[str, list[str]] = {
    name: text.split() for name, text in data_file("rules/recipes.toml")["arguments"].items()
}
"""The templates' names for the arguments of each operation that gives an answer."""

_VARIANTS = {"rule", "kind"}
"""Arguments that choose between templates."""


def word(
    steps: Sequence[PlanStep], sheet: ParsedSheet, answer: PlainAnswer, language: str, rng: Random
) -> str:
    """Return the question's text in one of its wordings."""
    return _Wording(sheet, data_file(f"rules/{language}.toml"), rng).question(steps, answer)


class _Wording:
    def __init__(self, sheet: ParsedSheet, templates: dict[str, Any], rng: Random) -> None:
        self.sheet, self.of, self.rng = sheet, templates, rng
        self.words: dict[str, str] = templates["words"]

    def question(self, steps: Sequence[PlanStep], answer: PlainAnswer) -> str:
        """Return the whole text: the narrowing steps, the question, the form of the answer."""
        count = next(n for n, step in enumerate(steps) if step.name not in NARROWING)
        narrowing, (main, *judging) = steps[:count], steps[count:]
        intro, rows = self.narrowed(narrowing)
        fields = {"rows": rows, "label": self.quoted(self.sheet.label), **self.fields(main)}
        if judging:
            bound = judging[0].arguments[0]
            noun = self.choose(self.of["nouns"][main.name], fields)
            text = self.choose(self.of["answers"]["exceeds"], {"noun": noun, "bound": bound})
        elif main.name in self.of["nouns"] and main.name not in self.of["answers"]:
            noun = self.choose(self.of["nouns"][main.name], fields)
            text = self.choose(self.of["asks"]["number"], {"noun": noun})
        else:
            text = self.choose(self.of["answers"][self.key(main)], fields)
        text = text[:1].upper() + text[1:]
        gap = "" if intro[-1:] in {"", "。"} else " "
        return f"{intro}{gap}{text}{self.suffix(main, steps, answer)}"

    def choose(self, wordings: Sequence[str], fields: dict[str, str]) -> str:
        return self.rng.choice(wordings).format_map(fields)

    def quoted(self, text: str) -> str:
        quotes = self.of["quotes"]
        return f"{quotes['open']}{text}{quotes['close']}"

    def value(self, text: str) -> str:
        """Return a value: numbers are bare, texts quoted."""
        return f" {text} ".strip() if parse_number(text) is not None else self.quoted(text)

    def key(self, step: PlanStep) -> str:
        """Return the name of a step's templates: the operation, with its variants."""
        names = ARGUMENTS[step.name]
        variants = [str(step.arguments[n]) for n, name in enumerate(names) if name in _VARIANTS]
        return ":".join([step.name, *variants])

    def fields(self, step: PlanStep) -> dict[str, str]:
        names = ARGUMENTS[step.name]
        fields: dict[str, str] = {}
        for name, argument in zip(names, step.arguments, strict=True):
            if name in {"row", "place", "bound"}:
                fields[name] = str(argument)
            elif name in {"column", "by", "before", "after"}:
                fields[name] = self.quoted(argument)
            elif name in {"name", "value"}:
                fields[name] = self.value(argument)
            elif name == "second":
                is_column = step.name in {"correlation", "is_related"}
                fields[name] = self.quoted(argument) if is_column else self.value(argument)
            elif name == "columns":
                *some, last = map(self.quoted, argument)
                fields[name] = f"{self.words['comma'].join(some)}{self.words['and']}{last}"
            elif name == "statistic":
                fields[name] = self.of["statistics"][argument]
            elif name == "side":
                fields[name] = self.words[argument]
            elif name == "most":
                fields[name] = self.words["highest" if argument else "lowest"]
            elif name == "test":
                column, statistic, bound = argument
                fields |= {"column": self.quoted(column), "bound": bound}
                fields["statistic"] = self.of["statistics"][statistic]
            elif name in {"then", "otherwise"}:
                column, statistic = argument
                fields[name] = self.part(column, statistic)
        return fields

    def part(self, column: str, statistic: str) -> str:
        """Return a statistic's name without the entries that it is computed over."""
        fields = {"column": self.quoted(column), "statistic": self.of["statistics"][statistic]}
        return str(self.of["nouns"]["part"]).format_map(fields)

    def narrowed(self, steps: Sequence[PlanStep]) -> tuple[str, str]:
        """Return the sentences that narrow the entries, and the name of the remaining ones."""
        if not steps:
            return "", self.words["all"]
        if len(steps) == 1:
            return "", self.phrase(steps[0], "entries")
        sentences = [self.words["first"].format(step=self.phrase(steps[0], "first"))]
        then = self.words["then"]
        sentences += [then.format(step=self.phrase(step, "then")) for step in steps[1:]]
        gap = "" if sentences[0].endswith("。") else " "
        return gap.join(sentences), self.words["remaining"]

    def phrase(self, step: PlanStep, place: str) -> str:
        """Return the words for a step that chooses entries.

        `place`: `entries` for the whole phrase, `first` and `then` for a part of a sentence.
        """
        narrow = self.of["narrow"]
        if step.name == "top":
            column, count, highest = step.arguments
            name = ("entries_top" if place == "entries" else "top") + ("_1" if count == 1 else "")
            most = self.words["highest" if highest else "lowest"]
            fields = {"column": self.quoted(column), "count": str(count), "most": most}
            return str(narrow[name].format_map(fields))
        if step.name == "above":
            column, statistic, higher = step.arguments
            name = "above_remaining" if place == "then" else "above"
            text = narrow[name].format(
                column=self.quoted(column),
                side=self.words["above" if higher else "below"],
                statistic=self.of["statistics"][statistic],
            )
        elif step.name == "where":
            text = narrow["where"].format(condition=self.condition(*step.arguments))
        else:
            first, second = (self.condition(*condition) for condition in step.arguments)
            text = narrow[step.name].format(condition=first, other=second)
        if place == "entries":
            return str(narrow["entries"].format(step=text))
        if place == "first":
            return str(self.words["begin"].format(step=text))
        return str(self.words["those"].format(step=text))

    def condition(self, column: str, test: str, values: Sequence[str]) -> str:
        written = [self.value(value) for value in values]
        return str(
            self.of["tests"][test].format(
                column=self.quoted(column), value=written[0], second=written[-1]
            )
        )

    def suffix(self, main: PlanStep, steps: Sequence[PlanStep], answer: PlainAnswer) -> str:
        """Return the sentence about the form of the answer."""
        suffixes: dict[str, str] = self.of["suffixes"]
        if isinstance(answer, bool):
            return suffixes["yes_no"]
        if isinstance(answer, Amount):
            return "" if answer.exact else suffixes["rounded"].format(decimals=answer.decimals)
        if isinstance(answer, Texts) and main.name in {"labels", "outliers"}:
            if not answer.ordered:
                return suffixes["list"].format(label=self.quoted(self.sheet.label))
            highest = steps[-2].arguments[2]
            order = self.words["order_highest" if highest else "order_lowest"]
            return suffixes["ordered_list"].format(order=order)
        return ""
