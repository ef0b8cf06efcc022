"""The verdict of a watch after each look."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_tablebench.claims.drift._sequence import (
    Noise,
    NoiseMeter,
    deviation,
    drop_since,
    first_start,
    mean_bound,
)
from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats

Direction = Literal["drop", "rise"]

UNUSUAL = 2.576
"""The 99.5 % quantile of the normal distribution."""

MOST_MISSING = 0.2
"""The share of cases without an answer above which a look is not counted."""


@dataclass(frozen=True)
class DriftStanding:
    """The state of a watch after a look.

    `direction` is None while no drift is found; otherwise `drift` is the drop (negative for a
    rise) since the look `since`. `drop` is the mean drop of all looks, and
    `recent` the drop of the last look alone; `is_unusual` is whether the noise between the
    reference's repeats explains the latter in about 1 of 100 looks only.
    """

    recent: float
    drop: Estimate
    direction: Direction | None
    drift: Estimate | None
    is_unusual: bool
    since: int | None
    """The look from 0 at which the evidence of the drift begins."""


class DriftTest:
    """The sequential test of a model against its reference, over any number of looks.

    Null hypothesis: the model is unchanged, so each run over the canary, reference or look, draws
    the answers of a cluster from the same distribution, independently of other runs and clusters.
    Under it the sum of a look's scores differs from the reference's by the reference's error, at
    most `offset` with probability 1 - .03, and by noise of variance at most `variance`, with
    probability 1 - .01 (`NoiseMeter`); by Bennett's inequality each bet is then a nonnegative
    supermartingale, as is their mean, and by Ville's inequality it reaches 1 / error with at most
    that probability at any look (Howard, Ramdas, McAuliffe and Sekhon 2021, Annals of Statistics
    49; Waudby-Smith and Ramdas 2024, JRSS B 86). Bets begin at every look with errors that sum to
    .01, so a late drift is found too (Shin, Ramdas and Rinaldo 2023), and all errors sum to .05.

    The intervals are valid for a changed model whose noise is not larger than the measured one.

    Arguments:
        reference: scores in 0..1 by case and repeat, at least two repeats, all answered. The score
            of a run is the mean over clusters of the mean over their cases.
        clusters: the cluster of each case.
    """

    def __init__(self, reference: Floats, clusters: Sequence[Hashable]) -> None:
        self._means = reference.mean(axis=1)
        self._meter = NoiseMeter(reference, clusters)
        self._drops: list[float] = []
        self._is_unusual = False
        runs = np.array([self._meter.by_cluster(run) for run in reference.T])
        count = len(runs)
        # A quarter, the most that one run can add, keeps equal repeats from a spread of 0.
        variances = (((runs - runs.mean(axis=0)) ** 2).sum(axis=0) + 0.25) / count
        self._spread = float(np.sqrt(variances.sum() * (1 + 1 / count)))
        """The standard deviation of the difference of a run from the reference, as a sum."""

    @property
    def noise(self) -> Noise:
        """The bounds on the noise as of now."""
        return self._meter.noise

    def look(self, scores: Floats) -> None:
        """Add a look: a score per case, NaN without an answer, which counts as no difference."""
        self._meter.add(scores)
        drop = float(self._meter.by_cluster(self._means - scores).sum())
        self._drops.append(drop)
        self._is_unusual = abs(drop) > UNUSUAL * self._spread

    def alarm(self) -> tuple[Direction, int] | None:
        """Return the direction of a drift that the looks show and its first look, if any."""
        noise, drops = self.noise, np.array(self._drops)
        if (start := first_start(drops, noise)) is not None:
            return "drop", start
        return None if (start := first_start(-drops, noise)) is None else ("rise", start)

    def standing(self) -> DriftStanding:
        """Return the state after the last look. There must be one."""
        noise, drops = self.noise, np.array(self._drops)
        direction, start = self.alarm() or (None, None)
        return DriftStanding(
            recent=float(drops[-1]) / noise.n,
            drop=drop_since(drops, 0, noise),
            direction=direction,
            drift=None if start is None else drop_since(drops, start, noise),
            is_unusual=self._is_unusual,
            since=start,
        )


class AnswerTest:
    """The sequential test of answers that no repeat of the reference gave.

    For an unchanged model a new answer is at most as probable as one of the reference that no
    other repeat gave, because all runs are exchangeable. The bound of that rate takes the place of
    the offset in `DriftTest`; shares of events in 0..1 have a variance of at most their mean. It is
    a test of its own with an error of .05.

    Arguments:
        reference: a mark of each answer, by case and repeat.
        clusters: the cluster of each case.
    """

    def __init__(self, reference: Sequence[Sequence[int]], clusters: Sequence[Hashable]) -> None:
        self._reference = [set(row) for row in reference]
        lonely = np.array([np.mean([row.count(mark) == 1 for mark in row]) for row in reference])
        self.noise_share = float(lonely.mean())
        """The share of answers of the reference that no other repeat gave."""
        self._meter = NoiseMeter(np.zeros((len(reference), 2)), clusters)
        count = self._meter.n
        rate = count * mean_bound(float(self._meter.by_cluster(lonely).mean()), count, 0.01)
        rate += deviation(rate, 0.02)
        self._noise = Noise(count, len(reference[0]), rate, rate)
        self._sums: list[float] = []

    @property
    def limit(self) -> float:
        """The share of new answers per look that noise explains in the long run."""
        return min(1.0, self._noise.offset / self._noise.n)

    def look(self, marks: Sequence[int]) -> int:
        """Add a look with a mark of each answer, 0 without one; return its new answers."""
        pairs = zip(marks, self._reference, strict=True)
        is_new = np.array([bool(mark) and mark not in row for mark, row in pairs], dtype=float)
        self._sums.append(float(self._meter.by_cluster(is_new).sum()))
        return int(is_new.sum())

    def has_changed(self) -> bool:
        """Return whether the answers differ from the reference by more than noise."""
        return first_start(np.array(self._sums), self._noise) is not None
