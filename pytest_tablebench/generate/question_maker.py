"""The base of all ways of making questions: converse with models about a table, then make pairs.

A conversation is a generator that yields steps and receives their outcomes, like strategies and
judged metrics. It may also yield a list of conversations, which run concurrently; then it receives
the list of their values, with the exception in place of a value for each that failed.
"""

from __future__ import annotations

import hashlib
import tomllib
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from typing import Any, TypeVar

from pytest_tablebench.errors import ModelError
from pytest_tablebench.generate.pair import NothingError, Pair, RejectedError
from pytest_tablebench.metrics.chinese import is_chinese
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.tables.table import Table

LANGUAGES = ("en", "zh")

_DRAWS = 6
"""Rejected draws of one kind after which it is dropped for a table."""

Value = TypeVar("Value")

Conversation = Generator[Any, Any, Value]
"""Yields a step, or a list of conversations, and returns a value."""

TableQuestions = tuple[str, Iterator[Pair]]
"""The digest of a table, and its questions."""

Finish = Callable[[int | None], TableQuestions]
"""Makes at most the given number of questions of a table. Raises `RejectedError` without any."""


@cache
def data_file(name: str) -> dict[str, Any]:
    """Return a TOML file of this package, such as `rules/en.toml`."""
    return tomllib.loads((files(__package__) / name).read_text(encoding="utf-8"))


def digest_of(*content: object) -> str:
    """Return 16 hexadecimal digits that identify the content."""
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def spoken(language: str, number: int, headings: Iterable[object]) -> str:
    """Return the language of a question; `both` alternates, `auto` follows the headings."""
    if language == "both":
        return LANGUAGES[number % len(LANGUAGES)]
    if language == "auto":
        return "zh" if any(is_chinese(str(name)) for name in headings) else "en"
    return language


def shares_of(count: int, names: Sequence[str]) -> dict[str, int]:
    """Distribute a number of questions evenly over kinds; kinds without a question are left out."""
    each, rest = divmod(count, len(names) or 1)
    shares = {name: each + (index < rest) for index, name in enumerate(names)}
    return {name: share for name, share in shares.items() if share}


def reply_text(step: Ask) -> Conversation[str]:
    """Send one request; return the text of the reply."""
    reply = yield step
    text: str = reply.text
    return text


def values_of(outcomes: Iterable[Value | Exception]) -> list[Value]:
    """Return the values of conversations. Raises the first of their exceptions."""
    values = []
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
        values.append(outcome)
    return values


@dataclass
class Tally:
    """Counts of accepted questions and tables, and of rejected ones by reason.

    Arguments:
        recipes: accepted questions by recipe.
        verdicts: answers yes and no, by recipe.
        rejected: rejected questions by reason.
        tables: tables that are `used`, or left out by reason.
        course: further events, by name.
        exchanged: twins by the kind of exchanged parts.
    """

    recipes: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    course: Counter[str] = field(default_factory=Counter)
    exchanged: Counter[str] = field(default_factory=Counter)

    @property
    def accepted(self) -> int:
        """Number of accepted questions."""
        return sum(self.recipes.values())

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        for name, counts in vars(other).items():
            getattr(self, name).update(counts)

    def reject(self, error: RejectedError | ModelError, missing: str = "no reply") -> None:
        """Count a rejected question; `missing` is the reason if the model did not reply."""
        is_missing = isinstance(error, ModelError)
        self.rejected[f"{missing}: {error.reason}" if is_missing else error.reason] += 1

    def state(self) -> dict[str, dict[str, int]]:
        """Return all counts as JSON values."""
        return {name: dict(counts) for name, counts in vars(self).items()}

    @classmethod
    def of(cls, state: Mapping[str, Mapping[str, int]]) -> Tally:
        """Return the tally with this `state`."""
        return cls(**{name: Counter(counts) for name, counts in state.items()})


class QuestionMaker:
    """Makes questions of one table after the other; its only state is the tally.

    Attributes:
        reads_structure: whether it takes tables with merged cells or several header lines.
        together: how many consecutive questions form a unit; their order is kept.
    """

    reads_structure = False
    together = 1

    def __init__(self) -> None:
        self.tally = Tally()

    @abstractmethod
    def converse(self, table: Table) -> Conversation[Finish]:
        """Converse with models about a table, perhaps before earlier tables are finished.

        It must not change anything that other tables use; the returned function adds the counts.
        Raises `RejectedError` for a table that is left out.
        """

    def state(self) -> dict[str, dict[str, int]]:
        """Return the counts."""
        return self.tally.state()

    def resume(self, state: Mapping[str, Mapping[str, int]]) -> None:
        """Continue from a state."""
        self.tally = Tally.of(state)


