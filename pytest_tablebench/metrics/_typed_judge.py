"""Decides whether a reply gives the expected answer: a number, a date, a yes or no, or a text."""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_tablebench.metrics._typed_digits import with_digits
from pytest_tablebench.metrics._typed_expected import Expected
from pytest_tablebench.metrics._typed_replies import (
    AnswerText,
    before_note,
    before_reason,
    bold_texts,
    sentences,
)
from pytest_tablebench.metrics._typed_same import RIGHT, Decision, sizes_in, unclear, wrong
from pytest_tablebench.metrics._typed_sentences import (
    decide_in_sentences,
    mentions,
    other_cells,
    without_terms,
)
from pytest_tablebench.metrics._typed_text import folded, loose_forms, spellings, unwrapped
from pytest_tablebench.metrics._typed_units import is_known
from pytest_tablebench.metrics._typed_words import (
    directions,
    is_bounded,
    is_hedged,
    is_open,
    refuses,
)
from pytest_tablebench.metrics.typed_dates import moments_in, read_moment, read_period
from pytest_tablebench.metrics.typed_numbers import numbers_in, read_quantity
from pytest_tablebench.metrics.unclear import decide_verdict

_SUM = re.compile(r"\(?[\d\s.,$€£%]+(?:[-+*/×÷][\d\s.,$€£%]+)+\)?")
_ROW = re.compile(r"\b(?:row|line|column|zeile|spalte|ligne|colonne)s? $|第$")
_OUT_OF = re.compile(
    r"\(?(?:(?:out )?of|von|sur|de|aus|(?:see |siehe |voir )?(?:row|zeile|ligne)) [^()]{1,40}\)?"
    r"|\(?in [^\d()]{1,30}\)?"
)
_CONCLUSION = re.compile(
    r"(?:=|(?:so|therefore|thus|hence|in total|total|sum|altogether|overall|in conclusion"
    r"|conclusion|result|also|somit|daher|insgesamt|summe|gesamt|ergebnis|fazit|donc|au total"
    r"|résultat|por lo tanto|en total|totale|quindi|portanto|dus|totaal|więc|razem|итого|因此|所以"
    r"|总计|合计|共)(?!\w))"
)
_LONGEST_VALUE = 200
_LONGEST_SENTENCE = 1_000
_LONGEST_REPLY = 4_000
"""Characters of the longest reply that is searched for an answer without a mark."""


def decide(expected: Expected, reply: AnswerText) -> Decision:
    """Decide whether a reply gives an answer and no other."""
    decision = _decide(expected, reply)
    if expected.kind != "text" or decision.is_right or not expected.around.is_count:
        return decision
    # `12 crates` answers how many there are, and so does `12`.
    number = _decide(replace(expected, kind="number"), reply) if expected.quantities else decision
    return number if number.is_right else decision


def _decide(expected: Expected, reply: AnswerText) -> Decision:
    if expected.kind == "yes_no":
        return decide_verdict(expected.verdict, reply, expected.around.words)
    is_short = len(reply.text) <= 2 * len(expected.text) + 400
    if is_short and (expected.equals_text(reply.text) or expected.equals_text(reply.answer)):
        return RIGHT
    if reply.is_taken_back:
        return _doubted(expected, reply, "an answer that is taken back")
    if refuses(folded(reply.answer[:_LONGEST_REPLY])):
        return _doubted(expected, reply, "a refusal")
    if expected.equals_text(reply.line) or _is_before_note(expected, reply):
        return _doubted(expected, reply, "several values") if _has_rival(expected, reply) else RIGHT
    whole = _whole(expected, reply)
    if whole is not None:
        return whole
    marked = [text for text in bold_texts(reply.answer) if _may_be_answer(expected, text)]
    parts = sentences(reply.answer)
    if len(set(map(folded, marked))) == 1:
        return _marked(expected, reply, marked[0], parts)
    if len(reply.answer) > _LONGEST_REPLY or any(len(t) > _LONGEST_SENTENCE for t in parts):
        return _doubted(expected, reply, "a long reply without a mark")
    if len(parts) > 1 and (conclusion := _conclusion(expected, reply, parts)) is not None:
        return conclusion
    decision = decide_in_sentences(expected, parts)
    if decision is None or (decision.state == "unclear" and not contains(expected, reply.answer)):
        return _doubted(expected, reply, decision.why if decision else "words that no rule reads")
    return decision


def _whole(expected: Expected, reply: AnswerText) -> Decision | None:
    """Decide about a reply that is nothing but another value; None for any other reply."""
    text = reply.answer if "\n" in reply.answer else reply.line
    if len(text) > _LONGEST_VALUE:
        return None
    if expected.kind == "number":
        for form in unwrapped(text):
            number = read_quantity(form, expected.terms.decimal)
            # More words are no unit, but a sentence: `12 is the number of rows`.
            if number is None or directions(number.unit):
                continue
            if is_known(number.unit) or len(number.unit.split()) < 3:
                return expected.refusal_of(form)
    elif expected.kind == "date":
        for form in unwrapped(text):
            if read_moment(form, expected.terms.day_first) is not None:
                return wrong(f"read {form[:60]}, expected {expected.text[:60]}")
    elif expected.periods and any(map(read_period, unwrapped(text))):
        return wrong(f"read {text[:60]}, expected {expected.text[:60]}")
    elif not spellings(text).isdisjoint(expected.cells):
        return wrong(f"another value of the column: {text[:60]}")
    return None


