"""What all makers share that ask models."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from pytest_tablebench.errors import ModelError, TableError
from pytest_tablebench.generate.llm.replies import RefusedError
from pytest_tablebench.generate.rules import Maker
from pytest_tablebench.metrics.steps import Ask, Step
from pytest_tablebench.tables.table import Table

Value = TypeVar("Value")


class Follow(Protocol):
    """Drives a conversation, whose replies hold no thoughts, to its value.

    Returns None until all its steps have outcomes. Raises `ModelError` if a step has none.
    """

    def __call__(self, conversation: Generator[Step, Any, Value], /) -> Value | None: ...


def reply_text(step: Ask) -> Generator[Step, Any, str]:
    """Ask one question; the text of the reply is the value."""
    reply = yield step
    text: str = reply.text
    return text


class AskingMaker(Maker):
    """Makes questions of one table after the other, as far as models have been asked.

    It sends no request: `follow` gives replies. `look` collects the requests that a table still
    needs; the caller sends them, and calls `look` again.
    """

    def __init__(self, follow: Follow) -> None:
        super().__init__()
        self.further: list[tuple[Ask, int]] = []
        """What may be asked when replies are there: a stand-in, and how many of it."""
        self._follow = follow

    def _reply_to(self, step: Ask) -> str | None:
        """Return the reply to one question; None until it has one. Raises `ModelError`."""
        return self._follow(reply_text(step))

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
