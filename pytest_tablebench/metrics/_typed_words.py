"""Words in twelve languages: what they say about the value in a sentence.

They are in `vocabulary.toml`: denials, doubts, bounds, directions, words that say nothing, and the
names of numbers, units and currencies.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, Literal

from pytest_tablebench.metrics._typed_text import CJK, folded, words

_LISTS: dict[str, dict[str, Any]] = tomllib.loads(
    files(__package__).joinpath("vocabulary.toml").read_text(encoding="utf-8")
)
_ANY = SimpleNamespace(
    **{name: text.replace("\n", "|") for name, text in _LISTS["patterns"].items()}
)
"""Alternatives of regular expressions, by name."""


def _phrases(text: str) -> list[str]:
    return [phrase.replace("_", " ") for phrase in text.split()]


def _meanings(table: str) -> dict[str, str]:
    """Return the names in a table by their words."""
    return {phrase: name for name, text in _LISTS[table].items() for phrase in _phrases(text)}


def _numbers(table: str) -> dict[str, int]:
    return {phrase: int(number) for phrase, number in _meanings(table).items()}


UNSURE = re.compile(
    rf"\b(?:{_ANY.unsure})\b|\best\.|可能|也许|不确定|或许|大概|たぶん|おそらく|아마"
)
_NEGATED = re.compile(
    rf"\b(?:{_ANY.negated})\b|n't\b|\bn'(?=\w)"
    r"|[不没無无未非](?!锈钢)|除了|除外|以外|ない|ません|않|아니"
)
_REFUSED = re.compile(_ANY.refused)
OTHERWISE = re.compile(r"\b(?:or|oder|ou|vs|versus|oppure|lub|или|of wel)\b|或|(?<!\d) ?/(?=\s)")
CLAUSE = re.compile(r",? (?:who|which|whose|because|since|der|die|das|weil|qui|car)\b")
"""The start of a clause that explains a name."""
_MULTIPLE = re.compile(rf"\b(?:{_ANY.multiple})\b|[两一二三四]倍|一半")
_SEE = re.compile(r"\b(?:see|cf|siehe|voir|refer to)\b")
_ROWS = re.compile(rf"\s?(?:{_ANY.row_names})(?!\w)")

_ABOUT = re.compile(
    rf"(?:(?:\b(?:{_ANY.about})\b\.?|[~≈∼]|大约|大概|约|大體|約|およそ|약|대략)\s?(?:[^\W\d_]{{1,3}}\s)?)$"
)
_ABOUT_AFTER = re.compile(r"\s?(?:左右|上下|前後|정도|or so\b)")
_BOUND = re.compile(
    rf"(?:(?:\b(?:{_ANY.bounds})\b\.?|[<>≤≥]|超过|不到|至少|至多|多于|少于|高于|低于|最多|最少|将近|接近|近"
    r"|少なくとも|最大|최소|최대)\s?(?:(?:the|le|dem|den|about|a total of)\s)?)$"
)
_BOUND_AFTER = re.compile(
    r"\+(?!\s?\d)|\s?(?:以上|以下|未満|を超|이상|이하|미만|초과|之前|之后|at (?:least|most)\b"
    r"|or (?:more|less|fewer|so|higher|lower)\b|oder mehr\b|ou plus\b|o más\b|o più\b|ou mais\b"
    r"|of meer\b|lub więcej\b|или более\b|and (?:up|over|above)\b)"
)

_DOWN = re.compile(rf"(?<![a-z])(?:{_ANY.down}|{_ANY.less})(?![a-z])")
_UP = re.compile(rf"(?<![a-z])(?:{_ANY.up}|{_ANY.more})(?![a-z])")
_BEFORE_CHANGE = re.compile(
    rf"(?<![a-z])(?:(?P<down>{_ANY.down})|(?P<up>{_ANY.up}))(?![a-z])"
    r"(?:\s(?:by|of|um|von|de|d'|of about|in|di|van|o|на|em|with|rate))*[\s:了]*[-+~$€£¥]?$"
)
"""A change right before a number: `a decrease of 5`."""
_AFTER_CHANGE = re.compile(
    rf"\s?(?:(?P<down>{_ANY.down}|{_ANY.less})|(?P<up>{_ANY.up}|{_ANY.more}))(?![a-z])"
)
_CHANGED = re.compile(rf"\b(?:{_ANY.changed})|变化|变动|差")


_WORDS = {name: _phrases(text) for name, text in _LISTS["words"].items()}
FUNCTION_WORDS = frozenset(_WORDS["function"])
"""Words that add nothing to an answer."""
MEASURE_VERBS = frozenset(_WORDS["measuring"])
"""Verbs and adjectives that link a subject to its number, and claim nothing else."""
COUNTED = frozenset(_WORDS["counted"])
"""Nouns and measure words that say only that something is counted."""
COUNTS = _WORDS["counts"]
ABBREVIATIONS = _WORDS["abbreviations"]
NO_UNITS = frozenset(_WORDS["no_unit"])
FILLERS = frozenset(_WORDS["fillers"])

_SYNONYMS: dict[str, frozenset[int]] = {}
"""The numbers of the groups of a word."""
for _place, _group in enumerate(_LISTS["synonyms"]["groups"].split("\n\n")):
    for _word in _group.split():
        _SYNONYMS[_word] = _SYNONYMS.get(_word, frozenset()) | {_place}

_VERDICTS = {name: _phrases(text) for name, text in _LISTS["verdicts"].items()}
YES, NO = _VERDICTS["yes"], _VERDICTS["no"]
VERDICTS = {
    **dict.fromkeys((*YES, *_VERDICTS["true"]), True),
    **dict.fromkeys((*NO, *_VERDICTS["false"]), False),
}
"""The words of an expected answer of the kind `yes_no`."""
ALL_VERDICTS = {
    **VERDICTS,
    **dict.fromkeys(_VERDICTS["also_true"], True),
    **dict.fromkeys(_VERDICTS["also_false"], False),
}
"""The words of a reply to such a question."""

ADDED_NUMBERS: dict[str, int] = {
    word: size * 10**place
    for lines in _LISTS["added_numbers"].values()
    for place, line in enumerate(lines)
    for size, word in enumerate(line.split())
    if word != "-"
}
"""Russian and Polish numbers below a thousand, whose words are added."""
DENOMINATORS = _numbers("denominators")
ORDINALS = _numbers("ordinals")
NOONS = _numbers("hours")
HALF_DAYS = _meanings("half_days")

CURRENCIES = _meanings("currencies")
"""Currencies by their signs and words; a code, or the name of a family."""
FAMILIES = {name: frozenset(codes.split()) for name, codes in _LISTS["families"].items()}
"""The currencies that a word or sign without a country may mean."""
RATIO_NAMES = _meanings("ratios")
RATIOS = {"%": 100, "‰": 1_000, "bp": 10_000}
"""How many of a unit are a whole."""
UNITS = _meanings("units")
SCALES = _numbers("scales")
CJK_SCALES = _numbers("cjk_scales")
COLUMN_SCALES = _numbers("column_scales")
LETTERS = {"K": 10**3, "k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
MONEY_LETTERS = _numbers("money_letters")
"""Powers of ten behind an amount of money: `£5m`."""

_MARKS = re.compile(r"[.,;:!?，。；：]")


def is_question(sentence: str) -> bool:
    """Return whether a folded sentence is a question."""
    return sentence.rstrip("\"' ").endswith(("?", "？"))


def is_open(sentence: str) -> bool:
    """Return whether a folded sentence is a question, denies, doubts or offers a choice."""
    return is_question(sentence) or any(
        pattern.search(sentence) for pattern in (UNSURE, _NEGATED, OTHERWISE, _SEE, _MULTIPLE)
    )


def denies(text: str) -> bool:
    """Return whether a folded text contains a word that denies or doubts."""
    return _NEGATED.search(text) is not None or UNSURE.search(text) is not None


def counts_rows(after: str, question: Collection[str]) -> bool:
    """Return whether a number counts rows or columns without being asked for them."""
    return _ROWS.match(after) is not None and not any(map(_ROWS.fullmatch, question))


def negates(before: str) -> bool:
    """Return whether the clause before a value denies it: `it is not 12`."""
    return _NEGATED.search(_MARKS.split(before[-25:])[-1]) is not None


def refuses(text: str) -> bool:
    """Return whether a folded text says that it gives no answer."""
    return _REFUSED.search(text) is not None


def without_hedge(before: str) -> str:
    """Return the text before a value without the hedge at its end: `about`."""
    hedge = _ABOUT.search(before[-40:])
    return before if hedge is None else before[: len(before) - len(hedge[0])] + " "


def is_hedged(sentence: str, start: int, end: int) -> bool:
    """Return whether a value is next to words such as `about` and `or so`."""
    before, after = sentence[max(0, start - 40) : start], sentence[end : end + 12]
    return bool(_ABOUT.search(before) or _ABOUT_AFTER.match(after))


def is_bounded(sentence: str, start: int, end: int, *, question: str = "") -> bool:
    """Return whether a value is a bound: `more than 12`, `12 or more`, `nearly 12`.

    A bound that is also in the folded question (`Since when ...`) does not count.
    """
    before, after = sentence[max(0, start - 40) : start], sentence[end : end + 12]
    bound = _BOUND.search(before)
    return bool((bound and bound[0].strip() not in question) or _BOUND_AFTER.match(after))


Direction = Literal[-1, 0, 1]


def direction(before: str, after: str) -> Direction:
    """Return whether the words next to a number say that it is a decrease (-1) or increase (1)."""
    match = _BEFORE_CHANGE.search(before[-60:]) or _AFTER_CHANGE.match(after[:24])
    if match is None:
        return 0
    return -1 if match["down"] else 1


def asks_for_change(text: str) -> bool:
    """Return whether a folded question asks for a change or a difference."""
    return _CHANGED.search(text) is not None


def without_direction(before: str, after: str) -> tuple[str, str]:
    """Return the texts before and after a number without the words of its direction."""
    if match := _BEFORE_CHANGE.search(before):
        return before[: match.start()], after
    if match := _AFTER_CHANGE.match(after):
        return before, after[match.end() :]
    return before, after


def directions(text: str) -> set[Direction]:
    """Return the directions that a folded question or header names."""
    named: set[Direction] = set()
    if _DOWN.search(text):
        named.add(-1)
    if _UP.search(text):
        named.add(1)
    return named


def unexplained(rest: Sequence[str], question: Collection[str]) -> list[str]:
    """Return the words around an answer that neither the question nor grammar explains."""
    question_words = set(question)
    stems = {word[:4] for word in question_words if len(word) >= 4}
    groups = frozenset().union(*(_SYNONYMS.get(word, frozenset()) for word in question_words))
    return [
        word
        for word in rest
        if word not in FUNCTION_WORDS
        and word not in question_words
        and not (len(word) >= 4 and word[:4] in stems)
        and groups.isdisjoint(_SYNONYMS.get(word, ()))
    ]


_LINKS = "is|are|was|were|be|named|called|ist|sind|war|waren|heißt|est|sont|était|es|son|è|é|:|："
_BEFORE_END = re.compile(
    rf"(?:^|\s)(?:{_LINKS})\s*(?:(?:the|a|an|der|die|das|le|la|les|el|il|o)\s|l')?[\"'*«„(]*$"
    r"|[是为:：]\s?[\"'“*]*$"
)
_AFTER_END = re.compile(
    r"[\"'*»)]*(?:$|[.,;!?。，；(（]|\s(?:at|in|with|for|by|on|from|because|since|which|as|according"
    r"|with|mit|für|bei|avec|pour|à)\b|\s[(-])"
)


def links(before: str, after: str) -> bool:
    """Return whether a verb or colon leads to a mention: `the winner is NAME, with ...`."""
    return bool(_BEFORE_END.search(before) and _AFTER_END.match(after))


def is_word(sign: str) -> bool:
    """Return whether a character continues a word, so that a mention next to it is another word."""
    return sign.isalnum() and not re.match(f"[{CJK}]", sign)


def question_words(question: str, names: Sequence[str]) -> list[str]:
    """Return the words of a question and of the names of its columns."""
    return words(folded(" ".join([question, *names])[:4_000]))
