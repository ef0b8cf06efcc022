"""How likely each gold answer is wrong, from the answers of several voters: a model of accuracies.

The model is a variant of Dawid and Skene, "Maximum likelihood estimation of observer error-rates
using the EM algorithm", Applied Statistics 28(1), 1979. Answers are open text, so a voter has
accuracies in place of a matrix of errors, and the gold is a voter too. Voters err together, which
has three causes in the model:

- Some questions are hard for all. Each example has a latent difficulty, as in Whitehill and others,
  "Whose vote should count more", NIPS 2009, with `LEVELS` levels here.
- Some mistakes suggest themselves. Each example has a latent usual mistake, and a voter that is
  wrong makes it with probability s.
- Some voters resemble each other, as two strategies of one model do. The weight of voter v is
  1 / (1 + sum of k(u, v) over the other voters u), so that n equal voters count as one. k is the
  excess of equal mistakes, as in Cohen's kappa: (d - e) / (1 - e) with d the share of equal answers
  among the examples where both differ from the gold, less one standard error, and e the median of
  that share over all pairs of voters, between the one at the prior of s below and
  `_MOST_SUGGESTED`. Each example counts by the probability that its gold is right, because equal
  answers are right where the gold is wrong.

For an example with truth t, usual mistake m, level q and K possible wrong answers:

    P(gold) = r if the gold is t, else (1 - r) / K
    P(vote of v is t) = a(v, q)
    P(vote of v is m) = (1 - a(v, q)) (s + (1 - s) / K)
    P(vote of v is another) = (1 - a(v, q)) (1 - s) / K

The truth is one of K + 1 answers, all equally likely before any vote: one of the observed answers,
or none of them. The usual mistake is one of the K others. If a voter's cases about one example
differ, each logarithm is weighted by the shares of the answers, so that all its cases together have
the weight of one vote. EM estimates a, s, the share of each level, and r, with priors; first over
all datasets, then within each dataset with these estimates as priors.

Limits: a mistake that the gold shares with the voters is invisible. If far more golds are wrong
than the prior says, the estimate of r stays a fifth too low (see benchmarks/RESULTS.md). Where only
one answer is wrong (K = 1), equal mistakes say nothing and other datasets decide the weights. With
two voters, the levels rest on the priors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_tablebench.audit._ballots import Ballot, TruthRows, options_of
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVELS = 3
"""The number of levels of difficulty."""

_STEP = 1.5
"""The difference of neighbouring levels before estimation, in log-odds."""

_ROUNDS = 30
_ALIKE = 0.9
"""The share of equal mistakes of two voters of one model, before estimation."""

_MOST_SUGGESTED = 0.6
"""The largest share of equal mistakes that the questions explain, rather than like voters."""

_WEIGHINGS = 8
"""How often the weights follow the estimates. They start cautious, so equal voters stay equal."""

_GOLD_STRENGTH = 100.0
"""How many examples the prior of the share of wrong golds counts as."""

VOTERS_TO_ESTIMATE = 3
"""With fewer voters the share of wrong golds stays at its prior."""

_START_STRENGTH, _POOLED_STRENGTH = 4.0, 20.0
"""How many examples the priors of accuracies count as: at the start, and from all datasets."""

_USUAL_MISTAKE, _USUAL_STRENGTH = 0.5, 20.0


@dataclass(frozen=True)
class Doubt:
    """What the votes say about a gold.

    Arguments:
        log_odds: the logarithm of the odds that the gold is wrong, after all votes.
        weight: `log_odds` minus the log-odds before the votes.
        answer: the likeliest of the other answers; None without any.
    """

    log_odds: float
    weight: float
    answer: str | None


@dataclass(frozen=True)
class VoteEstimates:
    """The estimates of one dataset.

    Arguments:
        doubts: in the order of the ballots.
        accuracy: by voter, the mean over the levels.
        wrong_share: of the golds.
        weights: of the voters; 1 for a voter that resembles no other.
    """

    doubts: Sequence[Doubt]
    accuracy: Mapping[str, float]
    wrong_share: float
    weights: Mapping[str, float]


def agreement_of(
    datasets: Mapping[str, Sequence[Ballot]],
    *,
    prior: float = 0.05,
    estimate: bool = True,
    models: Mapping[str, str] | None = None,
) -> dict[str, VoteEstimates]:
    """Return the estimates for each dataset.

    Arguments:
        datasets: the ballots by dataset.
        prior: the share of wrong golds before any vote, between 0 and 1.
        estimate: whether EM estimates that share; else it stays at `prior`.
        models: the model of each voter; voters of one model are expected to resemble each other.
    """
    voters = sorted({v for ballots in datasets.values() for b in ballots for v in b.votes})
    if not voters:
        return {
            name: VoteEstimates([Doubt(_logit(prior), 0.0, None)] * len(ballots), {}, prior, {})
            for name, ballots in datasets.items()
        }
    estimate = estimate and len(voters) >= VOTERS_TO_ESTIMATE
    rows = {name: TruthRows.of(ballots, voters) for name, ballots in datasets.items() if ballots}
    pooled = TruthRows.joined(list(rows.values()))
    names = [(models or {}).get(voter, voter) for voter in voters]
    are_alike = np.array([[first == second for second in names] for first in names])
    start = _VoteModel.start(pooled, prior, are_alike)
    shared = _fitted(pooled, start, start, estimate=estimate)
    for _ in range(_WEIGHINGS if estimate else 0):
        are_right = _right_golds(pooled, _posterior(pooled, shared.likelihood(pooled)))
        shared = replace(shared, weights=_weights(pooled, are_right, are_alike))
        shared = _fitted(pooled, shared, start, estimate=estimate)
    results = {}
    for name, ballots in datasets.items():
        model = shared
        if name in rows and len(rows) > 1:
            model = _fitted(rows[name], shared, shared.as_prior(), estimate=estimate)
        doubts = _doubts(rows[name], model, ballots) if name in rows else []
        accuracy = (model.accuracy @ model.levels).tolist()
        results[name] = VoteEstimates(
            doubts,
            dict(zip(voters, accuracy, strict=True)),
            1 - model.gold,
            dict(zip(voters, model.weights.tolist(), strict=True)),
        )
    return results


def _logit(share: float) -> float:
    return float(np.log(share) - np.log1p(-share))


@dataclass(frozen=True)
class _VoteModel:
    """The parameters. As a prior, the counts say how many examples it counts as.

    Arguments:
        gold: r.
        accuracy: a, by voter and level.
        levels: the share of each level.
        usual: s.
        weights: by voter.
        strength: of the accuracies.
    """

    gold: float
    accuracy: Floats
    levels: Floats
    usual: float
    weights: Floats
    strength: float

    @classmethod
    def start(cls, rows: TruthRows, prior: float, are_alike: NDArray[np.bool_]) -> _VoteModel:
        """Return the model with the share of the gold as each voter's accuracy."""
        golds = rows.start
        answered = (rows.right + rows.usual + rows.other)[golds].sum(axis=0)
        shares = (rows.right[golds].sum(axis=0) + 3) / (answered + 5)
        steps = _STEP * (np.arange(LEVELS)[::-1] - (LEVELS - 1) / 2)
        odds = np.log(shares / (1 - shares))[:, None] + steps
        accuracy = 1 / (1 + np.exp(-odds))
        levels = np.full(LEVELS, 1 / LEVELS)
        weights = _weights(rows, np.full(len(golds), 1 - prior), are_alike)
        return cls(1 - prior, accuracy, levels, _USUAL_MISTAKE, weights, _START_STRENGTH)

    def as_prior(self) -> _VoteModel:
        """Return the model as the prior of a dataset."""
        return replace(self, strength=_POOLED_STRENGTH)

    def likelihood(self, rows: TruthRows) -> Floats:
        """Return the logarithm of P(truth, mistake, level, gold, votes), by row and level."""
        accuracy = np.clip(self.accuracy, 1e-4, 1 - 1e-4)
        rest = (1 - self.usual) / rows.wrong
        gold = np.log(np.where(rows.is_gold, self.gold, (1 - self.gold) / rows.wrong))
        usual, other = rows.usual @ self.weights, rows.other @ self.weights
        alone = rows.prior + gold + usual * np.log(self.usual + rest) + other * np.log(rest)
        weighted: Floats = (rows.right * self.weights) @ np.log(accuracy)
        weighted += ((rows.usual + rows.other) * self.weights) @ np.log1p(-accuracy)
        return alone[:, None] + weighted + np.log(self.levels)