def _marked(expected: Expected, reply: AnswerText, text: str, parts: list[str]) -> Decision:
    """Decide about the only value in bold."""
    if not expected.equals_text(text):
        return _doubted(expected, reply, f"another value in bold: {text[:60]}")
    for part in parts:
        sentence, mention = without_terms(folded(part)), folded(text)
        position = sentence.find(mention)
        if text not in part or position < 0:
            continue
        plain = sentence.replace("*", " ")
        end = position + len(mention)
        if is_open(sentence) or is_bounded(plain, position, end):
            return unclear("a bound, a denial, a doubt or a choice")
        if expected.kind != "number" and is_hedged(plain, position, end):
            return unclear("a doubt")
    return RIGHT


def _conclusion(expected: Expected, reply: AnswerText, parts: list[str]) -> Decision | None:
    """Decide by the last sentence; None if it is no conclusion."""
    last = parts[-1]
    _, colon, value = last.rpartition(":")
    plain = folded(last)
    is_conclusion = _CONCLUSION.match(plain) is not None
    if plain.startswith("="):
        last = last.lstrip("= ")
    if colon and is_conclusion and expected.equals_text(value):
        return RIGHT
    decision = RIGHT if expected.equals_text(last) else decide_in_sentences(expected, [last])
    if decision is None or decision.state == "unclear":
        return None
    if not decision.is_right:
        return decision if is_conclusion else None
    is_rival = _may_be_answer(expected, reply.line) and expected.kind != "text"
    if not is_conclusion and is_rival and not expected.equals_text(reply.line):
        return None
    return RIGHT


def _is_before_note(expected: Expected, reply: AnswerText) -> bool:
    """Return whether the first line is the answer and then a reason or a harmless note."""
    if len(reply.line) > _LONGEST_SENTENCE:
        return False
    if reply.is_marked and expected.equals_text(before_reason(reply.line)):
        return True
    value, note = before_note(reply.line)
    note = folded(note)
    if not note or not expected.equals_text(value):
        return False
    if _OUT_OF.fullmatch(note) and not note.startswith(("(in", "in")):
        return True
    if _OUT_OF.fullmatch(note):
        return all(word in expected.around.words for word in note.strip("()").split()[1:])
    if _SUM.fullmatch(note[:_LONGEST_VALUE]):
        return True
    if is_open(note):
        return False
    if expected.kind == "text":
        return not any(mentions(note, cell) for cell in expected.cells if cell in note)
    numbers = list(numbers_in(note, expected.terms.decimal))
    is_share = all(number.unit == "%" for *_, number in numbers)
    if numbers and is_share and not any(number.unit == "%" for number in expected.quantities):
        return True
    return all(
        _ROW.search(note[:start]) or expected.compare(number).is_right
        for start, _, number in numbers
    )


def _may_be_answer(expected: Expected, text: str) -> bool:
    """Return whether a bold text or a line may be an answer of the expected kind."""
    if len(text) > _LONGEST_VALUE:
        return False
    terms = expected.terms
    if expected.kind == "number":
        return any(read_quantity(form, terms.decimal) for form in unwrapped(text))
    if expected.kind == "date":
        return any(read_moment(form, terms.day_first) for form in unwrapped(text))
    return not text.endswith(":")


def _has_rival(expected: Expected, reply: AnswerText) -> bool:
    """Return whether a later line of a reply is another answer of the same kind."""
    rest = [line.strip() for line in reply.answer.split("\n")[1:] if line.strip()]
    if expected.kind in {"number", "date"}:
        return any(
            _may_be_answer(expected, line) and not expected.equals_text(line) for line in rest
        )
    return any(
        not spellings(line).isdisjoint(expected.cells) and not expected.equals_text(line)
        for line in rest
        if len(line) <= _LONGEST_VALUE
    )


def _doubted(expected: Expected, reply: AnswerText, why: str) -> Decision:
    """Return that a reply is unclear if it contains the answer in some form, or else wrong."""
    if contains(expected, reply.answer):
        return unclear(why)
    if expected.kind == "text" and (others := other_cells(expected, folded(reply.answer[:400]))):
        return wrong(f"another value of the column: {', '.join(others[:3])[:120]}")
    return wrong(f"{expected.text[:60]} is not in the reply")


def contains(expected: Expected, text: str) -> bool:
    """Return whether a text contains the expected answer in any form that is read."""
    plain = folded(text[:_LONGEST_REPLY])
    if expected.kind == "number":
        sizes = sizes_in(plain, expected.terms.decimal)
        if len(plain) < _LONGEST_SENTENCE:
            sizes |= sizes_in(with_digits(plain), expected.terms.decimal)
        return any(
            size in sizes or abs(number.value) in sizes
            for number in expected.quantities
            for size in (abs(number.size),)
        )
    if expected.kind == "date":
        readings = (None, True, False)
        moments = {moment for first in readings for *_, moment in moments_in(plain, first)}
        return not expected.moments.isdisjoint(moments - {None})
    forms = loose_forms(plain)
    return any(
        mentions(form, name) for name in expected.loose if name for form in forms if name in form
    ) or any(form in expected.loose for form in forms)
