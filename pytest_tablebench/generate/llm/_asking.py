"""What all makers share that ask models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_tablebench.errors import ModelError, TableError
from pytest_tablebench.generate.llm.replies import RefusedError
from pytest_tablebench.generate.rules import Maker
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.tables.table import Table

ReplyTo = Callable[[Ask], str | None]
"""Gives a model's reply; None: it was not asked yet. Raises `ModelError` where there is none."""


class AskingMaker(Maker):
    """Makes questions of one table after the other, as far as models have been asked.

    It sends no request: `reply_to` gives replies. `look` collects the requests that a table still
    needs; the caller sends them, and calls `look` again.
    """

    def __init__(self, reply_to: ReplyTo) -> None:
        super().__init__()
        self.further: list[tuple[Ask, int]] = []
        """What may be asked when replies are there: a stand-in, and how many of it."""
        self._reply_to = reply_to

    @contextmanager
    def _counted(self, missing: str = "no reply") -> Iterator[None]:
        """Count why a reply, or a question, is not taken that is asked for or read in here."""
        try:
            yield
        except RefusedError as error:
            self.tally.rejected[error.reason] += 1
        except ModelError as error:
            self.tally.rejected[f"{missing}: {error.reason}"] += 1

    def look(self, table: Table) -> None:
        """Go through a table for what has to be asked about it."""
        made = self.make(table, None)
        for _ in made[1] if made is not None else ():
            pass


def shown_whole(table: Table, show: Callable[[Table], str], longest: int) -> str:
    """Return a table as models are shown it, of at most `longest` characters.

    Raises `RefusedError` for one that is left out.
    """
    if not table.rows or not table.header:
        raise RefusedError("too small")
    try:
        table.require_rectangular("a question")
        shows = show(table)
    except TableError:
        raise RefusedError("cannot be shown") from None
    if len(shows) > longest:
        raise RefusedError("too long")
    return shows
