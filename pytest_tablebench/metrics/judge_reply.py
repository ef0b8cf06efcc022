r"""Marks in a judge's reply (specs: treb.md section 5, LLM_score; realhitbench.md section 4).

TReB's judge gives 0 to 10 in `\boxed{}`, RealHiTBench's 0 to 100 after `[Score]:`. The last mark of
a reply counts. Scales and ranges such as `0 to 10` and `80-85` are no marks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_tablebench.metrics.replies import after_thinking

HIGHEST = 10.0
"""The highest mark of TReB's judges."""

Status = Literal["ok", "empty_prediction", "not_a_number", "out_of_range"]

_BOX = "\\boxed{"
_END = re.compile(r"[}\n]")

_LONGEST = 200
"""Characters of a mark with its explanation that are read."""

_BRACES = re.compile(r"\\boxed\{|[{}]|\n\s*\n")
_WRITTEN_BOX = re.compile(r"\\[Bb]oxed\s{0,9}\{")
_DIGITS = str.maketrans("０１２３４５６７８９：", "0123456789:")
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]{1,20})\}\{([^{}]{1,20})\}")
# `\text{8}` and `\mathbf{8}` are 8; bold, dollars and quotes around a mark are removed.
_DRESS = re.compile(r"\\[a-zA-Z]{1,20}\s*\{|\\[,;! ]|\\(?=%)|[][{}$*`\"“”'‘’]")
_VALUE = r"[0-9]{1,9}(?:[.,][0-9]{1,9})?"
_WORD = r"(?:points?|marks?|分)"
_OUT_OF = re.compile(rf"\s*{_WORD}?\s*(?:/|out\s+of\b|of\b)\s*({_VALUE})(?![0-9_])", re.IGNORECASE)
_MARK = re.compile(
    rf"\s*(?:(?:score|mark|rating)\s*[:=])?\s*\(?\s*([-+\u2212]?{_VALUE})"
    r"(?![\w.,]*[0-9_])(?![^\W\d_分])",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(?:[-\u2013\u2014~]|\.\.|to\b|through\b|or\b)\s*[0-9]", re.IGNORECASE)

_BRACKETED = re.compile(r"\[\s*score\s*\][\s*_`]{0,20}[:：=]?", re.IGNORECASE)
# A number at the start of a sentence is no mark: "77 points below the best".
_SENTENCE = re.compile(rf"[\s*_]*{_VALUE}[^\S\n]+(?!out\s+of\b|of\b)[a-z]", re.IGNORECASE)
_BARE = re.compile(r"(?<!\w)Score(?:\s?\([^()\n]{0,30}\))?[*_]{0,4}\s?[:：]")

_RANGE_OF_BOXES = re.compile(r"[\s$]*(?:to|through|[-\u2013\u2014~]|\.\.\.?)[\s$]*")
_BETWEEN = re.compile(r"between[\s$]*$", re.IGNORECASE)
_AND = re.compile(r"[\s$]*and[\s$]*")
_SCALE_BEFORE = re.compile(r"(?:/|\bof)[\s$]*$", re.IGNORECASE)


@dataclass(frozen=True)
class Judged:
    """A judge's mark from 0 to 10, or the reason why it is missing."""

    status: Status
    score: float | None = None


def read_judgement(reply: str, prediction: str | None) -> Judged:
    r"""Return the last mark in a `\boxed{}` (`fixed`).

    The reply to an empty prediction is not read. A reply without a number has its own status, so it
    adds no 0 to the scores.
    """
    if not prediction:
        return Judged("empty_prediction")
    return _judged(_last_boxed(_WRITTEN_BOX.sub(lambda _: _BOX, after_thinking(reply))))


def published_judgement(reply: str, prediction: str | None) -> Judged:
    r"""Return the first `\boxed{}` of a line up to a slash, as the published code reads it."""
    if not prediction:
        return Judged("empty_prediction")
    return _judged(_published_number(reply))


def reference_score(reply: str, prediction: str | None) -> float:
    r"""Return the score as `reference` counts it: 0 without a mark, NaN only for `\boxed{nan}`."""
    judged = published_judgement(reply, prediction)
    if judged.status == "not_a_number" and _published_number(reply) is not None:
        return math.nan
    return judged.score or 0.0


def read_score(reply: str) -> float | None:
    """Return the last mark from 0 to 100 after `[Score]:`, or else after `Score:`.

    A mark on another scale is converted: `8.5/10` is 85. Returns None without a mark, or if it is
    out of range.
    """
    for marker in (_BRACKETED, _BARE):
        ends = [match.end() for match in marker.finditer(reply)]
        for end in reversed(ends):
            text = reply[end : end + _LONGEST]
            mark = None if _SENTENCE.match(text) else read_mark(text, 100)
            if mark is not None:
                return mark if 0 <= mark <= 100 else None
    return None


def read_mark(text: str, highest: float) -> float | None:
    """Return the mark at the start of a text, on a scale up to `highest`; None without a mark.

    `7/10`, `7 out of 10` and `70%` are 7 tenths of the scale. On a scale up to 10, `7%` is no mark:
    it may be 7 as well as 0.7.
    """
    plain = _FRACTION.sub(r"\1/\2", text[:_LONGEST].translate(_DIGITS))
    plain = _DRESS.sub("", plain)
    match = _MARK.match(plain)
    if match is None:
        return None
    following = plain[match.end() :]
    mark = _float(match[1])
    is_share = following.lstrip().startswith("%") and highest != 100
    if (is_share and mark <= highest) or _RANGE.match(following):
        return None
    if is_share:
        return mark * highest / 100
    return _scaled(mark, following, highest)


def _scaled(mark: float, following: str, highest: float) -> float | None:
    """Convert a mark to our scale if its own scale follows it."""
    scale = _OUT_OF.match(following)
    if scale is None:
        return mark
    top = _float(scale[1])
    return mark if top == highest else mark * highest / top if top else None


def _float(text: str) -> float:
    return float(text.replace(",", ".").replace("\u2212", "-"))


def _judged(number: float | None) -> Judged:
    if number is None or math.isnan(number):
        return Judged("not_a_number")
    if not 0 <= number <= HIGHEST:
        return Judged("out_of_range")
    return Judged("ok", number)


def _last_boxed(text: str) -> float | None:
    """Return the last mark in a box; boxes that name a scale are ignored."""
    boxes = list(_boxes(text))
    last: float | None = None
    position = 0
    while position < len(boxes):
        start, end = boxes[position]
        if position + 1 < len(boxes) and _is_range(text, boxes[position], boxes[position + 1]):
            position += 2
            continue
        position += 1
        if _SCALE_BEFORE.search(text, max(0, start - len(_BOX) - 10), start - len(_BOX)):
            continue
        mark = _mark_of_box(text, start, end)
        last = last if mark is None else mark
    return last


def _mark_of_box(text: str, start: int, end: int) -> float | None:
    if end - start > _LONGEST:
        return None
    following = text[end + 1 : end + 30].replace(_BOX, "").lstrip("$ ")
    return read_mark(
        text[start:end] + (f" {following}" if _OUT_OF.match(following) else ""), HIGHEST
    )


def _is_range(text: str, first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Return whether two boxes in a row are the ends of a scale."""
    start, (_, end) = second[0] - len(_BOX), first
    if start - end > _LONGEST:
        return False
    between = text[end + 1 : start]
    begin = first[0] - len(_BOX)
    if _AND.fullmatch(between):
        return _BETWEEN.search(text, max(0, begin - 20), begin) is not None
    return _RANGE_OF_BOXES.fullmatch(between) is not None


def _boxes(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the content of each box that closes in its paragraph."""
    opened: list[int | None] = []
    for brace in _BRACES.finditer(text):
        if brace[0] == _BOX:
            opened.append(brace.end())
        elif brace[0] == "{":
            opened.append(None)
        elif "\n" in brace[0]:
            opened.clear()
        elif opened and (start := opened.pop()) is not None:
            yield start, brace.start()


def _published_number(reply: str) -> float | None:
    try:
        return float(_first_box(after_thinking(reply)).partition("/")[0])
    except ValueError:
        return None


def _first_box(text: str) -> str:
    """Return the content of the first box that ends on its line; "" without one."""
    position = 0
    while (start := text.find(_BOX, position)) >= 0 and (end := _END.search(text, start)):
        if end[0] == "}":
            return text[start + len(_BOX) : end.start()]
        # No box that begins earlier on this line closes on it, so each position is read once.
        position = end.end()
    return ""
