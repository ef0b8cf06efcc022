"""The examples of an audit: question, tables, gold, and the answers of each voter.

A voter is a model with a strategy, and with a seed if its runs differ in it. All cases of a voter
about an example, in whatever serialization, share its one vote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_tablebench.audit.suspects import AnswerGroup
from pytest_tablebench.datasets import Example
from pytest_tablebench.metrics.normal_form import answer_text, joined_form
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.arrays import np

FEWEST_VOTERS = 2
"""Voters with an answer from which it is compared with the gold in scale, or sought in the table.

The answer of one model alone says nothing, because it may be a bad model.
"""


@dataclass(frozen=True)
class OtherAnswer:
    """A gold answer that the same question has in another place.

    Arguments:
        place: where it is, for readers: a file, a run or another example.
        form: its `normal_form`.
    """

    place: str
    answer: str
    form: str


@dataclass
class AuditedExample:
    """An example with the answers of all runs.

    Arguments:
        example: as the dataset has it, before perturbations.
        digest: its `row_digest`.
        votes: by voter, the number of its cases by the form of the answer. every answer that
            the metric counts as right has the form `gold_form`.
        texts: the usual spelling of each form.
        programs: by voter, the number of answers that an executed program printed, by form.
        metric: the registered name of the metric that scores the answers.
        others: gold answers of the same question elsewhere.
    """

    dataset: str
    example: Example
    digest: str
    votes: dict[str, Counter[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    programs: dict[str, Counter[str]] = field(default_factory=dict)
    metric: str | None = None
    others: list[OtherAnswer] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """The dataset and the id."""
        return self.dataset, self.example.id

    @cached_property
    def gold(self) -> tuple[str, ...]:
        """The published answers: the value for datasets whose reference is a program."""
        value = self.example.context.get("answer")
        if isinstance(value, str) and value and self.example.references != (value,):
            return (value,)
        return self.example.references

    @cached_property
    def gold_form(self) -> str:
        """The normal form of the gold."""
        return joined_form(self.gold)

    @cached_property
    def gold_text(self) -> str:
        """The gold as one text."""
        return answer_text(self.gold)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables of the example."""
        return tuple(value for value in self.example.inputs.values() if isinstance(value, Table))

    @cached_property
    def further_text(self) -> str:
        """The inputs that are neither tables nor the question, such as paragraphs of a report."""
        inputs = self.example.inputs.values()
        texts = [value for value in inputs if isinstance(value, str)]
        return "\n".join(text for text in texts if text != self.example.question)

    @property
    def groups(self) -> tuple[AnswerGroup, ...]:
        """Groups of equal answers: those with most cases first, then by their text."""
        cases: Counter[str] = Counter()
        voters: dict[str, list[str]] = {}
        for voter, counts in sorted(self.votes.items()):
            cases.update(counts)
            for form in counts:
                voters.setdefault(form, []).append(voter)
        texts = {**self.texts, self.gold_form: self.gold_text}
        groups = [
            AnswerGroup(
                texts.get(form, form), count, tuple(voters[form]), is_gold=form == self.gold_form
            )
            for form, count in cases.items()
        ]
        return tuple(sorted(groups, key=lambda group: (-group.cases, group.answer)))


if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_OPTIONS = 8
"""Answers to one question that are separated; rarer ones count as different mistakes."""

_MOST_WRONG = 50
"""The largest K. It is the number of different golds of the dataset, minus one."""

_TINY = 1e-9


@dataclass(frozen=True)
class Ballot:
    """The votes about one example.

    Arguments:
        votes: by voter, the share of its cases with each answer; the shares add up to 1.
    """

    gold: str
    votes: Mapping[str, Mapping[str, float]]


def options_of(ballot: Ballot) -> list[str]:
    """Return the gold and the most frequent other answers, in the order of their texts."""
    shares: Counter[str] = Counter()
    for votes in ballot.votes.values():
        shares.update(votes)
    del shares[ballot.gold]
    frequent = sorted(shares, key=lambda answer: (-shares[answer], answer))[:_MOST_OPTIONS]
    return [ballot.gold, *sorted(frequent)]


@dataclass(frozen=True)
class TruthRows:
    """One row for each possible pair of truth and usual mistake of each example.

    Arguments:
        start: the first row of each example.
        example: the number of the example of each row.
        truth: the number of the true option of each row; the number of options for none of them.
        right: by row and voter, the share of the voter's cases with the truth.
        usual: the same of the usual mistake.
        other: the same of other answers.
        is_gold: by row, whether the gold is the truth.
        prior: the logarithm of the probability of truth and mistake before any vote.
        wrong: K, by row.
    """

    start: NDArray[np.int64]
    example: NDArray[np.int64]
    truth: NDArray[np.int64]
    right: Floats
    usual: Floats
    other: Floats
    is_gold: NDArray[np.bool_]
    prior: Floats
    wrong: Floats

    @classmethod
    def of(cls, ballots: Sequence[Ballot], voters: Sequence[str]) -> TruthRows:
        """Return the rows of some examples, with a column for each voter."""
        index = {voter: number for number, voter in enumerate(voters)}
        wrong = min(max(len({ballot.gold for ballot in ballots}) - 1, 1), _MOST_WRONG)
        return cls.joined([_rows_of(ballot, index, wrong) for ballot in ballots])

    @classmethod
    def joined(cls, parts: Sequence[TruthRows]) -> TruthRows:
        """Return the rows of all parts; the examples of each part count from 0."""
        starts, examples, row_count, count = [], [], 0, 0
        for part in parts:
            starts.append(part.start + row_count)
            examples.append(part.example + count)
            row_count, count = row_count + len(part.example), count + len(part.start)
        names = ("truth", "right", "usual", "other", "is_gold", "prior", "wrong")
        joined = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        return cls(np.concatenate(starts), np.concatenate(examples), *joined)


def _rows_of(ballot: Ballot, column_of: Mapping[str, int], wrong: int) -> TruthRows:
    options = options_of(ballot)
    count = len(options)
    column = {answer: index for index, answer in enumerate(options)}
    # The last option means any answer that no voter gave.
    shares = np.zeros((count + 1, len(column_of)))
    present = np.zeros(len(column_of))
    for voter, votes in ballot.votes.items():
        present[column_of[voter]] = 1
        for answer, share in votes.items():
            if answer in column:
                shares[column[answer], column_of[voter]] += share
    k = max(wrong, count - 1)
    pairs = [(t, m) for t in range(count + 1) for m in range(count + 1) if t != m or t == count]
    truth, mistake = np.array(pairs).T
    right, usual = shares[truth], shares[mistake]
    # Log-probabilities: of a truth among K + 1 answers, and of a mistake among the K others.
    hidden = k + 1 - count
    truths = np.where(truth < count, 1, max(hidden, _TINY)) / (k + 1)
    unseen = np.where(truth < count, hidden, max(hidden - 1, 0))
    mistakes = np.where(mistake < count, 1, np.maximum(unseen, _TINY)) / k
    return TruthRows(
        np.array([0]),
        np.zeros(len(pairs), dtype=np.int64),
        truth,
        right,
        usual,
        present - right - usual,
        truth == 0,
        np.log(truths) + np.log(mistakes),
        np.full(len(pairs), float(k)),
    )
