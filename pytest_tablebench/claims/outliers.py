"""Find the parts of a dataset whose mean score differs from the whole by more than chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from pytest_tablebench.claims._clusters import ClusteredMean, combined, numbered
from pytest_tablebench.claims.estimate import Estimate, moments, paired_bounds
from pytest_tablebench.results.figures import means
from pytest_tablebench.results.score_table import ScoreTable
from pytest_tablebench.results.sheets import ScoreSheet, sheets
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.run import Run
    from pytest_tablebench.results.score_columns import Flags, Floats

FEWEST = 5
"""The number of examples that a part, and for a tag also the other examples, must have."""

MOST_VALUES = 50
"""The largest number of values of a useful tag; with more it identifies single examples."""


@dataclass(frozen=True)
class Outlier:
    """A part of a dataset whose mean score differs from the whole.

    `kind` is an axis or a tag. `value` is the mean of the part, `whole` the mean to compare
    with; `difference` is `value - whole` with its interval.
    """

    dataset: str
    kind: str
    name: str
    value: float
    whole: float
    difference: Estimate


def outliers(table: ScoreTable) -> list[Outlier]:
    """Return the parts whose difference is significant, the lowest first.

    A serializer (perturbation, ...) is compared within each example: its scores with all scores
    of that example (statistics.md section 3). A tag's mean is compared with the mean of as many
    examples drawn without replacement from the dataset, whose variance is s^2/m (1 - m/n). If
    examples share tables, residuals are summed by table. All parts of all datasets share the
    error .05 (Bonferroni), so that a run without differences rarely has an outlier.
    """
    parts = []
    for dataset, sheet in sheets(table.cells).items():
        parts += [*_axis_parts(dataset, sheet.meant), *_tag_parts(dataset, sheet.meant)]
    tail = (1 - 0.95) / 2 / max(1, len(parts))
    bounded = [part.bounded(tail) for part in parts]
    significant = [outlier for outlier in bounded if not _contains_0(outlier.difference)]
    return sorted(significant, key=lambda o: (o.value - o.whole, o.dataset, o.kind, o.name))


def _contains_0(difference: Estimate) -> bool:
    low, high = difference.interval or (0.0, 0.0)
    return low <= 0 <= high


def outliers_of(run: Run) -> Sequence[Outlier]:
    """Return the outliers of a loaded run, which are computed once."""
    return run.once("outliers", lambda: outliers(run.scores))


@dataclass(frozen=True)
class _PartScores:
    """The scores of a part, with `differences` by example, or with the `whole` to draw from."""

    dataset: str
    kind: str
    name: str
    values: Floats
    whole: Floats
    differences: Floats | None = None
    groups: Sequence[Hashable] | None = None
    """The clusters of the examples of `differences`, or of `whole`."""
    is_inside: Flags | None = None
    """Which examples of `whole` are in the part, if there are no differences."""

    def bounded(self, tail: float) -> Outlier:
        value, whole = float(self.values.mean()), float(self.whole.mean())
        if self.differences is not None:
            inside = moments([self.differences], [self.groups])
            low, high = paired_bounds(inside, tail)[:2] if inside else (-1.0, 1.0)
        else:
            from scipy.special import stdtrit

            variance, free = self._spread()
            reach = float(stdtrit(free, 1 - tail)) * sqrt(variance)
            low, high = value - whole - reach, value - whole + reach
        difference = Estimate(value - whole, low, high, examples=len(self.values))
        return Outlier(self.dataset, self.kind, self.name, value, whole, difference)

    def _spread(self) -> tuple[float, float]:
        """Return variance and degrees of freedom of the part's mean minus the whole's.

        Without clusters the part is a draw without replacement. With clusters the variance is also
        summed by cluster (statistics.md section 1), and the larger one counts. Residuals are taken
        from the mean of the whole, since a part of equal scores would have none.
        """
        part, count = len(self.values), len(self.whole)
        variance = float(self.whole.var(ddof=1)) / part * (1 - part / count)
        if self.groups is None or self.is_inside is None:
            return variance, count - 1
        residuals = self.whole - self.whole.mean()
        index, names = numbered(self.groups)
        clustered = []
        for weights in (self.is_inside / part, np.full(count, 1 / count)):
            sums: Floats = np.bincount(index, weights=weights * residuals).astype(float)
            shares: Floats = np.bincount(index, weights=weights).astype(float)
            clustered.append(ClusteredMean.of(sums, shares, names))
        spread, df, _ = combined(clustered, (1, -1))
        return max(variance, spread), df


def _axis_parts(dataset: str, sheet: ScoreSheet) -> Iterator[_PartScores]:
    whole = means(sheet.scores)
    for kind in sheet.axes:
        names = sheet.names(kind)
        for name in names if len(names) > 1 else ():
            part = means(sheet.scores[:, sheet.has(kind, name)])
            is_used = np.isfinite(part)
            if is_used.sum() >= FEWEST:
                values, others = part[is_used], whole[is_used]
                groups = None if sheet.groups is None else sheet.groups[is_used].tolist()
                yield _PartScores(dataset, kind, name, values, others, values - others, groups)


def _tag_parts(dataset: str, sheet: ScoreSheet) -> Iterator[_PartScores]:
    whole = means(sheet.scores)
    is_answered = np.isfinite(whole)
    whole = whole[is_answered]
    groups = None if sheet.groups is None else sheet.groups[is_answered].tolist()
    if groups is not None and len(set(groups)) in (1, len(groups)):
        groups = None  # examples are independent
    for tag, column in sheet.tags.items():
        values = np.asarray(column, dtype=object)[is_answered]
        counts = Counter(values.tolist())
        if len(counts) > MOST_VALUES:
            continue
        for name, count in counts.items():
            if name and count >= FEWEST and len(values) - count >= FEWEST:
                inside = values == name
                yield _PartScores(
                    dataset, tag, name, whole[inside], whole, groups=groups, is_inside=inside
                )