class ComputedQuestions(QuestionMaker):
    """Makes questions of one table after the other without a model, with `make`.

    Arguments:
        seed: another one gives other questions; the same one gives the same for the same tables.
        per_table: most questions of one table.
        language: `en`, `zh`, `both` alternating, or `auto` for the language of the headings.
    """

    def __init__(self, *, seed: int = 0, per_table: int = 20, language: str = "auto") -> None:
        super().__init__()
        self._seed, self._per_table, self._language = seed, per_table, language

    def converse(self, table: Table) -> Conversation[Finish]:
        """Return `make` for the table, without a request to a model."""
        return partial(self.make, table)
        yield

    @abstractmethod
    def make(self, table: Table, most: int | None) -> TableQuestions:
        """Return a digest of the table and its questions, at most `most`.

        Raises `RejectedError` for a table that is left out.
        """

    def drawn(
        self,
        kinds: Iterable[str],
        most: int | None,
        choose: Callable[[dict[str, int]], str],
        draw: Callable[[str], Pair],
    ) -> Iterator[Pair]:
        """Yield questions of a table: of the kind that `choose` returns among those that are left.

        `draw` returns a question of a kind, or raises `RejectedError`.
        """
        draws = dict.fromkeys(kinds, _DRAWS)
        left = self._per_table if most is None else min(most, self._per_table)
        while left and draws:
            kind = choose(draws)
            try:
                pair = draw(kind)
            except RejectedError as error:
                if error.reason:
                    self.tally.reject(error)
                draws[kind] -= 1
                if not draws[kind] or isinstance(error, NothingError):
                    del draws[kind]
            else:
                self.tally.recipes[kind] += 1
                left -= 1
                yield pair
        self.tally.tables["used"] += 1


class CheckedQuestions(QuestionMaker):
    """The pipeline of all ways that ask models: propose questions, check each, keep the good ones.

    `propose` and `check` are conversations, which may run before earlier tables are finished.
    `keep` and `close` are called when the turn of the table comes.

    Attributes:
        missing: the reason for a rejected question whose check got no reply.
    """

    missing = "no reply"

    @abstractmethod
    def propose(self, table: Table, tally: Tally) -> Conversation[tuple[str, list[Any]]]:
        """Return a digest of the table and the proposals; count events in its tally.

        Raises `RejectedError` for a table that is left out.
        """

    def check(self, proposal: Any, course: Counter[str]) -> Conversation[Any]:  # noqa: ARG002
        """Examine a proposal, if people do not do it later; count events.

        Raises `RejectedError`, and `ModelError`.
        """
        return proposal
        yield

    def keep(self, proposal: Any, checked: Any) -> Pair:  # noqa: ARG002
        """Return the question of a checked proposal. Raises `RejectedError`."""
        pair: Pair = checked
        return pair

    def close(self, proposal: Any, checked: Any, pair: Pair | None) -> Iterable[Pair]:  # noqa: ARG002
        """Return the questions to write; `pair` is None if the checked proposal is not kept."""
        return [] if pair is None else [pair]

    def converse(self, table: Table) -> Conversation[Finish]:
        """Let models propose questions about a table, and check them."""
        tally = Tally()
        digest, proposals = yield from self.propose(table, tally)
        outcomes = yield [self.check(proposal, tally.course) for proposal in proposals]
        checked = list(zip(proposals, outcomes, strict=True))
        return lambda most: (digest, self._kept(checked, tally, most))

    def _kept(
        self,
        checked: Iterable[tuple[Any, Any]],
        tally: Tally,
        most: int | None,
    ) -> Iterator[Pair]:
        self.tally.add(tally)
        count = 0
        for proposal, outcome in checked:
            if isinstance(outcome, RejectedError | ModelError):
                self.tally.reject(outcome, self.missing)
                continue
            pair = None
            try:
                pair = self.keep(proposal, outcome)
                if count == most:
                    pair = None
                    raise RejectedError("more than asked for")
            except RejectedError as error:
                self.tally.reject(error)
            else:
                count += 1
                kind = pair.tags.get("subtask", pair.tags.get("task", pair.metric or "other"))
                self.tally.recipes[kind] += 1
            yield from self.close(proposal, outcome, pair)
        self.tally.tables["used"] += 1
