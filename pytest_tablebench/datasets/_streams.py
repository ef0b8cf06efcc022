"""Read large JSON lists item by item, only as far as needed.

ijson does not fit: it reads lone surrogates as question marks, and needs 24 GB of memory for 100 kB
of opening brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError

_CHUNK = 1 << 18
_LONGEST = 1 << 25
"""The most characters of an item, so that a broken file is not read into memory as a whole."""

_OPENING = re.compile(r"[ \t\r\n]*\[")
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class _IncompleteError(Exception):
    """The text may end before the next item does."""


def json_items(path: Path) -> Iterator[Any]:
    """Yield the items of the JSON list in a file, reading only as far as needed.

    Raises `DataError`, naming file and item, if the file cannot be read, is not a list, or is cut
    off. The items before the error are yielded first.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            text = stream.read(_CHUNK)
            opening = _OPENING.match(text)
            if opening is None:
                raise DataError(f"{path}: must contain a JSON list")
            place, number, step = opening.end(), 0, _CHUNK
            while True:
                try:
                    end_and_item = _next(text, place, first=number == 0)
                except _IncompleteError as error:
                    more = stream.read(step) if len(text) - place < _LONGEST else ""
                    if not more:
                        raise DataError(
                            f"{path}: item {number + 1} is not valid JSON or incomplete ({error}); "
                            f"fetch the file again"
                        ) from None
                    text, place, step = text[place:] + more, 0, step * 2
                    continue
                if end_and_item is None:
                    return
                place, item = end_and_item
                number, step = number + 1, _CHUNK
                yield item
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text") from None
    except RecursionError:
        raise DataError(f"{path}: JSON nested too deeply to be a dataset") from None


def _next(text: str, place: int, *, first: bool) -> tuple[int, Any] | None:
    """Return the end of the next item and the item; None at the end of the list."""
    place = _skip_blank(text, place)
    if text[place] == "]":
        return None
    if not first:
        # Without a comma, move to the end, where the decoder fails.
        place = _skip_blank(text, place + 1) if text[place] == "," else len(text)
    try:
        item, end = _DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        raise _IncompleteError(error.msg) from None
    except ValueError as error:  # a number with too many digits
        raise _IncompleteError(str(error)) from None
    if end == len(text):
        raise _IncompleteError("no end of the list")
    return end, item


def _skip_blank(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    end = match.end() if match else place
    if end == len(text):
        raise _IncompleteError("no end of the list")
    return end
