"""Words in twelve languages by which answers are read, from `vocabulary.toml`."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

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
NEGATED = re.compile(
    rf"\b(?:{_ANY.negated})\b|n't\b|\bn'(?=\w)"
    r"|[不没無无未非](?!锈钢)|除了|除外|以外|ない|ません|않|아니"
)
REFUSED = re.compile(_ANY.refused)
OTHERWISE = re.compile(r"\b(?:or|oder|ou|vs|versus|oppure|lub|или|of wel)\b|或|(?<!\d) ?/(?=\s)")
CLAUSE = re.compile(r",? (?:who|which|whose|because|since|der|die|das|weil|qui|car)\b")
"""The start of a clause that explains a name."""
MULTIPLE = re.compile(rf"\b(?:{_ANY.multiple})\b|[两一二三四]倍|一半")
SEE = re.compile(r"\b(?:see|cf|siehe|voir|refer to)\b")
ROWS = re.compile(rf"\s?(?:{_ANY.row_names})(?!\w)")

ABOUT = re.compile(
    rf"(?:(?:\b(?:{_ANY.about})\b\.?|[~≈∼]|大约|大概|约|大體|約|およそ|약|대략)\s?(?:[^\W\d_]{{1,3}}\s)?)$"
)
ABOUT_AFTER = re.compile(r"\s?(?:左右|上下|前後|정도|or so\b)")
BOUND = re.compile(
    rf"(?:(?:\b(?:{_ANY.bounds})\b\.?|[<>≤≥]|超过|不到|至少|至多|多于|少于|高于|低于|最多|最少|将近|接近|近"
    r"|少なくとも|最大|최소|최대)\s?(?:(?:the|le|dem|den|about|a total of)\s)?)$"
)
BOUND_AFTER = re.compile(
    r"\+(?!\s?\d)|\s?(?:以上|以下|未満|を超|이상|이하|미만|초과|之前|之后|at (?:least|most)\b"
    r"|or (?:more|less|fewer|so|higher|lower)\b|oder mehr\b|ou plus\b|o más\b|o più\b|ou mais\b"
    r"|of meer\b|lub więcej\b|или более\b|and (?:up|over|above)\b)"
)

DOWN = re.compile(rf"(?<![a-z])(?:{_ANY.down}|{_ANY.less})(?![a-z])")
UP = re.compile(rf"(?<![a-z])(?:{_ANY.up}|{_ANY.more})(?![a-z])")
BEFORE_CHANGE = re.compile(
    rf"(?<![a-z])(?:(?P<down>{_ANY.down})|(?P<up>{_ANY.up}))(?![a-z])"
    r"(?:\s(?:by|of|um|von|de|d'|of about|in|di|van|o|на|em|with|rate))*[\s:了]*[-+~$€£¥]?$"
)
"""A change right before a number: `a decrease of 5`."""
AFTER_CHANGE = re.compile(
    rf"\s?(?:(?P<down>{_ANY.down}|{_ANY.less})|(?P<up>{_ANY.up}|{_ANY.more}))(?![a-z])"
)
CHANGED = re.compile(rf"\b(?:{_ANY.changed})|变化|变动|差")


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

SYNONYMS: dict[str, frozenset[int]] = {}
"""The numbers of the groups of a word."""
for _place, _group in enumerate(_LISTS["synonyms"]["groups"].split("\n\n")):
    for _word in _group.split():
        SYNONYMS[_word] = SYNONYMS.get(_word, frozenset()) | {_place}

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
