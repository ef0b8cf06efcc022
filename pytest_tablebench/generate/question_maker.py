"""What every way to questions is: it may ask models about a table, then makes questions of it.

Models are asked in conversations: generators that yield steps and are sent the outcomes, as
strategies and judged metrics do. A conversation may also yield a list of conversations, which go
on side by side; it is sent the list of their values, with the error of each that ended in one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_tablebench.errors import ModelError
from pytest_tablebench.generate.pair import Pair, RejectedError
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.tables.table import Table

Value = TypeVar("Value")

Conversation = Generator[Any, Any, Value]
"""Yields a step, or a list of conversations, and returns a value."""

TableQuestions = tuple[str, Iterator[Pair]]
"""The digest of a table, and its questions."""

Finish = Callable[[int | None], TableQuestions | None]
"""Makes the questions of a table, that many at most; None: the table is left out."""


def reply_text(step: Ask) -> Conversation[str]:
    """Ask one question; the text of the reply is the value."""
    reply = yield step
    text: str = reply.text
    return text


def values_of(outcomes: Iterable[Value | Exception]) -> list[Value]:
    """Return the values of conversations. Raises the first error that ended one."""
    values = []
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
        values.append(outcome)
    return values


@dataclass
class Tally:
    """Counts of what was made, and of what was not, by reason.

    Arguments:
        recipes: accepted questions by recipe.
        verdicts: by recipe, how often the answer was yes and no.
        rejected: questions that were not taken, by reason.
        tables: tables by what became of them: `used`, or why they were left out.
        course: further events on the way, by name.
    """

    recipes: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    course: Counter[str] = field(default_factory=Counter)

    @property
    def accepted(self) -> int:
        """Number of questions."""
        return sum(self.recipes.values())

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        for name, counts in vars(other).items():
            getattr(self, name).update(counts)

    def reject(self, error: RejectedError | ModelError, missing: str = "no reply") -> None:
        """Count a question that is not taken; `missing` says what a model did not give."""
        is_missing = isinstance(error, ModelError)
        self.rejected[f"{missing}: {error.reason}" if is_missing else error.reason] += 1

    def state(self) -> dict[str, dict[str, int]]:
        """Return all counts as JSON takes them."""
        return {name: dict(counts) for name, counts in vars(self).items()}

    @classmethod
    def of(cls, state: Mapping[str, Mapping[str, int]]) -> Tally:
        """Return the tally whose `state` this is."""
        return cls(**{name: Counter(counts) for name, counts in state.items()})


class QuestionMaker:
    """Makes questions of one table after the other, and counts them: that is all it remembers.

    Attributes:
        reads_structure: whether it takes tables with merged cells or several header lines.
        together: how many questions in a row are of use together alone; their order stays.
    """

    reads_structure = False
    together = 1

    def __init__(self) -> None:
        self.tally = Tally()

    @abstractmethod
    def converse(self, table: Table) -> Conversation[Finish]:
        """Ask models about a table, before questions of the tables before it are made.

        It changes nothing that other tables see: counts are added by the returned function.
        """

    @property
    def accepted(self) -> int:
        """Questions so far."""
        return self.tally.accepted

    def skip(self, reason: str) -> None:
        """Count a table that is left out."""
        self.tally.tables[reason] += 1

    def left_out(self, reason: str) -> Finish:
        """Return what counts a table that is left out, in its turn."""
        return lambda _: self.skip(reason)

    def state(self) -> dict[str, dict[str, int]]:
        """Return the counts."""
        return self.tally.state()

    def resume(self, state: Mapping[str, Mapping[str, int]]) -> None:
        """Continue from a state."""
        self.tally = Tally.of(state)
