"""Answers as plain words: letters without accents, one dash, one way of writing a date."""

from __future__ import annotations

import re
import unicodedata

from pytest_tablebench.metrics._f1 import words
from pytest_tablebench.metrics._normal import normalized

_MINUS = frozenset("\u2212\u02d7\u2043\u2796")  # minus signs that are no dashes in Unicode
_ESCAPES = {"n": " ", "p": "|", "\\": "\\"}
_ESCAPE = re.compile(r"\\([np\\])")
_QUOTES = str.maketrans(dict.fromkeys("‘’‚‛`´′ʹ‵＇", "'") | dict.fromkeys("“”„‟″ʺ˝‶〝〞＂", '"'))

_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_ONE_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?"
_DAY = rf"{_ONE_DAY}(?: ?- ?{_ONE_DAY})?"
_YEAR = r"[0-9]{4}"
# With more digits before or after it, a text belongs to another number, range or score.
_BEGINS = r"(?<![^\W_])(?<![0-9][-.,:/])"
_ENDS = r"(?![^\W_]|[-.,:/][0-9])"
_DATE = re.compile(
    rf"{_BEGINS}(?:"
    rf"(?P<y1>{_YEAR}|xx(?:xx)?)(?P<s>[-/])(?P<m1>0?[1-9]|1[0-2])(?P=s)(?P<d1>{_ONE_DAY}|xx)"
    rf"|(?P<m2>{_MONTH}) (?P<d2>{_DAY}){_ENDS}(?:,? (?P<y2>{_YEAR}))?"
    rf"|(?P<d3>{_DAY}) (?:of )?(?P<m3>{_MONTH})(?:,? (?P<y3>{_YEAR}))?"
    rf"|(?P<y4>{_YEAR}),? (?P<m4>{_MONTH}) (?P<d4>{_DAY})"
    rf"|(?P<m5>{_MONTH}) (?P<y5>{_YEAR})"
    rf"){_ENDS}"
)


def plain_words(text: str) -> tuple[str, ...]:
    r"""Return an answer's words in the form in which they are compared, in their order.

    Case, accents, the kind of dash, minus sign and quote, the way a date is written, and marks that
    only separate or wrap do not matter. A number becomes its value. The escapes of the dataset's
    tables (`\n`, `\p` and `\\`) are decoded. An answer of nothing but marks stays as it is.
    """
    all_words: list[str] = []
    for piece in _DATE.sub(_date, _folded(text)).split(", "):
        all_words += words(piece.rstrip(" .") or piece)
    return tuple(all_words)


def _folded(text: str) -> str:
    """Fold case and accents as the dataset's evaluator does; every dash becomes a hyphen."""
    text = _ESCAPE.sub(lambda match: _ESCAPES[match[1]], text)
    text = (text.replace("**", "") or text).translate(_QUOTES).replace("''", '"')
    folded = normalized("NFKD", normalized("NFKD", text).casefold())
    letters = "".join(filter(None, map(_letter, folded))) if not folded.isascii() else folded
    # A text of nothing but accents keeps them.
    return re.sub("-{2,}", "-", " ".join((letters.strip() or folded).split()))


def _letter(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Pd" or character in _MINUS:
        return "-"
    # Accents and invisible characters: marks of direction, soft hyphens.
    return "" if category in {"Mn", "Cf"} else character


def dates_as_words(text: str) -> str:
    """Write each date with a day as one word in the same form; the text is in lower case."""

    def word(match: re.Match[str]) -> str:
        has_day = any(match[name] for name in ("d1", "d2", "d3", "d4"))
        date = _date(match).replace(" ", "and").replace("-", "to")
        return f" {date} " if has_day else match[0]

    return _DATE.sub(word, text)


def _date(match: re.Match[str]) -> str:
    """Write a date as `september 23 2001`; parts that it lacks are omitted."""
    groups = {name: text for name, text in match.groupdict(default="").items() if text}
    parts = {name[0]: text for name, text in groups.items()}
    month = parts["m"]
    name = (
        _NAMES[int(month) - 1]
        if month.isdigit()
        else next(name for name in _NAMES if name.startswith(month[:3]))
    )
    days = re.findall("[0-9]+", parts.get("d", ""))
    day = "-".join(number.lstrip("0") for number in days)
    year = parts.get("y", "").strip("x")
    return " ".join(filter(None, (name, day, year)))
