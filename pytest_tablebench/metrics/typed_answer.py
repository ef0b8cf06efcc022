"""Scores answers by their kind: numbers, dates, texts, lists, yes or no, free text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._base import Processed, Score, may_be_unclear
from pytest_tablebench.metrics._rouge import rouge
from pytest_tablebench.metrics._typed_expected import Expected
from pytest_tablebench.metrics._typed_judge import decide
from pytest_tablebench.metrics._typed_replies import read_reply
from pytest_tablebench.metrics._typed_same import Terms, unclear
from pytest_tablebench.metrics._typed_text import folded
from pytest_tablebench.metrics._typed_units import is_currency, is_known
from pytest_tablebench.metrics._typed_words import COUNTED, VERDICTS
from pytest_tablebench.metrics.typed_dates import read_moment, read_period
from pytest_tablebench.metrics.typed_numbers import Quantity, read_quantity
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import printable, unknown_name

KINDS = ("number", "date", "text", "list", "ordered_list", "yes_no", "free_text")

_LONGEST_WHY = 240
"""Characters of the reason of a verdict."""

_FREE_TEXT = 12
"""An answer with this many words or more is free text."""


def answer_kind(
    answers: Sequence[str], *, decimal: str = ".", day_first: bool | None = None, unit: str = ""
) -> str:
    """Return the kind of an answer by the way it is written.

    A number with a leading zero (`007`) is a text, because it is a name.
    """
    if len(answers) > 1:
        return "list"
    text = answers[0].strip()
    if folded(text) in VERDICTS:
        return "yes_no"
    plain = "free_text" if len(text.split()) >= _FREE_TEXT else "text"
    if not any(sign.isdigit() for sign in folded(text)) or read_period(text) is not None:
        return plain
    quantity = read_quantity(text, decimal)
    is_name = re.match(r"\W*0\d", text) is not None
    if quantity is not None and not is_name and (unit or _is_measured(quantity, text)):
        return "number"
    if read_moment(text, day_first) is not None and not re.fullmatch(r"\d+\.\d+\.\d{2}", text):
        return "date"
    return plain


def _is_measured(quantity: Quantity, text: str) -> bool:
    """Return whether a number has no unit, or a known one."""
    unit = quantity.unit
    if "/" in text and not re.search(r"[^\W\d]", unit):
        # `3/4` is a share; `6/4` may be a score or a day.
        return abs(quantity.value) < 1 or " " in text.strip()
    if not unit:
        # `5M` may be a name; `5 million` and `5.2M` are numbers.
        return quantity.scale == 1 or not re.fullmatch(r"\d+\s?[A-Z]", text)
    head, _, formula = unit.partition(" ")
    if re.search(r"[a-z]\d", formula):  # `t CO2`
        return is_known(head)
    if is_currency(unit) or unit in {"%", "‰", "bp"}:
        return True
    is_counted = re.fullmatch(r"[^\W\d]+", unit) is not None and unit in COUNTED
    return is_counted or (is_known(unit) and not formula)


@may_be_unclear
def typed_answer(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    kind: str | None = None,
    tolerance: str = "",
    unit: str = "",
    decimal: str = ".",
    day_first: bool | None = None,
    percent: str = "",
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    question: str = "",
    **context: Any,
) -> Score:
    """Return 1 if a reply gives the expected answer, 0 otherwise; for free text ROUGE-L.

    docs/answer-kinds.md defines for each kind which replies are right, with examples. The part with
    the score is named after the kind. Lists also have `partial`, F1 over both lists.

    Arguments:
        prediction: the reply.
        references: the expected answer, or a list's items.
        kind: one of `KINDS`; None to infer it from the expected answer.
        tolerance: of numbers: `0.5`, or `2%` of the expected number.
        unit: of the expected number, if its text has none.
        decimal: the column's decimal sign, "." or ",".
        day_first: whether `5/3/2024` is in March; None if the column does not show it.
        percent: "points" or "share" if the column is in percent and the answer has no sign.
        aliases: for an expected text, other texts that are equally right.
        question: the question; a reply in a sentence may repeat its words and numbers.
        context: contains the question's tables; a reply that names two cells has two answers.

    Raises `SettingsError` for an unknown kind.
    """
    expected = [str(reference) for reference in references]
    tables = tuple(value for value in context.values() if isinstance(value, Table))
    terms = Terms(tolerance, unit, decimal, day_first, percent, aliases, question, tables)
    chosen = kind or answer_kind(expected, decimal=decimal, day_first=day_first, unit=unit)
    if chosen not in KINDS:
        raise SettingsError(unknown_name("kind of answer", chosen, KINDS))
    text = str(prediction).strip()
    if chosen == "free_text":
        value = rouge(text, expected, variants=["rougeL"]).value
        return Score(value, {chosen: value}, chosen)
    reply, is_list = read_reply(text), chosen in {"list", "ordered_list"}
    parts = {"partial": 0.0} if is_list else {}
    if reply.is_cut:
        decision = unclear("the reply ends inside a box")
    elif is_list:
        from pytest_tablebench.metrics._typed_lists import Items

        items = [Expected(item, _kind_of_item(item, terms), terms) for item in expected]
        expected_list = Items(items, ordered=chosen == "ordered_list")
        decision, parts["partial"] = expected_list.decide(reply)
    else:
        decision = decide(Expected(expected[0], chosen, terms), reply)
    value = float(decision.is_right)
    is_unclear = decision.state == "unclear"
    why = "" if decision.is_right else f"{decision.why}{_stated(terms, expected)}"
    why = printable(why, _LONGEST_WHY)
    flags = ("truncated",) if reply.is_cut else ()
    return Score(value, {chosen: value, **parts}, chosen, flags, unclear=is_unclear, why=why)


def _stated(terms: Terms, expected: Sequence[str]) -> str:
    """Return the aliases and settings that applied, to be shown after a reason; "" without any."""
    aliases = [alias for text in expected for alias in terms.aliases.get(text, ())]
    settings = {
        "also right: ": f"{', '.join(aliases[:3])}{', ...' if len(aliases) > 3 else ''}",
        "tolerance ": terms.tolerance,
        "unit ": terms.unit,
        "decimal ": "comma" if terms.decimal == "," else "",
        "percent: ": terms.percent,
    }
    listing = "; ".join(f"{name}{value}" for name, value in settings.items() if value)
    return f" ({listing})" if listing else ""


def _kind_of_item(text: str, terms: Terms) -> str:
    return answer_kind([text], decimal=terms.decimal, day_first=terms.day_first, unit=terms.unit)
