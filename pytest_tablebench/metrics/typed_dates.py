"""Dates, times of day, quarters, seasons and months, as tables and models write them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from pytest_tablebench.metrics._typed_text import folded
from pytest_tablebench.metrics._typed_units import locales
from pytest_tablebench.metrics._typed_words import HALF_DAYS, NOONS, ORDINALS

Moment = tuple[int, int, int, int, int, float]
"""Year, month, day, hour, minute, second; 0 for a part that is not given."""

_NAME = r"(?P<name>[^\W\d_]{3,12}|\d{1,2}月)\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|\.)?"
_OF = r"(?:of |de |d'|del |do )?"
_END = r"(?: ?(?:г|r|года|roku)\.?)?"
_YEAR = rf"(?:{_OF})(?P<year>\d{{4}}){_END}"
_SHORT_YEAR = r"(?P<year>\d{4}|'?\d{2})"
_DATES = (
    r"(?P<year>\d{4})(?P<s>[-/.])(?P<month>\d{1,2})(?P=s)(?P<day>\d{1,2})",
    r"(?P<year>\d{4}) ?[年년] ?(?P<month>\d{1,2}) ?[月월](?: ?(?P<day>\d{1,2}) ?[日号일])?",
    r"(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\. ?(?P<year>\d{4}|\d{2})",
    r"(?P<one>\d{1,2})(?P<s>[-/])(?P<two>\d{1,2})(?P=s)(?P<year>\d{4})",
    rf"{_DAY} ?{_OF}{_NAME},? {_YEAR}",
    rf"(?P<day>\d{{1,2}})[- ](?P<name>[^\W\d_]{{3,12}})\.?[- ]{_SHORT_YEAR}",
    rf"{_NAME} {_DAY},? {_YEAR}",
    rf"{_NAME},? {_YEAR}",
    rf"(?P<year>\d{{4}}),?[- ]{_NAME}(?:[- ]{_DAY})?",
    r"(?P<name>[^\W\d_]{3,12})\.?(?:-'?| ')(?P<year>\d{4}|\d{2})",
    r"(?P<year>(?:19|20)\d{2})[-/](?P<month>0[1-9]|1[0-2])",
    r"(?P<month>0?[1-9]|1[0-2])[-/](?P<year>(?:19|20)\d{2})",
    r"(?P<year>\d{4})\. ?(?P<month>\d{1,2})\. ?(?P<day>\d{1,2})\.?",
)
_WHOLE = (
    *map(re.compile, _DATES),
    re.compile(r"(?P<year>(?:19|20)\d{2})(?P<month>0[1-9]|1[0-2])(?P<day>[0-3]\d)"),
)
_CLOCK = (
    r"(?:(?P<first>오전|오후|上午|下午|午前|午後) ?)?"
    r"(?P<h>\d{1,2}) ?(?::|h|uhr|时|点|時|點|시) ?(?P<m>\d{2}) ?(?:分|분)?"
    r"(?::(?P<s>\d{2}(?:\.\d{1,6})?))?(?: ?(?P<half>[ap])\.?m\b\.?)?(?:z|\+00:00)?(?: uhr| h\b)?"
    r"|(?P<h2>\d{1,2})\.(?P<m2>\d{2})(?: uhr| ?(?P<half2>[ap])\.?m\b\.?)"
    r"|(?P<h3>\d{1,2}) ?(?P<half3>[ap])\.?m\b\.?|(?P<noon>noon|midday|midnight|mittag|mitternacht"
    r"|midi|minuit)(?!\w)"
)
_TIME = re.compile(rf"(?:^|[t ]|, )(?:(?:at|um|à|a) )?(?:{_CLOCK})$")
_WEEKDAY = re.compile(r"^([^\W\d_]{2,12})(?:\.?,|\.)? ?(?=\S+ ?\S)")
_ARTICLE = re.compile(r"^(?:the|on|le|am|den|der|el|il|in) (?=\S)")
_EDGES = r"(?<![^\W_])(?<!\d[-./:]){}(?![^\W_]|[-/:.]\d)"
_BARE = [re.sub(r"\?P<(?!s>)\w+>", "?:", pattern) for pattern in _DATES]
_THEN_TIME = r"(?:(?:,? (?:at|um|à) |[t ,] ?)\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\b\.?)?)?"
_SPANS = (
    *(
        re.compile(_EDGES.format(f"(?:{pattern}){_THEN_TIME}"))
        for pattern in (_BARE[0], *_BARE[2:12])
    ),
    re.compile(_BARE[1]),
)
_TIMES = re.compile(_EDGES.format("(?:" + re.sub(r"\?P<\w+>", "?:", _CLOCK) + ")"))


@lru_cache(maxsize=4096)
def read_moment(text: str, day_first: bool | None = None) -> Moment | None:
    """Return the date, the time or both that a whole text is; None for any other text.

    Arguments:
        text: `2024-03-05`, `5 March 2024`, `5. März 2024`, `14h30`, `Mar 5, 2024 2:30 pm`.
        day_first: whether `5/3/2024` is in March, by the column; None if the column does not show
            it. An ambiguous date is then no date.
    """
    plain = folded(text[:80]).strip(" .")
    if not any(sign.isdigit() for sign in plain) and plain not in NOONS:
        return None
    time: tuple[int, int, float] = (0, 0, 0.0)
    clock = _TIME.search(plain)
    if clock is not None:
        noon = NOONS.get(clock["noon"] or "", 0)
        hour = int(clock["h"] or clock["h2"] or clock["h3"] or noon)
        minute, second = int(clock["m"] or clock["m2"] or 0), float(clock["s"] or 0)
        half = clock["half"] or clock["half2"] or clock["half3"] or HALF_DAYS.get(clock["first"])
        if half:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if half == "p" else 0)
        if hour > 23 or minute > 59 or second >= 60:
            return None
        time, plain = (hour, minute, second), plain[: clock.start()].rstrip(" ,")
        if not plain:
            return (0, 0, 0, *time)
    for start in (plain, _ARTICLE.sub("", plain, count=1)):
        for shorter in (start, _without_weekday(start)):
            date = _date(_ARTICLE.sub("", shorter, count=1), day_first)
            if date is not None:
                return (*date, *time)
    return None


def moments_in(
    text: str, day_first: bool | None = None
) -> Iterator[tuple[int, int, Moment | None]]:
    """Yield (start, end, moment) of the dates and times in a folded text.

    The moment of an ambiguous date is None.
    """
    covered: list[tuple[int, int]] = []
    for pattern in (*_SPANS, _TIMES):
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < other and first < end for first, other in covered):
                continue
            moment = read_moment(match[0], day_first)
            if moment is None and not re.fullmatch(r"\d{1,2}[-/]\d{1,2}[-/]\d{4}.*", match[0]):
                continue
            covered.append((start, end))
            yield start, end, moment


def _without_weekday(text: str) -> str:
    first = _WEEKDAY.match(text)
    return text[first.end() :] if first and first[1] in _weekdays() else text


def _date(text: str, day_first: bool | None) -> tuple[int, int, int] | None:
    for pattern in _WHOLE:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        parts = match.groupdict()
        if "one" in parts:
            first_number, second_number = int(parts["one"]), int(parts["two"])
            if (
                day_first is None
                and first_number <= 12
                and second_number <= 12
                and first_number != second_number
            ):
                return None
            first = day_first if day_first is not None else first_number > 12
            day, month = (first_number, second_number) if first else (second_number, first_number)
        else:
            name = parts.get("name")
            number = month_number(name) if name else int(parts["month"])
            if number is None:
                continue
            month, day = number, int(parts.get("day") or 0)
        year = _year(parts["year"].lstrip("'"))
        try:
            dt.date(year, month, day or 1)
        except ValueError:
            return None
        return year, month, day
    return None


Period = tuple[str, int, int]
"""The kind (quarter, half, season, month, weekday, day), the year or 0, and the number.

