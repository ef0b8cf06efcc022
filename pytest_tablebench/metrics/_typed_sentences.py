"""Decides whether sentences give an expected number, date or text, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_tablebench.metrics._typed_digits import with_digits
from pytest_tablebench.metrics._typed_expected import Expected
from pytest_tablebench.metrics._typed_same import RIGHT, Decision, unclear, written, wrong
from pytest_tablebench.metrics._typed_text import CJK, folded, loose_forms, words
from pytest_tablebench.metrics._typed_words import (
    CLAUSE,
    MEASURE_VERBS,
    asks_for_change,
    counts_rows,
    direction,
    directions,
    is_bounded,
    is_hedged,
    is_open,
    is_question,
    is_word,
    links,
    negates,
    question_words,
    without_direction,
    without_hedge,
)
from pytest_tablebench.metrics.typed_dates import moments_in, month_number, read_period
from pytest_tablebench.metrics.typed_numbers import (
    Quantity,
    numbers_in,
    plain_numbers,
    read_quantity,
    without_compounds,
)

_PLACE = re.compile(
    r"\b(?:row|line|column|zeile|spalte|ligne|colonne|fila|riga|linha|rij|wiersz|step|no|nr)s?\.? $"
    r"|第$|#$"
)
"""Words before a number that names a place in the table."""
_HARMLESS = re.compile(
    r"[(（]\s*(?:(?:out )?of|von|sur|de|from|aus) [^()（）]{1,40}[)）]"
    r"|[(（]\s*(?:see |siehe |voir |in )?(?:row|zeile|ligne|table) [^()（）]{1,40}[)）]"
    r"|[(（]\s*[-+]?[\d.,]{1,10}\s?%\s*[)）]|[(（]in [^\d()（）]{1,30}[)）]"
)
"""A note in brackets that adds no other answer: `(out of 40)`, `(30%)`, `(in thousands)`."""
_PER = re.compile(r"\b(?:per|pro|par|por|a|je)\s+\w+(?: of \w+)?|每\S{1,3}")
_LAST_WORD = re.compile(
    r"([^\W\d_]+)(?:\s(?:by|at|to|of|for|auf|um|bei|von|de|à|in|with|mit|d'|en|a|na|about))*"
    r"[\s:*]*[-+$€£¥]?$"
)
_NOTE = re.compile(r"[,;:(（\-]|\s(?:at|with|mit|bei|avec|à|con|com|met|for|[-(])")
_LISTING = re.compile(r"[:(：（]")
"""The start of the counted things behind a number: `two: tea and cocoa`."""
_DAY_AND_MONTH = re.compile(
    r"\b([^\W\d_]{4,12}|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)\.? \d{1,2}(?:st|nd|rd|th)?\b"
    r"(?![.,%]?\d)|\b\d{1,2}(?:st|nd|rd|th|\.)? (?:of |de )?([^\W\d_]{4,12}|jan|feb|mar|apr|jun|jul"
    r"|aug|sep|oct|nov|dec)\b"
)
_OPERATOR = re.compile(
    r"[-+*/×·÷:=≈→]|\b(?:divided by|times|multiplied by|plus|minus|geteilt durch|divisé par)\b"
)
_OPERATION = re.compile(rf"\d.{{0,40}}(?:{_OPERATOR.pattern}).{{0,40}}\d|^\s*[a-z]\s*$")
"""The terms of a sum, or a variable: `6,489 / 267.5`, `x`."""
_YEAR = re.compile(r"(?:19|20)\d\d")


def decide_in_sentences(expected: Expected, parts: Sequence[str]) -> Decision | None:
    """Decide by sentences that name one value; None if they name no value of the answer's kind."""
    if expected.kind == "number":
        return _by_numbers(expected, parts)
    if expected.kind == "date":
        return _by_dates(expected, parts)
    return _by_names(expected, parts)


def _by_numbers(expected: Expected, parts: Sequence[str]) -> Decision | None:
    terms = expected.terms
    amounts = {
        (number.value, number.scale)
        for *_, number in numbers_in(expected.around.folded_question, terms.decimal)
    }
    places = [
        match
        for part in parts
        for match in numbers_of(part, expected)
        if not _PLACE.search(match[1][: match[2]])
    ]
    claims = [
        match for match in places if (match[0].value, match[0].scale) not in amounts
    ] or places
    if not claims:
        return None
    decisions = [_of_claim(expected, *claim) for claim in claims]
    if all(decision.is_right for decision in decisions):
        return RIGHT
    sizes = {number.size for number, *_ in claims}
    if len(sizes) > 1:
        listing = ", ".join(dict.fromkeys(written(number) for number, *_ in claims[:4]))
        return unclear(f"several values: {listing}")
    return next(decision for decision in decisions if not decision.is_right)


def without_terms(text: str) -> str:
    """Return a folded sentence without the terms before its last equals sign; a bound stays."""
    end = max(text.rfind(sign) for sign in "=≈→")
    terms = text[: max(end, 0)]
    if _OPERATION.search(terms) is None or is_open(_OPERATOR.sub(" ", terms)):
        return text
    start = next((index for index, sign in enumerate(terms) if sign.isdigit()), 0)
    bound = terms[:start] if is_bounded(terms, start, start) else ""
    return f"{bound}{text[end + 1 :].removeprefix('>').lstrip()}"


