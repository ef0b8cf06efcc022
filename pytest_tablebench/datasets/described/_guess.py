"""A first draft of a description, guessed from a file of questions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pytest_tablebench.datasets.described._rows import Row, rows_of, value_of
from pytest_tablebench.datasets.folder.tables import TABLE_KINDS
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import counted, shortened

_MOST_ROWS = 500
"""The number of rows that are read."""
_MOST_TAGS = 12
"""The most different values of a field that becomes a tag."""
_LEAST_ROWS = 5
"""The fewest rows that are enough to guess tags."""
_LONGEST_TAG = 40
_SENTENCE = 12
"""The fewest words of an answer that counts as a sentence."""

_QUESTIONS = ("question", "query", "utterance", "statement", "claim", "prompt", "instruction")
_ANSWERS = ("answers", "answer", "target", "label", "output", "response", "summary", "gold")
_IDS = ("id", "uid", "qid", "question_id", "example_id", "key")
_PLACES = ("*", "data.*", "*.questions.*", "data.*.questions.*", "rows.*", "examples.*")


class Guess(NamedTuple):
    """The guessed value of a key in a section, and the reason for the user."""

    section: str
    key: str
    value: str
    reason: str


def guesses(folder: Path, name: str) -> Iterator[Guess]:
    """Yield the guesses about a file, section by section.

    Raises `DataError` if it finds no questions with answers.
    """
    at, rows = _best_rows(folder, name)
    yield Guess("files", "test", name, "the file of --from")
    number = counted(len(rows), "row")
    yield Guess("rows", "at", at, f"{number} with a question and an answer")
    fields = list(_fields(rows))
    question = _question(rows, fields)
    answers = _by_name(fields, _ANSWERS)
    yield Guess("rows", "question", str(question), "chosen by its name or its texts")
    yield Guess("rows", "answers", str(answers), "chosen by its name")
    ids = [path for path in fields if _last(path) in _IDS and _is_unique(rows, path)]
    if ids:
        yield Guess("rows", "id", ids[0], "different in each row")
    for path, kind, reason in _tables(rows, fields):
        yield Guess("table", kind, path, reason)
    for path in fields:
        values = [value_of(row, path) for row in rows]
        if path not in (question, answers, *ids) and _are_tags(values):
            yield Guess("rows.tags", _last(path), path, f"{len(set(values))} different values")
    lengths = [len(str(value_of(row, str(answers))).split()) for row in rows]
    if sorted(lengths)[len(lengths) // 2] >= _SENTENCE:
        yield Guess("scoring", "metric", "rouge", "most answers are sentences")


def write_guess(folder: Path, name: str) -> list[str]:
    """Write the guessed `tablebench.toml` next to a file. Raises `DataError`.

    Return a line for the user about each guess.
    """
    lines, sections = [], dict[str, dict[str, str]]()
    for section, key, value, reason in guesses(folder, name):
        lines.append(f"[{section}] {key} = {shortened(value, 80)!r}: {reason}")
        sections.setdefault(section, {})[_quoted_key(key)] = json.dumps(value)
    text = "# Guessed from the data: read it, and see what is missing in docs/descriptions.md.\n"
    for section, values in sections.items():
        text += f"\n[{section}]\n" + "".join(f"{key} = {values[key]}\n" for key in values)
    if "table" not in sections:
        lines.append("no table was recognized: add a section [table] that names its field")
    path = folder / "tablebench.toml"
    try:
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        raise DataError(f"{path} exists already; remove it, or write into another folder") from None
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
    return lines


def _best_rows(folder: Path, name: str) -> tuple[str, list[Row]]:
    """Return the path with most usable rows, and the first rows there. Raises `DataError`."""
    best: tuple[str, list[Row]] = ("", [])
    for at in _PLACES:
        rows = [
            row
            for row in islice(rows_of(folder, name, at), _MOST_ROWS)
            if isinstance(row.content, dict)
        ]
        fields = list(_fields(rows))
        if _question(rows, fields) and _by_name(fields, _ANSWERS) and len(rows) > len(best[1]):
            best = (at, rows)
    if not best[1]:
        raise DataError(
            f"{folder / name}: no rows with a question and an answer; write tablebench.toml by hand"
        )
    return best


def _fields(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the paths of fields in rows, in the objects inside them and in the one around them."""
    seen: dict[str, None] = {}
    for row in rows[:_MOST_ROWS]:
        for prefix, content in (("", row.content), *(("^", outer) for outer in row.around[:1])):
            for name, value in content.items() if isinstance(content, dict) else ():
                if set(name) & set(".*^"):  # no path can name it
                    continue
                seen[f"{prefix}{name}"] = None
                if isinstance(value, dict):
                    seen |= dict.fromkeys(f"{prefix}{name}.{inner}" for inner in value)
    yield from seen


def _last(path: str) -> str:
    return path.lstrip("^").rpartition(".")[2]


def _by_name(fields: Sequence[str], names: Sequence[str]) -> str | None:
    by_name = {_last(path).lower(): path for path in reversed(fields)}
    return next((by_name[name] for name in names if name in by_name), None)


def _question(rows: Sequence[Row], fields: Sequence[str]) -> str | None:
    """Return the field with a question's name, or else the first whose texts mostly end in `?`."""
    named = _by_name(fields, _QUESTIONS)
    if named is not None:
        return named
    for path in fields:
        texts = [value_of(row, path) for row in rows]
        if sum(isinstance(text, str) and text.rstrip().endswith("?") for text in texts) * 2 > len(
            rows
        ):
            return path
    return None


def _is_unique(rows: Sequence[Row], path: str) -> bool:
    values = [value_of(row, path) for row in rows]
    are_ids = all(isinstance(value, str | int) for value in values)
    return are_ids and len(set(values)) == len(values)


def _are_tags(values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str) and len(value) <= _LONGEST_TAG]
    if len(texts) < len(values) or len(values) < _LEAST_ROWS:
        return False
    counts = Counter(texts)
    return 1 < len(counts) <= min(_MOST_TAGS, len(values) // 2)


def _tables(rows: Sequence[Row], fields: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (value, key, reason) for the section `[table]`, from the first field with tables."""
    for path in fields:
        values = [value_of(row, path) for row in rows]
        for kind, (fits, reason) in _FORMS.items():
            if all(map(fits, values)):
                yield path, kind, reason
                header = f"{path.rpartition('.')[0]}.header"
                if kind == "cells" and header in fields:
                    yield header, "header", "a list of names next to the cells"
                if kind == "text":
                    yield "html", "reader", "the texts contain <table"
                titles = [other for other in fields if "title" in _last(other).lower()]
                if titles:
                    title = ": ".join(f"{{{other}}}" for other in titles)
                    yield title, "title", "chosen by the names of the fields"
                return


def _is_cells(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, list) for row in value)


def _is_records(value: Any) -> bool:
    is_list = isinstance(value, list) and len(value) > 1
    return is_list and all(isinstance(record, dict) for record in value)


def _is_html(value: Any) -> bool:
    return isinstance(value, str) and "<table" in value.lower()


def _is_file(value: Any) -> bool:
    return isinstance(value, str) and value.lower().endswith(TABLE_KINDS)


_FORMS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "cells": (_is_cells, "a list of rows; the first one is the header"),
    "records": (_is_records, "a list of objects"),
    "text": (_is_html, "HTML"),
    "file": (_is_file, "names of table files"),
}


def _quoted_key(key: str) -> str:
    is_bare = key.replace("_", "").replace("-", "").isalnum() and key.isascii()
    return key if is_bare else json.dumps(key)
