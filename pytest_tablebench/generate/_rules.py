"""Generating questions: draw, answer, check a second time, put into words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.generate._answer import answer
from pytest_tablebench.generate._check import verify
from pytest_tablebench.generate._draw import Facts, draw
from pytest_tablebench.generate._plan import KINDS, AmbiguousError, Plan, Question
from pytest_tablebench.generate._view import View
from pytest_tablebench.generate._wording import word
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

_DRAWS = 60
"""Draws of one kind before a table is taken to have no further question of it."""

_LONGEST_ID = 12


def generate_questions(
    table: Table,
    *,
    seed: int = 0,
    per_table: int = 6,
    kinds: Sequence[str] | None = None,
) -> list[Question]:
    """Generate up to `per_table` questions about a table, each answered in two ways.

    Arguments:
        table: its `name` becomes the first part of the questions' ids.
        seed: another seed gives other questions; the same gives the same.
        per_table: most questions; a table that allows fewer gives fewer, possibly none.
        kinds: kinds to ask, in the order they are tried, over and over until there are
            enough; by default all of `KINDS` in an order drawn with the seed.

    Raises `TableError` for ragged rows and `CheckError` if the two ways disagree.
    """
    if unknown := sorted(set(kinds or ()) - set(KINDS)):
        raise SettingsError(f"unknown kind of question {unknown[0]!r}; kinds: {', '.join(KINDS)}")
    table_id = _table_id(table)
    if kinds is None:
        kinds = seeded_random(f"{table_id}/kinds", seed=seed).sample(KINDS, len(KINDS))
    try:
        facts = Facts.of(View.of(table))
    except AmbiguousError:
        return []
    streams = {kind: _questions(kind, facts, table, table_id, seed) for kind in kinds}
    questions: list[Question] = []
    while streams and len(questions) < per_table:
        for kind in list(streams):
            question = next(streams[kind], None)
            if question is None:
                del streams[kind]
            elif len(questions) < per_table:
                questions.append(question)
    return questions


def _questions(
    kind: str, facts: Facts, table: Table, table_id: str, seed: int
) -> Iterator[Question]:
    """Yield a kind's questions one after the other; each depends on the seed and its number."""
    rng = seeded_random(f"{table_id}/{kind}", seed=seed)
    known: set[Plan] = set()
    while True:
        for _ in range(_DRAWS):
            plan = draw(kind, facts, rng)
            if plan is None or plan in known:
                continue
            try:
                answers = answer(plan, table)
            except AmbiguousError:
                continue
            break
        else:
            return
        verify(plan, table, answers)
        known.add(plan)
        text = word(plan, facts.view, rng)
        yield Question(f"{table_id}-{kind}-{len(known)}", kind, text, answers, table_id, plan)


def _table_id(table: Table) -> str:
    """Return a short ASCII name for ids: the table's own, cut, or a digest of its content."""
    slug = re.sub(r"[^a-z0-9]+", "-", (table.name or "").casefold()).strip("-")
    if slug and len(slug) <= _LONGEST_ID:
        return slug
    content = repr((table.name, table.header, table.rows)).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(content).hexdigest()
    return f"{slug[: _LONGEST_ID - 7]}-{digest[:6]}".strip("-")
