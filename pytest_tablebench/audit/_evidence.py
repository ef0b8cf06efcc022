"""Reasons to doubt a gold answer besides the agreement of voters.

Each reason is one function, which yields `Evidence` about an example. A new reason is one more
function in `REASONS`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from pytest_tablebench.audit._ballots import FEWEST_VOTERS, AuditedExample
from pytest_tablebench.audit._table_faults import broken_tables, totals
from pytest_tablebench.audit.suspects import Evidence
from pytest_tablebench.metrics.normal_form import decimals_of, normal_form, number_in, words_of
from pytest_tablebench.metrics.typed_numbers import numbers_in
from pytest_tablebench.models.lexical.rules import Derived, cell_number, derive
from pytest_tablebench.util.names import counted

_PROGRAM_AGAINST = 1.0
"""The answers are votes already. This is for the computation, which an error in reading cannot
explain."""

_PROGRAM_FOR = -1.0


def programs(example: AuditedExample) -> Iterator[Evidence]:
    """Yield the output that most voters' programs print, if another voter answers the same."""
    printed = defaultdict[str, list[str]](list)
    for voter, counts in sorted(example.programs.items()):
        printed[max(sorted(counts), key=lambda form: counts[form])].append(voter)
    if not printed:
        return
    form = max(sorted(printed), key=lambda form: len(printed[form]))
    voters = printed[form]
    if form == example.gold_form:
        text = f"a program of {' and of '.join(voters[:3])} prints the gold"
        yield Evidence("program", text, example.gold_text, _PROGRAM_FOR)
        return
    answer = example.texts.get(form, form.removeprefix("#"))
    others = {
        voter for group in example.groups if group.answer == answer for voter in group.voters
    }.difference(voters)
    if len(voters) + len(others) < 2:
        return
    text = f"a program of {' and of '.join(voters[:3])} prints {answer}"
    if others:
        text += f", and {counted(len(others), 'other voter')} " + (
            "answers" if len(others) == 1 else "answer"
        )
        text += " the same"
    yield Evidence("program", text, answer, _PROGRAM_AGAINST)


_DERIVED_AGAINST = {"sum": 1.8, "mean": 1.8, "count": 1.5, "extreme": 1.8, "look-up": 1.2}
"""Weights of a difference: the logarithm of 1 / (share of right golds that the rule misses)."""

_DERIVED_FOR = -1.5
"""The weight if the gold is the derived answer: a wrong gold rarely is."""


def derivation(example: AuditedExample) -> Iterator[Evidence]:
    """Yield the derived answer: against a gold that differs, for a gold that is equal."""
    derived = derived_answer(example)
    if derived is None:
        return
    if _is_gold(derived, example):
        yield Evidence(
            "derivation", f"{derived.text}, as the gold", example.gold_text, _DERIVED_FOR
        )
        return
    if (number_in(example.gold_text) is None) != (derived.number is None):
        return  # the gold is of another kind, so the rule has misread the question
    text = f"{derived.text}, the gold is {example.gold_text}"
    yield Evidence("derivation", text, derived.answer, _DERIVED_AGAINST[derived.rule])


def derived_answer(example: AuditedExample) -> Derived | None:
    """Return the answer of the only rule that speaks; None without any."""
    if len(example.tables) != 1 or len(example.gold) != 1 or example.further_text.count(" ") > 60:
        return None
    [table] = example.tables
    return None if table.is_structured else derive(example.example.question, table)


def _is_gold(derived: Derived, example: AuditedExample) -> bool:
    gold = number_in(example.gold_text)
    if gold is None or derived.number is None:
        return normal_form(derived.answer) == example.gold_form
    room = Fraction(1, 2 * 10 ** decimals_of(example.gold_text)) if derived.rule == "mean" else 0
    return abs(gold - derived.number) <= room


COPYING = frozenset({"wikitq", "tatqa", "typed_answer", "exact_match", "tablebench", "realhit"})
"""The metrics of datasets whose answers in words are copied from the input."""

_ABSENT_AGAINST = 1.2
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


def absence(example: AuditedExample) -> Iterator[Evidence]:
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
            for group in example.groups
            if not group.is_gold
            and len(group.voters) >= FEWEST_VOTERS
            and _is_copied(group.answer)
            and _occurs(group.answer, words)
        ),
        None,
    )
    weight = _ABSENT_AGAINST if present is not None else _ABSENT_AGAINST / 2
    yield Evidence("absent", f"{missing[0]!r} does not occur in the table", present, weight)


def number_absence(example: AuditedExample) -> Iterator[Evidence]:
    """Compare the gold with the most frequent other number: only one of them is in the input."""
    if not example.tables or example.metric not in COPYING:
        return
    gold = number_in(example.gold_text)
    answers = [group for group in example.groups if not group.is_gold]
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


_OTHER_GOLD = 2.5
"""Of two contradicting golds at least one is wrong, so each is wrong with about one half."""


def other_golds(example: AuditedExample) -> Iterator[Evidence]:
    """Yield each other gold, with its place."""
    for other in example.others:
        text = f"the gold of the same question in {other.place} is {other.answer}"
        yield Evidence("other_gold", text, other.answer, _OTHER_GOLD)


_UNIT_WEIGHTS = {"scale": 1.0, "sign": 1.0, "percent": 0.7, "rounding": 0.7}
"""Models make these errors too, so each is worth little without the agreement of voters."""

_CLOSE = Fraction(1, 200)
"""Largest relative difference that counts as rounding."""

_POWERS = range(1, 10)


def units(example: AuditedExample) -> Iterator[Evidence]:
    """Yield the explanation of the most frequent other answer that has one."""
    gold = number_in(example.gold_text)
    if gold is None:
        return
    answers = [group for group in example.groups if not group.is_gold]
    most = max((len(group.voters) for group in answers), default=0)
    texts = [other.answer for other in example.others]
    texts += [group.answer for group in answers if len(group.voters) == most >= FEWEST_VOTERS]
    for text in texts:
        number = number_in(text)
        if number is None or number == gold:
            continue
        kind, words = explained(gold, number, example.gold_text, text)
        if kind:
            label = f"the gold and {text} differ {words}"
            yield Evidence("unit", label, text, _UNIT_WEIGHTS[kind])
            return


def explained(gold: Fraction, number: Fraction, gold_text: str, text: str) -> tuple[str, str]:
    """Return the kind of a difference and its words; empty texts without an explanation."""
    if number == -gold:
        return "sign", "only in their sign"
    if not gold or not number:
        return "", ""
    ratio = abs(number / gold)
    for power in _POWERS:
        factor = Fraction(10) ** power
        if ratio in (factor, 1 / factor):
            is_percent = power == 2 and ("%" in gold_text) != ("%" in text)
            name = "percent" if is_percent else "scale"
            words = f"by a factor of {factor.numerator:,}"
            return name, f"{words}, as a percentage and a share do" if is_percent else words
    decimals = decimals_of(gold_text), decimals_of(text)
    step = Fraction(1, 10 ** min(decimals))
    if not any(decimals):
        return "", ""  # two whole numbers, such as years, are not rounded
    is_near = abs(number - gold) <= step and abs(number - gold) <= _CLOSE * abs(gold)
    return ("rounding", "only by rounding") if is_near else ("", "")


Reason = Callable[[AuditedExample], Iterable[Evidence]]

REASONS: tuple[Reason, ...] = (
    programs,
    derivation,
    absence,
    number_absence,
    other_golds,
    units,
    totals,
    broken_tables,
)
"""All reasons, in the order of `EvidenceKind`."""
