"""Dates and times of day, in the ways tables and models write them."""

from __future__ import annotations

import datetime as dt
import re

from pytest_tablebench.metrics._unicode import normalized

Moment = tuple[int, int, int, int, int, float]
"""Year, month, day, hour, minute, second; 0 for what is not said."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? ")
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<year>\d{4})(?P<s>[-/.])(?P<month>\d{1,2})(?P=s)(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\. ?(?P<year>\d{4})",
        r"(?P<one>\d{1,2})(?P<s>[-/])(?P<two>\d{1,2})(?P=s)(?P<year>\d{4})",
        rf"{_DAY}\.? (?:of )?{_NAME},? (?P<year>\d{{4}})",
        rf"{_NAME} {_DAY},? (?P<year>\d{{4}})",
        rf"{_NAME} (?P<year>\d{{4}})",
    )
)
_TIME = re.compile(
    r"(?:^|[t ]|, )(?:at )?(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2}(?:\.\d{1,6})?))?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?$"
)


def read_moment(text: str, day_first: bool | None = None) -> Moment | None:
    """Return the date, the time or both that a whole text says; None for any other text.

    Arguments:
        text: `2024-03-05`, `5 March 2024`, `14:30`, `Mar 5, 2024 2:30 pm`.
        day_first: what the column says of `5/3/2024`; None: it does not say, and then only a
            date that can be read in one way is one.
    """
    plain = " ".join(normalized("NFKC", text[:80]).casefold().split()).strip(" .")
    time: tuple[int, int, float] = (0, 0, 0.0)
    found = _TIME.search(plain)
    if found is not None:
        hour, minute, second = int(found["h"]), int(found["m"]), float(found["s"] or 0)
        if found["half"]:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if found["half"] == "p" else 0)
        if hour > 23 or minute > 59 or second >= 60:
            return None
        time, plain = (hour, minute, second), plain[: found.start()].rstrip(" ,")
        if not plain:
            return (0, 0, 0, *time)
    date = _date(_WEEKDAY.sub("", plain, count=1), day_first)
    return None if date is None else (*date, *time)


def _date(text: str, day_first: bool | None) -> tuple[int, int, int] | None:
    for pattern in _DATES:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        parts = found.groupdict()
        if "one" in parts:
            one, two = int(parts["one"]), int(parts["two"])
            if day_first is None and one <= 12 and two <= 12 and one != two:
                return None
            first = day_first if day_first is not None else one > 12
            day, month = (one, two) if first else (two, one)
        else:
            name = parts.get("name")
            month = _MONTHS.index(name[:3]) + 1 if name else int(parts["month"])
            day = int(parts.get("day") or 0)
        year = int(parts["year"])
        try:
            dt.date(year, month, day or 1)
        except ValueError:
            return None
        return year, month, day
    return None
