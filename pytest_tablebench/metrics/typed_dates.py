"""Dates and times of day, as tables and models write them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from functools import lru_cache

from pytest_tablebench.metrics._typed_periods import (
    month_number,
    two_digit_year,
    weekday_names,
)
from pytest_tablebench.metrics._typed_text import folded

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
_NOONS = dict.fromkeys(("noon", "midday", "mittag", "midi"), 12) | dict.fromkeys(
    ("midnight", "mitternacht", "minuit"), 0
)
_HALVES = dict.fromkeys(("오전", "上午", "午前"), "a") | dict.fromkeys(
    ("오후", "下午", "午後"), "p"
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
    if not any(sign.isdigit() for sign in plain) and plain not in _NOONS:
        return None
    time: tuple[int, int, float] = (0, 0, 0.0)
    clock = _TIME.search(plain)
    if clock is not None:
        noon = _NOONS.get(clock["noon"] or "", 0)
        hour = int(clock["h"] or clock["h2"] or clock["h3"] or noon)
        minute, second = int(clock["m"] or clock["m2"] or 0), float(clock["s"] or 0)
        half = clock["half"] or clock["half2"] or clock["half3"] or _HALVES.get(clock["first"])
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
    return text[first.end() :] if first and first[1] in weekday_names() else text


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
        year = two_digit_year(parts["year"].lstrip("'"))
        try:
            dt.date(year, month, day or 1)
        except ValueError:
            return None
        return year, month, day
    return None