def _posterior(rows: TruthRows, likelihood: Floats) -> Floats:
    highest = np.maximum.reduceat(likelihood.max(axis=1), rows.start)[rows.example]
    weights: Floats = np.exp(likelihood - highest[:, None])
    total = np.add.reduceat(weights.sum(axis=1), rows.start)[rows.example]
    return np.asarray(weights / total[:, None])


def _fitted(rows: TruthRows, model: _VoteModel, prior: _VoteModel, *, estimate: bool) -> _VoteModel:
    for _ in range(_ROUNDS):
        posterior = _posterior(rows, model.likelihood(rows))
        model = _maximized(rows, model, prior, posterior, estimate=estimate)
    return model


def _maximized(
    rows: TruthRows, model: _VoteModel, prior: _VoteModel, posterior: Floats, *, estimate: bool
) -> _VoteModel:
    present = rows.right + rows.usual + rows.other
    right = rows.right.T @ posterior + prior.strength * prior.accuracy
    answered = present.T @ posterior + prior.strength
    levels = posterior.sum(axis=0) + prior.strength * prior.levels
    by_row = posterior.sum(axis=1)
    rest = (1 - model.usual) / rows.wrong
    of_usual = model.usual / (model.usual + rest)
    # Where only one answer is wrong, votes do not show s.
    counts = np.where(rows.wrong > 1, by_row, 0)
    made = counts @ (rows.usual * of_usual[:, None]).sum(axis=1)
    wrong = counts @ (rows.usual + rows.other).sum(axis=1)
    usual = (made + _USUAL_STRENGTH * prior.usual) / (wrong + _USUAL_STRENGTH)
    gold = model.gold
    if estimate:
        kept = float(by_row[rows.is_gold].sum()) + _GOLD_STRENGTH * prior.gold
        gold = kept / (len(rows.start) + _GOLD_STRENGTH)
    return replace(
        model,
        gold=gold,
        accuracy=right / answered,
        levels=levels / levels.sum(),
        usual=float(usual),
    )


