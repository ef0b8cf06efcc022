"""Perturbations that add, change or remove content: rows, columns, facts, names."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from random import Random

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.tables.content import Cell
from pytest_tablebench.tables.perturbations._base import (
    Question,
    changes_meaning,
    draw_for,
    of_questions,
    require_count,
    require_flat,
    require_full_rows,
)
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_CHINESE = "岚沐霁玥珩澜苒珂翊璟菡旻泓昀栩珺"
_TRIES = 100


def invented(like: str, draw: Random, taken: Container[str] = ()) -> str:
    """Return a text that looks like another one: capitals, blanks, length, first digits.

    It differs from the taken texts, unless a hundred tries find no other.
    """
    text = like
    for _ in range(_TRIES):
        text = _once(like, draw)
        if text != like and text not in taken:
            break
    return text


def _once(like: str, draw: Random) -> str:
    letters, length = [], 0
    for position, character in enumerate(like):
        if character.isdecimal():
            first = not (position and like[position - 1].isdecimal())
            alone = not like[position + 1 : position + 2].isdecimal()
            if first and not alone:
                letters.append(character)  # so that a year stays a year
            else:
                letters.append(draw.choice("123456789" if first else "0123456789"))
            length = 0
        elif "\u4e00" <= character <= "\u9fff":
            letters.append(draw.choice(_CHINESE))
        elif character.isalpha():
            letter = draw.choice(_VOWELS if length % 2 else _CONSONANTS)
            letters.append(letter.upper() if character.isupper() else letter)
            length += 1
        else:
            letters.append(character)
            length = 0
    return "".join(letters)


CHARACTERS_PER_TOKEN = 4
MOST_TOKENS = 1_000_000
_NAMES = ("Record no.", "Checked by", "Batch", "Filed under", "Entry code", "Revision", "Sheet")
_CHINESE_NAMES = ("记录编号", "核对人", "批次", "归档号", "条目代码", "修订号", "页码")
_PEOPLE = ("Adair", "Brook", "Corin", "Dale", "Ellis", "Frith")


@changes_meaning
def repeat_rows(table: Table, *, seed: int = 0, tokens: int = 2000) -> Table:
    """Repeat random rows at random positions until the table has this many tokens.

    Each row stays true, but counts and sums change. A token is four characters.
    """
    draw = _draw(table, seed, "repeat_rows", tokens)
    return _longer(table, draw, tokens, lambda: draw.choice(table.rows))


@changes_meaning
def distractor_rows(table: Table, *, seed: int = 0, tokens: int = 2000) -> Table:
    """Insert rows about invented things until the table has this many tokens.

    The texts of the first column are invented, the other cells are drawn from their columns. Facts
    that are looked up by name stay true, but counts, sums and comparisons change.
    """
    draw = _draw(table, seed, "distractor_rows", tokens)
    columns = list(zip(*(row[: len(table.header)] for row in table.rows), strict=False))
    taken = {str(row[0]) for row in table.rows if row}

    def row() -> tuple[Cell, ...]:
        first, *others = (draw.choice(column) for column in columns)
        label = invented(str(first), draw, taken) if str(first or "") else first
        taken.add(str(label))
        return (label, *others)

    return _longer(table, draw, tokens, row)


def distractor_columns(table: Table, *, seed: int = 0, count: int = 2) -> Table:
    """Add irrelevant columns after the others; every fact stays in its place."""
    require_count("count", count)
    require_full_rows(table, "distractor_columns")
    draw = draw_for(table, seed, "distractor_columns")
    header = "".join(str(name) for name in table.header)
    chinese = any("\u4e00" <= character <= "\u9fff" for character in header)
    names = [name for name in (_CHINESE_NAMES if chinese else _NAMES) if name not in table.header]
    if count > len(names):
        raise SettingsError(f"count must be at most {len(names)}, not {count}")
    chosen = draw.sample(names, count)
    sections, width = set(table.sections), len(table.header)

    def blank(lines: Sequence[Sequence[Cell]]) -> tuple[tuple[Cell, ...], ...]:
        return tuple((*line, *("" for _ in chosen)) for line in lines)

    return replace(
        table,
        header=(*table.header, *chosen),
        rows=tuple(
            (*row[:width], *("" if number in sections else _filler(draw) for _ in chosen))
            for number, row in enumerate(table.rows)
        ),
        captions=blank(table.captions),
        header_rows=blank(table.header_rows),
        notes=blank(table.notes),
    )


def _filler(draw: Random) -> str:
    return draw.choice((draw.choice(_PEOPLE), f"{draw.choice('ABCDEF')}-{draw.randint(100, 999)}"))


def _draw(table: Table, seed: int, name: str, tokens: int) -> Random:
    require_count("tokens", tokens)
    if tokens > MOST_TOKENS:
        raise SettingsError(f"tokens must be at most {MOST_TOKENS:,}, not {tokens:,}")
    require_flat(table, name)
    require_full_rows(table, name)
    return draw_for(table, seed, name)


def _longer(table: Table, draw: Random, tokens: int, make: Callable[[], tuple[Cell, ...]]) -> Table:
    """Return the table with new rows inserted; the old ones keep their order."""
    if not table.rows or not table.header:  # nothing to draw from
        return table
    missing = tokens * CHARACTERS_PER_TOKEN - sum(map(_length, (table.header, *table.rows)))
    added: list[tuple[Cell, ...]] = []
    while missing > 0:
        added.append(make())
        missing -= _length(added[-1])
    # All places are drawn at once: inserting rows one by one would move the others each time.
    count = len(table.rows) + len(added)
    places = set(draw.sample(range(count), len(added)))
    old, new = iter(table.rows), iter(added)
    rows = [next(new) if index in places else next(old) for index in range(count)]
    return table.replace(rows=rows)


def _length(row: Sequence[Cell]) -> int:
    return max(1, sum(len(str(cell)) + 1 for cell in row))


_LOOKED_UP = ("lookup", "row")
"""Kinds of generated questions whose answer is a cell that they do not compare."""


@changes_meaning
def missing_values(table: Table, *, seed: int = 0, share: float = 0.1) -> Table:
    """Empty a random share of the cells with content."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise SettingsError(f"share must be a number from 0 to 1, not {share!r}")
    places = [
        (number, column)
        for number, row in enumerate(table.rows)
        for column, cell in enumerate(row)
        if cell not in ("", None)
    ]
    draw = draw_for(table, seed, "missing_values")
    exact = Decimal(str(share)) * len(places)
    emptied = set(draw.sample(places, round(exact)))
    return replace(
        table,
        rows=tuple(
            tuple("" if (number, column) in emptied else cell for column, cell in enumerate(row))
            for number, row in enumerate(table.rows)
        ),
    )