Of a day without a year the second is the month.
"""

_YEAR_OF_PERIOD = r"(?:fy ?|fiscal (?:year )?|year |')?(?P<year>\d{4}|\d{2})年?"
_QUARTER = r"(?:quarter|quartal|trimestre|trim|qtr|kwartał|kwartaal|квартал|季度|四半期|분기)\.?"
_HALF = r"(?:half(?:[- ]year)?|halbjahr|semestre|semester|półrocze|полугодие|半年|半期|반기)"
_NUMBER = r"(?P<number>[1-4](?=\D)|[^\W\d_]+?)(?:(?<=\d)(?:st|nd|rd|th|\.|er|e|º|-?й))?"
_OF_YEAR = r"(?:,? ?(?:of |von |de |du |del |des |di |van |in )?(?:the )?)"
_SHAPES = tuple(
    (kind, re.compile(shape))
    for kind, letters, word in (
        ("quarter", "[qtk]", _QUARTER),
        ("half", "[hs]", _HALF),
    )
    for shape in (
        rf"(?:the |le |das |el |il )?{letters}(?P<number>[1-4]){_OF_YEAR}[-/ ]?{_YEAR_OF_PERIOD}",
        rf"{_YEAR_OF_PERIOD},?[-/ ]?{letters}(?P<number>[1-4])",
        rf"(?P<number>[1-4]){letters}[-/ ]?{_YEAR_OF_PERIOD}",
        rf"(?:in )?(?:the |le |das |im |el |il |第)?{_NUMBER} ?{word}{_OF_YEAR}{_YEAR_OF_PERIOD}",
        rf"{_YEAR_OF_PERIOD},? ?(?:第)?{_NUMBER} ?{word}",
        rf"{word} {_NUMBER}{_OF_YEAR}{_YEAR_OF_PERIOD}",
    )
)
_SEASON = re.compile(
    r"(?:the |in |season |saison |die )*(?P<year>\d{4}) ?[-/] ?(?P<end>\d{4}|\d{2})"
    r"(?: season| saison)?"
)
_YEARLESS_DAY = re.compile(
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
    if (day := _YEARLESS_DAY.fullmatch(plain)) and (
        month := month_number(day["name"] or day["name2"])
    ):
        date = int(day["day"] or day["day2"])
        return ("day", month, date) if 1 <= date <= 31 else None
    season = _SEASON.fullmatch(plain)
    if season is not None:
        year = _year(season["year"])
        is_next = int(season["end"]) in {year + 1, (year + 1) % 100}
        return ("season", year, year + 1) if is_next else None
    for kind, shape in _SHAPES:
        match = shape.fullmatch(plain)
        ordinal = ORDINALS.get(match["number"]) if match else None
        if match and ordinal and (kind == "quarter" or ordinal <= 2):
            return kind, _year(match["year"]), ordinal
    return None


def _year(text: str) -> int:
    """Return a year of four digits or two: `24` is 2024, `98` is 1998."""
    return int(text) + (0 if len(text) == 4 else 1900 if int(text) > 68 else 2000)


@cache
def _months() -> dict[str, int]:
    """Return months by their folded names in all languages; ambiguous names only if English."""
    names = _names("months", locales()) | _names("months", locales()[:1]) | {"sept": 9}
    return {name: number for name, number in names.items() if number and not name.isdigit()}


@cache
def _weekdays() -> dict[str, int]:
    """Return weekdays by their folded names in all languages, 0 for a name of several days."""
    return _names("days", locales()) | {"tues": 2, "thur": 4, "thurs": 4, "weds": 3}


def _names(kind: str, languages: Sequence[Any]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for locale in languages:
        for form in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for index, name in getattr(locale, kind)[form][width].items():
                    number = index + (kind == "days")  # days are counted from 0
                    word = folded(name).strip(".")
                    if numbers.setdefault(word, number) != number:
                        numbers[word] = 0
    return numbers


@cache
def _month_and_day_names() -> dict[str, tuple[str, int]]:
    days = {name: number for name, number in _weekdays().items() if number and len(name) > 1}
    named = {name: ("weekday", number) for name, number in days.items()}
    # A word for a month and a weekday (`mar.` is Tuesday in French) is a month.
    return named | {name: ("month", number) for name, number in _months().items()}


def month_number(name: str) -> int | None:
    """Return a month by its name or its English abbreviation (`sept`)."""
    return _months().get(name)