def numbers_of(part: str, expected: Expected) -> list[tuple[Quantity, str, int, int]]:
    """Return the numbers of a sentence, in digits and words, each with its text and place."""
    terms = expected.terms
    if read_period(part) is not None:
        return []
    text = without_terms(without_compounds(folded(part.replace("**", ""))))
    for start, end, _ in moments_in(text, terms.day_first):
        text = text[:start] + " " * (end - start) + text[end:]
    text = _DAY_AND_MONTH.sub(_without_day, text)
    text = re.sub(r"^\d{1,2}[.)] (?=\w)", "", text)
    text = plain_numbers(_HARMLESS.sub(" ", text) if "(" in text or "（" in text else text)
    places = []
    for start, end, number in list(numbers_in(text, terms.decimal)):
        places.append((number, text, start, end))
    blank = text
    for _, _, start, end in places:
        blank = blank[:start] + " " * (end - start) + blank[end:]
    spoken = with_digits(blank) if len(blank) < 600 else blank
    if spoken != blank:
        places += [
            (number, spoken, start, end) for start, end, number in numbers_in(spoken, terms.decimal)
        ]
    # Behind an equals sign is the result.
    last = max((text.rfind(sign) for sign in "=≈"), default=-1)
    if any(match[1] is text and 0 <= match[2] - last <= 3 for match in places if last >= 0):
        places = [match for match in places if match[1] is text and match[2] > last]
    # `five (5)` is one number, and not minus five as well.
    sizes = {number.size for number, *_ in places}
    return [
        match
        for match in places
        if match[0].value >= 0
        or match[1][match[2] - 1 : match[2]] != "("
        or -match[0].size not in sizes
    ]


def _without_day(match: re.Match[str]) -> str:
    return " " * len(match[0]) if month_number(match[1] or match[2]) else match[0]


def _of_claim(expected: Expected, number: Quantity, text: str, start: int, end: int) -> Decision:
    """Decide whether a sentence states that the expected value is this number."""
    before, after = text[:start], text[end:]
    decision = _compared(expected, number, before, text[start:end], after)
    if not decision.is_right:
        return decision
    if is_question(text):
        return unclear("a question instead of an answer")
    if negates(before):
        return wrong("the answer is denied")
    if is_bounded(text, start, end, question=expected.around.folded_question):
        return wrong("a bound")
    if is_open(f"{without_hedge(before)} {after}"):
        return unclear("a denial, a doubt or a choice")
    if counts_rows(after, expected.around.words):
        return unclear("a number of rows or columns")
    extra = _unexplained_around(expected, before, after)
    return unclear(f"words next to the value: {', '.join(extra[:3])[:60]}") if extra else RIGHT


def _compared(expected: Expected, number: Quantity, before: str, text: str, after: str) -> Decision:
    """Compare a number with its text, and with the sign that a word such as `decrease` gives it."""
    change = direction(before, after) if number.value > 0 else 0
    if change:
        around = expected.around
        context = " ".join([around.folded_question, *map(folded, around.names)])
        named = directions(context)
        # Where the question asks for a decrease, an increase is negative.
        sign = -1 if named == {-change} else change
        decision = expected.compare(Quantity(sign * number.value, number.unit, number.scale))
        if (
            decision.is_right
            and not named
            and around.folded_question
            and not asks_for_change(context)
        ):
            return unclear("a change where a value was expected")
        if decision.is_right or change not in named:
            return decision
    decision = expected.compare(number)
    if decision.is_right or read_quantity(text, expected.terms.decimal) != number:
        return decision
    return expected.refusal_of(text)


def _unexplained_around(expected: Expected, before: str, after: str) -> list[str]:
    """Return the words around a number that may make it an answer to another question."""
    if not expected.around.words:
        return []
    hedged, after = without_direction(without_hedge(before), after)
    rest = f"{hedged} {_PER.sub(' ', after)}"
    extra = [
        word
        for word in expected.unexplained(re.sub(r"\d[\d.,]*", " ", rest))
        if word not in MEASURE_VERBS
    ]
    if expected.around.is_count and (listing := _LISTING.search(after)):
        listed_words = expected.all_words & set(words(after[listing.start() :]))
        extra = [word for word in extra if word not in listed_words or word in words(before)]
    if extra and expected.is_in_one_row:
        extra = [word for word in extra if word not in expected.row_words]
    noun = words(after[:40])[:1]
    if noun and extra == noun and expected.around.explains(noun[0]):
        return []
    # One word before the number is its verb: `tea grew by 5`.
    verb = _LAST_WORD.search(hedged.rstrip())
    shares = any(word in expected.around.words for word in words(rest))
    if verb and extra == [verb[1]] and shares:
        return []
    return extra


