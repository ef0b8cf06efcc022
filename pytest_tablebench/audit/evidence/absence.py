"""The gold occurs neither in the table nor in the text, although answers are copied from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from pytest_tablebench.audit.ballots import FEWEST_VOTERS, AuditedExample
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence
from pytest_tablebench.metrics.normal_form import normal_form, number_in, words_of
from pytest_tablebench.metrics.typed_numbers import numbers_in
from pytest_tablebench.models.lexical.rules import cell_number

COPYING = frozenset({"wikitq", "tatqa", "typed_answer", "exact_match", "tablebench", "realhit"})
"""The metrics of datasets whose answers in words are copied from the input."""

_WEIGHT = 1.2
_NUMBER_AGAINST, _NUMBER_FOR = 1.2, -1.0
"""Of a number in the gold that is absent while the voters' is present, and of the reverse."""

_FEWEST_DIGITS = 3
"""Digits from which a number hardly occurs in a table by chance."""

_VERDICT = re.compile(
    r"(yes|no|true|false|entailed|refuted|none|both|neither|more|less|fewer|higher|lower|equal|same"
    r"|above|below|before|after|first|second|last|increas\w*|decreas\w*|positive|negative"
    r"|(no|weak|strong)\b.*|.*\b(trend|impact|correlation))"
)
_MOST_WORDS = 8


def absence(example: AuditedExample, groups: Sequence[AnswerGroup]) -> Iterator[Evidence]:
    """Yield a doubt if a gold in words is absent and another answer is present."""
    if not example.tables or example.metric not in COPYING:
        return
    words = _words(example)
    missing = [text for text in example.gold if _is_copied(text) and not _occurs(text, words)]
    if not missing:
        return
    present = next(
        (
            group.answer
            for group in groups
            if not group.is_gold
            and len(group.voters) >= FEWEST_VOTERS
            and _is_copied(group.answer)
            and _occurs(group.answer, words)
        ),
        None,
    )
    weight = _WEIGHT if present is not None else _WEIGHT / 2
    yield Evidence("absent", f"{missing[0]!r} does not occur in the table", present, weight)


def number_absence(example: AuditedExample, groups: Sequence[AnswerGroup]) -> Iterator[Evidence]:
    """Compare the gold with the most frequent other number: only one of them is in the input."""
    if not example.tables or example.metric not in COPYING:
        return
    gold = number_in(example.gold_text)
    answers = [group for group in groups if not group.is_gold]
    if gold is None or not answers:
        return
    other = max(answers, key=lambda group: (len(group.voters), group.cases))
    number = number_in(other.answer)
    if (
        number is None
        or len(other.voters) < FEWEST_VOTERS
        or not (_is_telling(other.answer) and _is_telling(example.gold_text))
    ):
        return
    present = _numbers(example)
    if number in present and gold not in present:
        text = f"{example.gold_text} does not occur in the table, {other.answer} does"
        yield Evidence("absent", text, other.answer, _NUMBER_AGAINST)
    elif gold in present and number not in present:
        text = f"{example.gold_text} occurs in the table, {other.answer} does not"
        yield Evidence("absent", text, example.gold_text, _NUMBER_FOR)


def _is_telling(text: str) -> bool:
    return sum(sign.isdigit() for sign in text) >= _FEWEST_DIGITS


def _numbers(example: AuditedExample) -> frozenset[Fraction]:
    cells = [cell_number(cell) for table in example.tables for row in table.lines for cell in row]
    texts = "\n".join([example.further_text, example.example.question])
    written = [quantity.value * quantity.scale for *_, quantity in numbers_in(texts)]
    return frozenset([number for number in cells if number is not None] + written)


def _is_copied(text: str) -> bool:
    form = normal_form(text)
    if not form or number_in(text) is not None or any(sign.isdigit() for sign in form):
        return False
    return _VERDICT.fullmatch(form) is None and len(words_of(text)) <= _MOST_WORDS


def _words(example: AuditedExample) -> frozenset[str]:
    texts = [str(cell) for table in example.tables for row in table.lines for cell in row]
    titles = [table.title or "" for table in example.tables]
    texts += [*titles, example.further_text, example.example.question]
    return frozenset(word for text in texts for word in words_of(text))


def _occurs(text: str, words: frozenset[str]) -> bool:
    """Return whether all words of a text occur: a gold may shorten a cell or join several.

    A code of three letters is an occurrence of a name: `ITA` for Italy.
    """
    return all(word in words or word[:3] in words for word in words_of(text))
