"""Measure the agreement of rankings of models (spec: torr_analyses.md sections 6 to 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pytest_tablebench.papers.analyses._draws import Draws, Raters, disjoint_sets
from pytest_tablebench.papers.analyses.grid import Figure, ScoreGrid, Scores, figure, plain_mean
from pytest_tablebench.results.figures import means
from pytest_tablebench.results.score_table import EQUAL
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats, Integers

FEW_MODELS = "fewer than two models"
FEW_RATERS = "fewer than two raters"
ALL_TIED = "every rater ties all models"

PRODUCT = 1 << 18
"""The largest number of multiplications in one matrix product. For larger ones OpenBLAS starts
threads, which on a busy machine wait longer than they compute. Small results also stay in cache."""


def separability(scores: Scores, draws: Draws) -> dict[str, Any]:
    """Return the share of model pairs whose bootstrap intervals do not overlap (section 6).

    Each resample has the same examples for all models; intervals are from the 2.5 % to the 97.5 %
    quantile (type 7). `pooled` draws from the examples of all datasets together, `stratified`
    averages resamples of each dataset.
    """
    if len(scores.models) < 2:
        undefined = {"value": None, "reason": FEW_MODELS}
        by_dataset = {grid.dataset: dict(undefined) for grid in scores.grids}
        return {"by_dataset": by_dataset, "pooled": undefined, "stratified": dict(undefined)}
    resampled = {
        grid.dataset: _resampled(grid.example_means, draws.resamples(grid)) for grid in scores.grids
    }
    pooled = np.concatenate([grid.example_means for grid in scores.grids], axis=1)
    least = min(values.shape[1] for values in resampled.values())
    stratified = np.mean([values[:, :least] for values in resampled.values()], axis=0)
    return {
        "by_dataset": {
            dataset: _separability(scores.models, values) for dataset, values in resampled.items()
        },
        "pooled": _separability(scores.models, _resampled(pooled, draws.resamples_pooled())),
        "stratified": _separability(scores.models, stratified),
    }


def _resampled(example_means: Floats, counts: Floats) -> Floats:
    has_score = np.isfinite(example_means)
    total = np.where(has_score, example_means, 0.0) @ counts.T
    size = has_score @ counts.T
    values: Floats = np.divide(total, size, out=np.full(total.shape, np.nan), where=size > 0)
    return values


def _separability(models: Sequence[str], values: Floats) -> Figure:
    for model, row in zip(models, values, strict=True):
        if np.isnan(row).any():
            return {"value": None, "reason": f"a resample has no scores of {model}"}
    ends = np.quantile(values, [0.025, 0.975], axis=1).T.tolist()
    apart = [
        max(first[0], second[0]) - min(first[1], second[1]) > EQUAL
        for first, second in combinations(ends, 2)
    ]
    return {"value": sum(apart) / len(apart), "intervals": dict(zip(models, ends, strict=True))}


def dataset_agreement(scores: Scores) -> dict[str, Any]:
    """Return Kendall's tau-b between the rankings of models on two datasets (section 7).

    Only models with a score on both datasets count.
    """
    names = [grid.dataset for grid in scores.grids]
    matrix: dict[str, dict[str, Figure]] = {name: {} for name in names}
    for index, grid in enumerate(scores.grids):
        for other in scores.grids[index:]:
            tau = _tau_b(grid.means, other.means)
            matrix[grid.dataset][other.dataset] = tau
            matrix[other.dataset][grid.dataset] = dict(tau)
    overall = {}
    for name in names:
        others = [matrix[name][other]["value"] for other in names if other != name]
        taus = [value for value in others if value is not None]
        value = sum(taus) / len(taus) if taus else None
        overall[name] = figure(value, "no other dataset with a value", n=len(taus))
    return {
        "tau_b": {name: {other: matrix[name][other] for other in names} for name in names},
        "mean_off_diagonal": overall,
    }


def _tau_b(first_means: Floats, second_means: Floats) -> Figure:
    from scipy.stats import kendalltau

    has_both = np.isfinite(first_means) & np.isfinite(second_means)
    if has_both.sum() < 2:
        return {"value": None, "reason": FEW_MODELS}
    first, second = _steps(first_means[has_both]), _steps(second_means[has_both])
    if not first.any() or not second.any():
        return {"value": None, "reason": "all models tied in one of the datasets"}
    return {"value": float(kendalltau(first, second, variant="b").statistic)}


def _steps(values: Floats) -> Integers:
    """Return numbers in the order of the values along the last axis, equal for ties.

    The lowest values get 0. Neighbouring values closer than the tolerance are ties.
    """
    order = values.argsort(axis=-1, kind="stable")
    rising = np.diff(np.take_along_axis(values, order, axis=-1), axis=-1) > EQUAL
    steps = np.zeros(values.shape, dtype=np.intp)
    np.put_along_axis(steps, order[..., 1:], rising.cumsum(axis=-1), axis=-1)
    return steps


def _concordance(
    table: Floats, repeat: Integers, repeats: int
) -> list[tuple[float | None, str, int]]:
    """Return Kendall's W among the raters of each repeat, corrected for ties (section 8).

    Each entry is W (None if undefined), the reason if undefined, and the number of raters.

    `table` has the shape (raters, models); higher is better. Raters without a score for every
    model are left out. With d_rj, the average rank of model j by rater r minus the mean rank, the
    formula's tie correction gives W = sum_j (sum_r d_rj)^2 / (k sum_r sum_j d_rj^2), because
    12 sum_j d_rj^2 = n^3 - n - T_r.
    """
    from scipy.stats import rankdata

    complete = np.isfinite(table).all(axis=1)
    table, repeat = table[complete], repeat[complete]
    models = table.shape[1]
    raters = np.bincount(repeat, minlength=repeats)
    deviations = (
        rankdata(_steps(table), axis=1) - (models + 1) / 2 if len(table) else np.zeros(table.shape)
    )
    sums = np.zeros((repeats, models))
    np.add.at(sums, repeat, deviations)
    between = (sums**2).sum(axis=1)
    within = np.bincount(repeat, weights=(deviations**2).sum(axis=1), minlength=repeats)
    concordances: list[tuple[float | None, str, int]] = []
    for count, above, below in zip(raters.tolist(), between, within, strict=True):
        reason = FEW_RATERS if count < 2 else ALL_TIED if below == 0 else ""
        reason = FEW_MODELS if models < 2 else reason
        value = None if reason else float(above / (count * below))
        concordances.append((value, reason, count))
    return concordances


def kendall_w(scores: Scores) -> dict[str, Any]:
    """Return Kendall's W with single configurations as raters (section 8a).

    The benchmark's raters are the configurations that all datasets have; each scores models by
    the mean over datasets.
    """
    tables = {grid.dataset: means(grid.cells, axis=1) for grid in scores.grids}
    sets = [set(grid.configurations) for grid in scores.grids]
    common = sorted(set[str].intersection(*sets)) if sets else []
    reason = "fewer than two configurations common to all datasets"
    benchmark = figure(None, reason, raters=0, raters_left_out=0)
    if len(common) > 1:
        aligned = [
            tables[grid.dataset][:, [grid.configurations.index(name) for name in common]]
            for grid in scores.grids
        ]
        benchmark = _single(np.mean(aligned, axis=0))  # NaN if a dataset has NaN
    by_dataset = {dataset: _single(table) for dataset, table in tables.items()}
    return {"by_dataset": by_dataset, "benchmark": benchmark}


def _single(table: Floats) -> Figure:
    """Return W of one table of the shape (models, raters)."""
    [(value, reason, raters)] = _concordance(table.T, np.zeros(table.shape[1], dtype=np.intp), 1)
    return figure(value, reason, raters=raters, raters_left_out=table.shape[1] - raters)


def w_growth(draws: Draws) -> dict[str, Any]:
    """Return Kendall's W among disjoint sets of q configurations, by q (section 8b)."""
    return {
        grid.dataset: {q: _repeated(grid, raters) for q, raters in draws.growth(grid)}
        for grid in draws.grids
    }


