"""The possible truths of each example, as rows of arrays: the data of the model in `agreement`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_tablebench.util.arrays import np

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
        gold: the published answer.
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
        place = {voter: number for number, voter in enumerate(voters)}
        wrong = min(max(len({ballot.gold for ballot in ballots}) - 1, 1), _MOST_WRONG)
        return cls.joined(
            [_rows_of(ballot, place, wrong, number) for number, ballot in enumerate(ballots)],
            numbered=True,
        )

    @classmethod
    def joined(cls, parts: Sequence[TruthRows], *, numbered: bool = False) -> TruthRows:
        """Return all rows; without `numbered` the examples of each part count from 0."""
        starts, examples, row_count, count = [], [], 0, 0
        for part in parts:
            starts.append(part.start + row_count)
            examples.append(part.example + (0 if numbered else count))
            row_count, count = row_count + len(part.example), count + len(part.start)
        names = ("truth", "right", "usual", "other", "is_gold", "prior", "wrong")
        joined = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        return cls(np.concatenate(starts), np.concatenate(examples), *joined)


def _rows_of(ballot: Ballot, place: Mapping[str, int], wrong: int, number: int) -> TruthRows:
    options = options_of(ballot)
    count = len(options)
    column = {answer: index for index, answer in enumerate(options)}
    # The last option means any answer that no voter gave.
    shares = np.zeros((count + 1, len(place)))
    present = np.zeros(len(place))
    for voter, votes in ballot.votes.items():
        present[place[voter]] = 1
        for answer, share in votes.items():
            if answer in column:
                shares[column[answer], place[voter]] += share
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
        np.full(len(pairs), number),
        truth,
        right,
        usual,
        present - right - usual,
        truth == 0,
        np.log(truths) + np.log(mistakes),
        np.full(len(pairs), float(k)),
    )