@changes_meaning
def no_table(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - all share one signature
    """Remove the table's content: a model that still answers knows the answer, or guesses."""
    return table.replace(header=(), rows=())


no_table.hides_tables = True  # type: ignore[attr-defined]


@changes_meaning
@of_questions
def counterfactual(question: Question, *, seed: int = 0) -> Question:
    """Replace the cell with the answer by an invented text, and expect that text.

    Each answer must be the text of exactly one cell, and must not occur in another cell, a name,
    the question or the metric's context. An answer with a digit must also belong to a generated
    question that looks it up, because other questions may compare it. Aliases of the old answer are
    dropped. Raises `TableError` for every other question.
    """
    answers, tables = [], question.tables
    for answer in question.answers:
        _require_known(question, answer)
        draw = seeded_random({"answer": answer, "seed": seed, "perturbation": "counterfactual"})
        taken = {str(cell) for table in tables for line in table.lines for cell in line}
        new = invented(answer, draw, taken)
        if new in taken or new == answer:
            raise TableError(f"{_label(question)}: nothing else looks like the answer {answer!r}")
        tables = tuple(_with_cell(table, answer, new) for table in tables)
        answers.append(new)
    if not answers:
        raise TableError(f"{_label(question)}: counterfactual needs a question with an answer")
    aliases = {
        text: names for text, names in question.aliases.items() if text not in question.answers
    }
    return replace(question, tables=tables, answers=tuple(answers), aliases=aliases)


def _label(question: Question) -> str:
    return question.tables[0].label if question.tables else "a question without tables"


def _require_known(question: Question, answer: str) -> None:
    """Raise a `TableError` unless exactly one cell is certainly the answer."""
    cells = [str(cell) for table in question.tables for line in table.lines for cell in line]
    bodies = [str(cell) for table in question.tables for row in table.rows for cell in row]
    problem = None
    if bodies.count(answer) != 1:
        problem = "is not the text of one cell"
    elif sum(answer in cell for cell in cells) != 1:
        problem = "is in other cells too"
    elif answer in question.text or answer in question.more:
        problem = "is in the question too"
    elif any(alias in cell for alias in question.aliases.get(answer, ()) for cell in cells):
        problem = "has an alias in the table"
    elif not re.search(r"\w", answer):
        problem = "has no letter or digit"
    elif re.search(r"\d", answer) and question.kind not in _LOOKED_UP:
        problem = "contains a number, which may be compared"
    if problem is not None:
        raise TableError(f"{_label(question)}: the answer {answer!r} {problem}")


def _with_cell(table: Table, old: str, new: str) -> Table:
    rows = tuple(tuple(new if str(cell) == old else cell for cell in row) for row in table.rows)
    return replace(table, rows=rows)


_WORD = re.compile(r"[A-Za-z]+(?:\.(?=\s|$))?")
_CHINESE_CELL = re.compile(r"([\u4e00-\u9fff]+)(.*)", re.DOTALL)


@lru_cache
def _dictionary(name: str) -> Mapping[str, str]:
    """Return a dictionary of `names.json`: English words in lower case, and Chinese ones."""
    text = files(__package__).joinpath("names.json").read_text(encoding="utf-8")
    synonyms: Mapping[str, str] = json.loads(text)[name]
    return synonyms


def synonym_names(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - all share one signature
    """Replace words in column names by synonyms from a small English and Chinese dictionary."""
    return _renamed(table, lambda name: _rewritten(name, _dictionary("synonyms")))


def abbreviate_names(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - all share one signature
    """Abbreviate words in column names as people do, from a small dictionary."""
    return _renamed(table, lambda name: _rewritten(name, _dictionary("abbreviations")))


def _renamed(table: Table, rewrite: Callable[[str], str]) -> Table:
    """Return the table with its header lines rewritten; its structure stays.

    A name stays unchanged if it would become equal to another name of its line.
    """
    lines = [_line(line, rewrite) for line in (*table.header_rows, table.header)]
    return replace(table, header_rows=tuple(lines[:-1]), header=lines[-1])


def _line(line: tuple[Cell, ...], rewrite: Callable[[str], str]) -> tuple[Cell, ...]:
    new = {name: rewrite(name) for name in line if isinstance(name, str)}
    taken = Counter(new.values())
    # Compared without case, as readers do.
    old = Counter(name.casefold() for name in new)
    return tuple(
        new[name]
        if isinstance(name, str)
        and taken[new[name]] == 1
        and (new[name] == name or not old[new[name].casefold()])
        else name
        for name in line
    )


def _rewritten(name: str, words: Mapping[str, str]) -> str:
    chinese = _CHINESE_CELL.fullmatch(name)
    if chinese is not None:  # without blanks only the whole name is a word, before a unit
        return words.get(chinese[1], chinese[1]) + chinese[2]
    return _WORD.sub(lambda match: _as_written(match[0], words), name)


def _as_written(word: str, words: Mapping[str, str]) -> str:
    new = words.get(word.lower(), word)
    if new == word or not word.isascii():
        return new
    if word.isupper() and len(word) > 1:
        return new.upper()
    return new[0].upper() + new[1:] if word[0].isupper() else new.lower()
