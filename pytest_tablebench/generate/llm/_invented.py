"""Tables that a model invents (spec: treb.md section 6.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_tablebench.generate.folder import TableSource
from pytest_tablebench.generate.llm._prompts import ask_for_table, topics
from pytest_tablebench.generate.llm.replies import RefusedError, plain_text, read_object
from pytest_tablebench.generate.question_maker import LANGUAGES, spoken
from pytest_tablebench.generate.rules._sheet import UnfitError
from pytest_tablebench.generate.values import is_summary, plain_question
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

_REQUESTED_ROWS, _REQUESTED_COLUMNS = (6, 15), (4, 7)
_ROWS, _COLUMNS = range(3, 31), range(2, 13)
"""Accepted sizes: smaller tables give no questions, larger ones were not requested."""

_LONGEST = {"title": 120, "heading": 60, "cell": 120}


def invented(*, model: str, count: int, seed: int, language: str) -> Iterator[TableSource]:
    """Yield `count` tables that a model invents, each about another topic.

    Arguments:
        model: invents the tables.
        count: of tables.
        seed: another one gives other topics and sizes.
        language: of headings and cells; `both` alternates, `auto` is English.
    """
    orders = {name: list(range(len(topics(name)))) for name in LANGUAGES}
    for name, order in orders.items():
        seeded_random(f"topics/{name}", seed=seed).shuffle(order)
    for number in range(count):
        table_language = spoken(language, number, ())
        rng = seeded_random(f"invented/{number}", seed=seed)
        rows, columns = rng.randint(*_REQUESTED_ROWS), rng.randint(*_REQUESTED_COLUMNS)
        topic = topics(table_language)[orders[table_language][number % len(orders[table_language])]]
        step = ask_for_table(topic, number + 1, rows, columns, language=table_language, model=model)
        # The name becomes a file name, so it does not come from the model.
        yield TableSource(f"invented-{number + 1}", read_table, step)


def read_table(reply: str) -> Table:
    """Return the table of a reply. Raises `UnfitError` for an invalid table or size."""
    try:
        return _table(reply)
    except RefusedError as error:
        raise UnfitError(f"invented: {error.reason}") from None


def _table(reply: str) -> Table:
    content = read_object(reply, ["title", "header", "rows"], "reply is not a table")
    header, rows = content["header"], content["rows"]
    if not isinstance(header, list) or not isinstance(rows, list):
        raise RefusedError("reply is not a table")
    if len(header) not in _COLUMNS or len(rows) not in _ROWS:
        raise RefusedError("table is too small or too large")
    if any(not isinstance(row, list) or len(row) != len(header) for row in rows):
        raise RefusedError("rows of unequal length")
    title = plain_text(content["title"], _LONGEST["title"], "title")
    names = tuple(plain_text(name, _LONGEST["heading"], "heading") for name in header)
    if len(set(map(plain_question, names))) < len(names):
        raise RefusedError("two columns with one name")
    cells = tuple(tuple(map(_cell, row)) for row in rows)
    if any(is_summary(str(cell)) for row in (names, *cells) for cell in row):
        raise RefusedError("summary row or column")
    return Table(names, cells, title)


def _cell(cell: object) -> str | int | float:
    if isinstance(cell, float) and not math.isfinite(cell):
        raise RefusedError("cell is neither text nor a number")
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        plain_text(str(cell), _LONGEST["cell"], "cell")
        return cell
    return plain_text(cell, _LONGEST["cell"], "cell")
