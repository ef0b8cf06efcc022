"""Fields of rows by their paths.

`table.uid` is the field `uid` of the field `table`. `questions.*` is each item of a list or each
value of an object, and `answers.0` is the first item of a list. Each leading `^` refers to the next
object around the row: `^table.uid` is a field of the object that directly contains the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_tablebench.util.names import shortened

_MOST_PARTS = 20


class Row(NamedTuple):
    """A row of a file.

    Arguments:
        number: its number in the file, from 1.
        content: the parsed row, or the `BadRowError` of a row that cannot be parsed.
        around: the objects that contain it, innermost first.
    """

    number: int
    content: Any
    around: tuple[dict[str, Any], ...] = ()


def path_problem(path: str) -> str | None:
    """Return what is wrong with the syntax of a path; None if it is valid."""
    names = path.lstrip("^").split(".")
    if len(names) > _MOST_PARTS:
        return f"{shortened(path, 60)!r} has more than {_MOST_PARTS} parts"
    if path and not path.lstrip("^"):
        return f"{shortened(path, 60)!r} names no field after ^"
    if path and not all(names):
        return f"{shortened(path, 60)!r} has an empty part; write names with one dot between"
    return None


def rows_at(content: Any, path: str) -> Iterator[tuple[Any, tuple[dict[str, Any], ...]]]:
    """Yield (value, objects around it, innermost first) for a path from the top of a file."""
    yield from _walk(content, path.split("."), ())


def _walk(
    content: Any, names: list[str], around: tuple[dict[str, Any], ...]
) -> Iterator[tuple[Any, tuple[dict[str, Any], ...]]]:
    if not names:
        yield content, around
        return
    name, *rest = names
    inner = (content, *around) if isinstance(content, dict) else around
    if name == "*":
        items = content.values() if isinstance(content, dict) else content
        for item in items if isinstance(content, dict | list) else ():
            yield from _walk(item, rest, inner)
    elif isinstance(content, dict) and name in content:
        yield from _walk(content[name], rest, inner)
    elif isinstance(content, list) and name.isdecimal() and int(name) < len(content):
        yield from _walk(content[int(name)], rest, inner)


def value_of(row: Row, path: str) -> Any:
    """Return the field at a path of a row: a list if the path has a `*`, None if it is missing."""
    up = len(path) - len(path.lstrip("^"))
    if up > len(row.around):
        return None
    content = row.around[up - 1] if up else row.content
    values = [value for value, _ in rows_at(content, path[up:])]
    if "*" in path.split("."):
        return values
    return values[0] if values else None