def _by_dates(expected: Expected, parts: Sequence[str]) -> Decision | None:
    moments = [
        (moment, text, start, end)
        for text in (folded(part.replace("**", "")) for part in parts)
        for start, end, moment in moments_in(text, expected.terms.day_first)
    ]
    if not moments:
        return None
    if len({moment for moment, *_ in moments}) > 1:
        return unclear("several dates")
    for moment, text, start, end in moments:
        if moment is None:
            return unclear("a date with two readings")
        if moment not in expected.moments:
            return wrong(f"read {text[start:end][:40]}, expected {expected.text[:40]}")
        if negates(text[:start]):
            return wrong("the answer is denied")
        if is_bounded(text, start, end, question=expected.around.folded_question):
            return wrong("a bound")
        if is_open(text) or is_hedged(text, start, end):
            return unclear("a denial, a doubt or a choice")
        extra = expected.unexplained(text[:start] + " " + text[end:])
        if extra and expected.around.words:
            return unclear(f"words next to the date: {', '.join(extra[:3])[:60]}")
    return RIGHT


def _by_names(expected: Expected, parts: Sequence[str]) -> Decision | None:
    """Decide whether sentences name this text and no other cell of its column."""
    names = sorted((name for name in expected.spellings if _is_name(name)), key=len, reverse=True)
    decision: Decision | None = None
    for part in parts:
        sentence = folded(part.replace("**", ""))
        if not any(name in sentence for name in names):
            sentence, names = _loosely(expected, sentence, names)
        rest = sentence
        for name in names:
            if name in rest:
                named = _named(expected, sentence, name)
                if named is not None and (decision is None or not decision.is_right):
                    decision = named
                rest = (
                    re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "\x00", rest)
                    if name.isascii()
                    else rest.replace(name, "\x00")
                )
        others = other_cells(expected, rest)
        if others and decision is not None:
            listing = ", ".join([expected.text, *others][:4])
            return unclear(f"several values of the column: {listing[:120]}")
    return decision


def _loosely(expected: Expected, sentence: str, names: list[str]) -> tuple[str, list[str]]:
    """Return a sentence and names without accents, if the sentence then contains a name."""
    for form in loose_forms(sentence):
        present = [name for name in expected.loose if _is_name(name) and name in form]
        if present and all(map(expected.is_form, present)):
            return form, present
    return sentence, names


def other_cells(expected: Expected, text: str) -> list[str]:
    """Return the other cells of the answer's column that a folded text names."""
    question = expected.around.folded_question
    return sorted(
        cell
        for cell in expected.cells - expected.spellings
        if cell in text and cell not in question and mentions(text, cell)
    )


def _named(expected: Expected, sentence: str, name: str) -> Decision | None:
    """Decide whether a sentence states that the answer is this name; None if it is another word."""
    decision: Decision | None = None
    for match in re.finditer(re.escape(name), sentence[:2_000]):
        before, after = sentence[: match.start()], sentence[match.end() :]
        is_part = (is_word(before[-1:]) and is_word(name[0])) or (
            is_word(after[:1]) and is_word(name[-1])
        )
        if is_part or re.match(r"'\w|-\w", after) or before.endswith("-"):
            continue
        if negates(before):
            return wrong("the answer is denied")
        if is_open(sentence.replace(name, " ")):
            return unclear("a denial, a doubt or a choice")
        if is_bounded(sentence, *match.span()) or is_hedged(sentence, *match.span()):
            return unclear("a bound or a doubt")
        extra = _extra_words(expected, before, after)
        if not extra or (not before and CLAUSE.match(after)):
            return RIGHT
        decision = unclear(f"words next to the answer: {', '.join(extra[:3])[:60]}")
    return decision


def _extra_words(expected: Expected, before: str, after: str) -> list[str]:
    """Return the words of a sentence around a name that may make it another statement."""
    if not expected.around.words and links(before, after):
        return []
    # Behind `the winner is NAME` a note may follow.
    note = after if not links(before, after) else ""
    explained = set(expected.row_words)
    if _NOTE.match(after):
        explained |= set(question_words("", expected.terms.names))
    rest = f"{before} {note}"
    for start, end, _ in numbers_in(rest, expected.terms.decimal):
        if not _YEAR.search(rest[start:end]):
            rest = rest[:start] + " " * (end - start) + rest[end:]
    return [
        word
        for word in expected.unexplained(rest)
        if word not in explained and (not word.isdecimal() or _YEAR.fullmatch(word))
        if word not in MEASURE_VERBS
    ]


def _is_name(text: str) -> bool:
    """Return whether a text is distinctive enough to be found inside a sentence."""
    return (
        len(text) > 2
        or any(sign.isdigit() for sign in text)
        or (re.search(f"[{CJK}]", text) is not None)
    )


def mentions(sentence: str, cell: str) -> bool:
    """Return whether a folded sentence contains a cell as words of its own."""
    if len(cell) < 2 and cell.isascii():
        return False
    for match in re.finditer(re.escape(cell), sentence[:2_000]):
        before, after = sentence[: match.start()][-1:], sentence[match.end() :][:1]
        if not ((is_word(before) and is_word(cell[0])) or (is_word(after) and is_word(cell[-1]))):
            return True
    return False
