"""Quarters, halves of years and seasons, and names of months and weekdays."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from pytest_tablebench.metrics._typed_text import folded
from pytest_tablebench.metrics._typed_units import locales

Period = tuple[str, int, int]
"""The kind (quarter, half, season, month, weekday, day), the year or 0, and the number.

Of a day without a year the second is the month.
"""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ORDINALS = {
    **dict.fromkeys(("1", "first", "one", "erstes", "erste", "premier", "primer", "i", "一"), 1),
    **dict.fromkeys(("2", "second", "two", "zweites", "zweite", "deuxième", "segundo", "ii"), 2),
    **dict.fromkeys(("3", "third", "three", "drittes", "troisième", "tercer", "iii", "三"), 3),
    **dict.fromkeys(("4", "fourth", "four", "viertes", "quatrième", "cuarto", "iv", "四"), 4),
    **dict.fromkeys(("二", "两", "secondo", "terceiro", "дві"), 2),
    **dict.fromkeys(("上", "primo", "primeiro", "первый"), 1),
    **dict.fromkeys(("下", "второй"), 2),
} | {"terceiro": 3, "третий": 3, "четвертый": 4, "четвёртый": 4, "quarto": 4, "terzo": 3}
_YEAR = r"(?:fy ?|fiscal (?:year )?|year |')?(?P<year>\d{4}|\d{2})年?"
_QUARTER = r"(?:quarter|quartal|trimestre|trim|qtr|kwartał|kwartaal|квартал|季度|四半期|분기)\.?"
_HALF = r"(?:half(?:[- ]year)?|halbjahr|semestre|semester|półrocze|полугодие|半年|半期|반기)"
_NUMBER = r"(?P<number>[1-4](?=\D)|[^\W\d_]+?)(?:(?<=\d)(?:st|nd|rd|th|\.|er|e|º|-?й))?"
_OF = r"(?:,? ?(?:of |von |de |du |del |des |di |van |in )?(?:the )?)"
_SHAPES = tuple(
    (kind, re.compile(shape))
    for kind, letters, word in (
        ("quarter", "[qtk]", _QUARTER),
        ("half", "[hs]", _HALF),
    )
    for shape in (
        rf"(?:the |le |das |el |il )?{letters}(?P<number>[1-4]){_OF}[-/ ]?{_YEAR}",
        rf"{_YEAR},?[-/ ]?{letters}(?P<number>[1-4])",
        rf"(?P<number>[1-4]){letters}[-/ ]?{_YEAR}",
        rf"(?:in )?(?:the |le |das |im |el |il |第)?{_NUMBER} ?{word}{_OF}{_YEAR}",
        rf"{_YEAR},? ?(?:第)?{_NUMBER} ?{word}",
        rf"{word} {_NUMBER}{_OF}{_YEAR}",
    )
)
_SEASON = re.compile(
    r"(?:the |in |season |saison |die )*(?P<year>\d{4}) ?[-/] ?(?P<end>\d{4}|\d{2})"
    r"(?: season| saison)?"
)
_DAY = re.compile(
    r"(?:the |le |am |el |il )?(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|\.)? (?:of |de |di )?"
    r"(?P<name>[^\W\d_]{3,12})|(?P<name2>[^\W\d_]{3,12})\.? (?P<day2>\d{1,2})(?:st|nd|rd|th)?"
)


@lru_cache(maxsize=4096)
def read_period(text: str) -> Period | None:
    """Return the quarter, half, season, month or weekday that a whole text is; else None.

    `Q3 2024`, `third quarter of 2024`, `1H23`, `2019/20`; without a year `March` and `Mon`.
    """
    plain = folded(text[:60]).strip(" .")
    if plain in _month_and_day_names():
        kind, number = _month_and_day_names()[plain]
        return kind, 0, number
    if not any(sign.isdigit() for sign in plain):
        return None
    if (day := _DAY.fullmatch(plain)) and (month := month_number(day["name"] or day["name2"])):
        date = int(day["day"] or day["day2"])
        return ("day", month, date) if 1 <= date <= 31 else None
    season = _SEASON.fullmatch(plain)
    if season is not None:
        year = _year(season["year"])
        is_next = int(season["end"]) in {year + 1, (year + 1) % 100}
        return ("season", year, year + 1) if is_next else None
    for kind, shape in _SHAPES:
        match = shape.fullmatch(plain)
        ordinal = _ORDINALS.get(match["number"]) if match else None
        if match and ordinal and (kind == "quarter" or ordinal <= 2):
            return kind, _year(match["year"]), ordinal
    return None


def _year(text: str) -> int:
    return int(text) + (0 if len(text) == 4 else 1900 if int(text) > 68 else 2000)


def two_digit_year(text: str) -> int:
    """Return a year of four digits or two: `24` is 2024, `98` is 1998."""
    return _year(text)


@cache
def month_names() -> dict[str, int]:
    """Return months by their folded names in all languages, without ambiguous names."""
    months: dict[str, int] = {}
    for locale in locales():
        for form in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in locale.months[form][width].items():
                    word = folded(name).strip(".")
                    if months.setdefault(word, number) != number:
                        months[word] = 0
    return {name: number for name, number in months.items() if number and not name.isdigit()}


def month_number(name: str) -> int | None:
    """Return a month by its name or its English abbreviation (`sept`)."""
    if name[:3] in _MONTHS and re.fullmatch(
        "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?"
        "|oct(ober)?|nov(ember)?|dec(ember)?",
        name,
    ):
        return _MONTHS.index(name[:3]) + 1
    return month_names().get(name)


@cache
def weekday_names() -> dict[str, int]:
    """Return weekdays by their folded names in all languages, 0 for a name of several days."""
    days: dict[str, int] = {}
    extra = {"tues": 2, "thur": 4, "thurs": 4, "weds": 3}
    for locale in locales():
        for form in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in locale.days[form][width].items():
                    word = folded(name).strip(".")
                    if days.setdefault(word, number + 1) != number + 1:
                        days[word] = 0
    return days | extra


@cache
def _month_and_day_names() -> dict[str, tuple[str, int]]:
    english = {name: month_number(name) for name in (*_MONTHS, "sept")}
    months = month_names() | {name: number for name, number in english.items() if number}
    days = {name: number for name, number in weekday_names().items() if number and len(name) > 1}
    named = {name: ("weekday", number) for name, number in days.items()}
    # A word for a month and a weekday (`mar.` is Tuesday in French) is a month.
    return named | {name: ("month", number) for name, number in months.items()}