def benchmark_growth(grids: Sequence[ScoreGrid]) -> dict[str, Any]:
    """Return the growth of W for models scored by the mean over all datasets (section 8b).

    All datasets must have the same configurations, since each draw is for all of them.
    """
    if len({grid.configurations for grid in grids}) != 1:
        return {"1": figure(None, "datasets have different configurations")}
    growth = {}
    for q in range(1, len(grids[0].configurations) // 2 + 1):
        raters = disjoint_sets(grids, q)
        scores = np.mean([_rater_scores(grid, raters) for grid in grids], axis=0)  # keeps NaN
        growth[str(q)] = _mean_w(scores, raters)
    return growth


def configurations_vs_examples(draws: Draws) -> list[dict[str, Any]]:
    """Return Kendall's W for q configurations and e examples per rater (section 9)."""
    points = []
    for q, e, raters_of in draws.points():
        by_dataset = {grid.dataset: _repeated(grid, raters) for grid, raters in raters_of}
        mean = plain_mean(by_dataset)
        points.append({"q": q, "e": e, "by_dataset": by_dataset, "mean_over_datasets": mean})
    return points


def equivalences(points: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return how many examples of one configuration replace several configurations (section 9).

    `points` is the result of `configurations_vs_examples`. Each point with two or more
    configurations and a value gets `e_at_one`, the smallest e at q = 1 that reaches the value, or
    None. Only points with all datasets are comparable; the others are left out.
    """
    points = list(points)
    most = max((len(point["by_dataset"]) for point in points), default=0)
    points_with_value = [
        (point["q"], point["e"], point["mean_over_datasets"]["value"])
        for point in points
        if point["mean_over_datasets"]["value"] is not None and len(point["by_dataset"]) == most
    ]
    single = sorted((e, value) for q, e, value in points_with_value if q == 1)
    return [
        {
            "q": q,
            "e": e,
            "value": value,
            "e_at_one": next((few for few, at in single if at >= value - 1e-9), None),
        }
        for q, e, value in sorted(points_with_value)
        if q > 1
    ]


def _repeated(grid: ScoreGrid, raters: Raters) -> Figure:
    if grid.cells.shape[0] > 1:
        return _mean_w(_rater_scores(grid, raters), raters)
    return _mean_w(np.zeros((len(raters.repeat), 1)), raters)  # one model needs no scores


def _mean_w(scores: Floats, raters: Raters) -> Figure:
    """Return the mean of W over repeats; `scores` has the shape (raters, models)."""
    concordances = _concordance(scores, raters.repeat, raters.repeats)
    values = [value for value, _, _ in concordances]
    numbers = [value for value in values if value is not None]
    return figure(
        sum(numbers) / len(numbers) if numbers else None,
        next((reason for _, reason, _ in concordances), "no repeats"),
        per_repeat=values,
        n_undefined=len(values) - len(numbers),
    )


def _rater_scores(grid: ScoreGrid, raters: Raters) -> Floats:
    """Return means over examples of means over a rater's configurations: (raters, models)."""
    models, examples, configurations = grid.cells.shape
    is_answered = np.isfinite(grid.cells).astype(float)
    filled = np.nan_to_num(grid.cells)
    scores = np.empty((len(raters.configurations), models))
    step = max(1, PRODUCT // (examples * configurations))
    for start in range(0, len(scores), step):
        block = slice(start, start + step)
        weights = raters.configurations[block].T
        counts, means = is_answered @ weights, filled @ weights  # models, examples, raters
        used: Any = None if raters.examples is None else raters.examples[block].T
        if not counts.all():  # some example has no answer
            used = counts > 0 if used is None else used * (counts > 0)
            counts[counts == 0] = 1.0
        means /= counts
        if used is None:
            scores[block] = means.mean(axis=1).T
            continue
        means *= used
        size = used.sum(axis=-2)
        scores[block] = np.divide(
            means.sum(axis=1), size, out=np.full(means.shape[::2], np.nan), where=size > 0
        ).T
    return scores