def _right_golds(rows: TruthRows, posterior: Floats) -> Floats:
    """Return the probability that the gold is right, by example."""
    shares = np.where(rows.is_gold, posterior.sum(axis=1), 0)
    return np.asarray(np.add.reduceat(shares, rows.start))


def _weights(rows: TruthRows, are_right: Floats, are_alike: NDArray[np.bool_]) -> Floats:
    """Return the weight of each voter: 1 divided by the number of voters that it resembles.

    `are_right` is the probability that each gold is right; `are_alike` is True for two voters of
    one model.
    """
    gold = rows.is_gold & (rows.wrong > 1)
    starts = rows.start[gold[rows.start]]
    count = rows.right.shape[1]
    if not len(starts):
        return np.asarray(1 / (are_alike * _ALIKE + np.eye(count) * (1 - _ALIKE)).sum(axis=0))
    rest = (1 - _USUAL_MISTAKE) / rows.wrong[starts]
    chance = float(np.mean((_USUAL_MISTAKE + rest) ** 2 + (rows.wrong[starts] - 1) * rest**2))
    wrong = (rows.usual + rows.other)[starts]
    both = wrong.T @ (wrong * are_right[rows.example[starts], None])
    # For the gold as the truth, each other option is the usual mistake of one row.
    same = rows.usual[gold].T @ (rows.usual[gold] * are_right[rows.example[gold], None])
    both = np.maximum(both, same)
    expected = np.where(are_alike, _ALIKE, chance) * _USUAL_STRENGTH
    share = (same + expected) / (both + _USUAL_STRENGTH)
    others = share[~np.eye(count, dtype=bool)]
    if len(others):
        chance = max(chance, min(float(np.median(others)), _MOST_SUGGESTED))
    error = np.sqrt(share * (1 - share) / (both + _USUAL_STRENGTH))
    excess = np.maximum((share - np.where(are_alike, 0, error) - chance) / (1 - chance), 0)
    np.fill_diagonal(excess, 1)
    return np.asarray(1 / excess.sum(axis=0))


def _doubts(rows: TruthRows, model: _VoteModel, ballots: Sequence[Ballot]) -> list[Doubt]:
    likelihood = np.logaddexp.reduce(model.likelihood(rows), axis=1)
    before = _logit(1 - model.gold)
    ends = [*rows.start.tolist()[1:], len(likelihood)]
    doubts = []
    for ballot, first, end in zip(ballots, rows.start.tolist(), ends, strict=True):
        options = options_of(ballot)
        truth = rows.truth[first:end]
        scores = [
            float(np.logaddexp.reduce(likelihood[first:end][truth == number]))
            for number in range(len(options) + 1)
        ]
        log_odds = float(np.logaddexp.reduce(scores[1:])) - scores[0]
        observed = scores[1:-1]
        answer = options[1 + int(np.argmax(observed))] if observed else None
        doubts.append(Doubt(log_odds, log_odds - before, answer))
    return doubts
