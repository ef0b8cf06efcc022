"""Questions, their answers and plans; numbers in cells, answers and labels of summaries.

A number has an optional currency sign, an optional minus, digits with or without separators between
thousands, a decimal point, and one unit after it: "1,234", "12.5%", "12 km", "$ -3.4 m", "9.50 €",
"96 m³/s". Text, not numbers, are: a plus sign, leading zeros, ordinals ("3rd"), digits of other
scripts, more than 15 digits.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.tables.table import Table

_NUMBER = re.compile(
    r"(?P<before>[$€£¥₹] ?)?"
    r"(?P<sign>-)?"
    r"(?P<whole>0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)"
    r"(?P<fraction>\.[0-9]+)?"
    r"(?P<after> ?(?:[%‰°℃$€£¥₹]|°[CF]|[^\W\d_]{1,10}[²³]?(?:/[^\W\d_]{1,6}[²³]?)?))?"
)
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_QUOTES = "\"'`“”‘’«»„"
_SUMMARY_WORDS = frozenset(
    {"total", "totals", "subtotal", "sum", "mean", "average", "avg", "all", "overall", "combined"}
)
_SUMMARY_SIGNS = ("合计", "总计", "小计", "平均", "均值")


@dataclass(frozen=True)
class ParsedNumber:
    """A cell's value and its written form.

    Arguments:
        value: the number.
        before: the text before sign and digits, with its space.
        after: the text after the digits, with its space.
        decimals: digits after the point; of a float without trailing zeros.
    """

    value: Decimal
    before: str = ""
    after: str = ""
    decimals: int = 0

    @property
    def form(self) -> tuple[str, str]:
        """The parts that are equal in all cells of a numeric column."""
        return self.before, self.after


def is_empty(cell: Any) -> bool:
    """Return whether a cell is None, not-a-number or blank text."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and not cell.strip()


def parse_number(cell: Any) -> ParsedNumber | None:
    """Return the number in a cell; None for any other content, including booleans."""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    match = _NUMBER.fullmatch(str(cell))
    if match is None or (match["after"] or "").strip() in _ORDINALS:
        return None
    whole, fraction = match["whole"].replace(",", ""), (match["fraction"] or ".")[1:]
    if len(whole + fraction) > 15:  # a float has 15 digits
        return None
    value = Decimal(f"{match['sign'] or ''}{whole}.{fraction}")
    return ParsedNumber(
        value,
        match["before"] or "",
        match["after"] or "",
        len(fraction if isinstance(cell, str) else fraction.rstrip("0")),
    )


def answer_text(cell: Any) -> str | None:
    """Return a cell as an answer item, or None if its written form is ambiguous.

    Serializers write booleans, missing values and floats like 12.0 in different ways, and
    replies are read as lists separated by comma and space, without quotes or a full stop.
    """
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    if isinstance(cell, float) and (not math.isfinite(cell) or cell.is_integer()):
        return None
    text = str(cell)
    plain = text == " ".join(text.split()) and all(
        unicodedata.category(letter) not in {"Cc", "Cf", "Cs", "Cn", "Co"} for letter in text
    )
    if not text or not plain or ", " in text or "|" in text:
        return None
    if text[0] in _QUOTES or text[-1] in _QUOTES + ".," or text.casefold().startswith("answer:"):
        return None
    return text


def cell_key(cell: Any) -> tuple[str, ...]:
    """Return a key that is equal for cells with one meaning: value and unit, or folded text."""
    number = parse_number(cell)
    if number is None:
        folded = unicodedata.normalize("NFKC", str(cell)).casefold()
        return ("text", " ".join(folded.split()))
    value = number.value.normalize() + 0
    return ("number", f"{value:f}", number.before.strip(), number.after.strip().casefold())


def is_summary(text: str) -> bool:
    """Return whether a short text labels a sum or mean (spec: treb.md section 6.1).

    Any text is checked, since no rule identifies the column of labels. Rejecting a table needlessly
    costs a few questions; a total counted as an entry makes their answers wrong.
    """
    words = re.findall(r"[^\W\d_]+", text.casefold())
    if any(sign in text for sign in _SUMMARY_SIGNS):
        return True
    return len(words) <= 4 and any(word in _SUMMARY_WORDS for word in words)


def plain_question(text: str) -> str:
    """Return a question in the form for comparisons."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def says(question: str, answer: str) -> bool:
    """Return whether a question contains its answer as whole words."""
    plain = plain_question(answer)
    if len(plain) < 2 or plain not in question:
        return False
    return re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", question) is not None


class RejectedError(TableBenchError):
    """A table, a question or a model's reply is rejected; `reason` is counted, unless empty."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class NothingError(RejectedError):
    """A table has nothing for a kind of questions; further draws would fail too."""


@dataclass(frozen=True)
class PlanStep:
    """One operation with its arguments: texts, numbers, and tuples of them."""

    name: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Texts:
    """An answer of cells or names, as the table writes them."""

    items: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True)
class Amount:
    """A computed number.

    Arguments:
        value: without rounding.
        decimals: of the written answer.
        exact: whether the written answer is the value itself, not a rounded one.
        unit: of the column it comes from.
    """

    value: Fraction | float
    decimals: int = 0
    exact: bool = True
    unit: str = ""


PlainAnswer = Texts | Amount | bool
"""An answer computed from a plan; a bool answers yes or no."""


@dataclass(frozen=True)
class Other:
    """A table that was made from another one, and its name relative to that one."""

    name: str
    table: Table


@dataclass(frozen=True)
class OpenQuestion:
    """A question about one table that has no answer yet.

    Arguments:
        id: its id, unique in the folder; the row's number if the file has none.
        file: the name of its table as the row has it.
        text: the question.
        metric, threshold: the row's values as text, "" for none.
    """

    id: str
    file: str
    text: str
    title: str | None = None
    metric: str = ""
    threshold: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    perturbations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """A question with its answer, as a row of a dataset's questions.

    Arguments:
        id: unique within one table; ASCII.
        question: the text.
        answers: the items of the answer.
        tags: skill, subtask, difficulty, language, recipe.
        perturbations: those that keep the answer correct.
        metric: the kind of answer; "" if its text determines the kind.
        tolerance: of a rounded number. unit: of a number.
        steps: the operations that compute the answer; () if there are none.
        other: the table of the question, if it was made from the given one.
        threshold: the score from which an answer is right; "" for the dataset's.
        aliases: other correct texts, by answer.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    tags: Mapping[str, str]
    perturbations: tuple[str, ...]
    metric: str = ""
    tolerance: str = ""
    unit: str = ""
    steps: tuple[PlanStep, ...] = ()
    other: Other | None = None
    threshold: str = ""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
