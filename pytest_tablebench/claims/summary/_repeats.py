"""Compute figures of repeats (statistics.md 5), of score parts, consistency and memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from math import fsum, sqrt
from statistics import variance
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.estimate import estimate
from pytest_tablebench.claims.summary._examples import Examples
from pytest_tablebench.results.figures import mean, means, pass_at_k, pass_hat_k
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats, Integers
    from pytest_tablebench.results.score_table import Cells
    from pytest_tablebench.results.sheets import ScoreSheet


def repeat_figures(cells: Cells, datasets: Sequence[Integers]) -> dict[str, Any] | None:
    """Return a scope's entry `repeats` for `summary.json`; None without repeats.

    `datasets` contains the indices of each dataset's cells. The entry contains:

    * `n`: the largest number of repeats of a cell;
    * `pass_at_k`, `pass_hat_k`: by k from "1" to n, means over an example's cells, then over
      examples, then over datasets;
    * `left_out`: by k, the number of cells with fewer than k answered repeats, which are left out;
    * `spread`: means over cells with two answered repeats or more, then over datasets: `sd` of the
      scores (with n - 1), `range` of the scores, and `disagree`, the share of cells with right
      and wrong repeats.

    A mean over datasets is None if a dataset has no value, as with all other measures.
    """
    n = max((int(cells.times[places].max()) for places in datasets), default=0)
    if n < 2:
        return None
    answered = [count for places in datasets for count in cells.answered[places].tolist()]
    spreads = [_spread(cells, places) for places in datasets]
    return {
        "n": n,
        **{
            name: {
                str(k): mean(_pass_rate(cells, places, k, estimate) for places in datasets)
                for k in range(1, n + 1)
            }
            for name, estimate in (("pass_at_k", pass_at_k), ("pass_hat_k", pass_hat_k))
        },
        "left_out": {str(k): sum(count < k for count in answered) for k in range(1, n + 1)},
        "spread": {
            name: mean(spread[name] for spread in spreads) for name in ("sd", "range", "disagree")
        },
    }


def _pass_rate(
    cells: Cells, places: Integers, k: int, estimate: Callable[[int, int, int], float]
) -> float | None:
    enough = places[cells.answered[places] >= k]
    columns = (cells.codes("example"), cells.answered, cells.right)
    examples: dict[int, list[float]] = {}
    for example, n, right in zip(*(column[enough].tolist() for column in columns), strict=True):
        examples.setdefault(example, []).append(estimate(n, right, k))
    return mean(map(mean, examples.values()))


def _spread(cells: Cells, places: Integers) -> dict[str, float | None]:
    repeated = places[cells.answered[places] > 1]
    scores = [cells.scores(cell) for cell in repeated.tolist()]
    deviations = [
        sqrt(fsum((score - middle) ** 2 for score in repeats) / (len(repeats) - 1))
        for repeats, middle in zip(scores, cells.score[repeated].tolist(), strict=True)
    ]
    right, answered = cells.right[repeated], cells.answered[repeated]
    return {
        "sd": mean(deviations),
        "range": mean(repeats[-1] - repeats[0] for repeats in scores),
        "disagree": mean(((right > 0) & (right < answered)).astype(float).tolist()),
    }


ASSUMED_CORRELATION = 0.5
"""The assumed intraclass correlation of configurations (statistics.md section 9)."""


def sampling_cost(examples: Sequence[Sequence[float]], grid_size: int) -> tuple[float, bool] | None:
    """Return how much wider the interval of the mean is than with the whole grid.

    Each example's scores were drawn from `grid_size` configurations. The second value is whether
    an intraclass correlation of .5 is assumed, because one configuration per example does not show
    their spread.

    With the variance S^2 of the examples' means, the mean variance w inside an example, and K of
    C configurations drawn, the whole grid would have the variance S^2 - w (1/K - 1/C), because
    configurations are a fixed set. None for fewer than two examples, and if that variance is not
    above 0, which means too few examples.
    """
    if len(examples) < 2:
        return None
    drawn = min(len(scores) for scores in examples)
    if drawn < 2:
        variance_share = ASSUMED_CORRELATION + (1 - ASSUMED_CORRELATION) / grid_size
        return math.sqrt(1 / variance_share), True
    total = variance([math.fsum(scores) / len(scores) for scores in examples])
    inside = math.fsum(variance(scores) for scores in examples) / len(examples)
    whole = total - inside * (1 / drawn - 1 / grid_size)
    if whole <= 0:
        return None
    return math.sqrt(total / whole), False


SHOWN = 6
"""The number of parts to show if a dataset does not declare which."""

THRESHOLDS = tuple(step / 10 for step in range(10, -1, -1))
"""The shares of agreement below which an abstaining model gives no answer."""


def part_figures(datasets: Sequence[Examples]) -> dict[str, Any]:
    """Return the named parts of the score that all datasets of a scope have, under `parts`.

    `mean` is the mean over datasets of the mean over examples of the mean over configurations.
    `ci95` is its interval if all values are from 0 to 1. `n_examples` and `n_cases` have the part;
    `absent` is the number of answered configurations without it. `is_score` is whether the part
    equals the score.
    """
    figures: dict[str, Any] = {}
    common = set[str].intersection(*(set(examples.parts) for examples in datasets))
    answered = sum(int(examples["answered"].sum()) for examples in datasets)
    for name in sorted(common):
        parts = [examples.part(name) for examples in datasets]
        values = [finite_values(part.values) for part in parts]
        cases = sum(int(part.cases.sum()) for part in parts)
        if not cases:
            continue
        pairs = zip(datasets, parts, strict=True)
        groups = [examples.groups_of(part.values) for examples, part in pairs]
        figure = estimate(values, groups)
        # Shares have an interval, other numbers do not.
        are_shares = all(0 <= value <= 1 for row in values for value in row)
        figures[name] = {
            "mean": figure.value,
            "ci95": figure.ci95 if are_shares else None,
            "n_examples": figure.examples,
            "n_cases": cases,
            "absent": answered - cases,
            "is_score": all(bool(part.is_score.all()) for part in parts),
        }
    return {"parts": figures} if figures else {}


def informative_parts(
    scope: Mapping[str, Any], declared: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the parts of a scope of `summary.json` to show next to its score.

    These are the parts that its dataset declares, or else at most `SHOWN` that differ from the
    score.
    """
    parts: dict[str, Any] = scope.get("parts") or {}
    if declared is not None:
        return {name: parts[name] for name in declared if name in parts}
    others = [name for name, part in parts.items() if not part["is_score"]]
    return {name: parts[name] for name in others[:SHOWN]}


def consistency_figures(datasets: Sequence[Examples], *, curve: bool = True) -> dict[str, Any]:
    """Return how far an example's configurations agree, under `consistency`.

    `value` is the share of an example's answered configurations with its most common answer.
    `majority` is the score of that answer, `single` the mean score of all of the example's
    answers, and `gain` their difference, paired by example. All are means over datasets of means
    over examples with at least `figures.FEWEST` answers.

    `risk` describes a model that abstains if fewer than the share `agreement` of an example's
    configurations agree: `coverage` is the share of examples it answers, and `risk` is 1 minus
    the score of their majority answers. Empty if a dataset has too few answers.
    """
    shares, majorities, singles = (
        [finite_values(examples[name]) for examples in datasets]
        for name in ("share", "majority", "single")
    )
    if not all(shares):
        return {}
    gains = [
        [majority - single for majority, single in zip(*pair, strict=True)]
        for pair in zip(majorities, singles, strict=True)
    ]
    groups = [examples.groups_of(examples["share"]) for examples in datasets]
    rows = {"value": shares, "majority": majorities, "single": singles}
    measures = {name: estimate(values, groups) for name, values in rows.items()}
    measures["gain"] = estimate(gains, groups, paired=True)
    figures: dict[str, Any] = {name: figure.value for name, figure in measures.items()}
    figures["n_examples"] = measures["value"].examples
    figures["ci95"] = {name: measures[name].ci95 for name in ("value", "majority", "gain")}
    return {"consistency": figures | ({"risk": _risk(shares, majorities)} if curve else {})}


def _risk(
    shares: Sequence[Sequence[float]], majorities: Sequence[Sequence[float]]
) -> list[dict[str, Any]]:
    """Return risk by coverage, without thresholds that keep the same examples as a higher one."""
    points: list[dict[str, Any]] = []
    for threshold in THRESHOLDS:
        answered = [
            # The tolerance keeps a share of 7/10 from being below .7.
            [score for share, score in zip(*pair, strict=True) if share >= threshold - 1e-9]
            for pair in zip(shares, majorities, strict=True)
        ]
        n = sum(map(len, answered))
        if not n or (points and points[-1]["n_examples"] == n):
            continue
        score = mean(map(mean, answered))
        coverage = mean(len(a) / len(b) for a, b in zip(answered, shares, strict=True))
        risk = None if score is None else 1 - score
        points.append({"agreement": threshold, "coverage": coverage, "risk": risk, "n_examples": n})
    return points


def finite_values(values: Floats) -> list[float]:
    """Return the values that are not NaN."""
    present: list[float] = values[np.isfinite(values)].tolist()
    return present


_WITHOUT, _CHANGED = "no_table", "counterfactual"
FORMER = "memory"
"""The part of a score that is 1 if the reply is the answer before its cell was changed."""


def is_memory_test(perturbation: str) -> bool:
    """Return whether answers under a perturbation measure memory."""
    return perturbation.partition("[")[0] in {_WITHOUT, _CHANGED}


def memory_figures(sheets: Sequence[ScoreSheet]) -> dict[str, Any]:
    """Return the entry `memory`: shares of answers that cannot be read from the table.

    `no_table` is the share of right answers without a table. `counterfactual` is the share of
    answers that are still the former answer after its cell was changed. Guesses are included.
    Each has its `share` (a mean over datasets of means over examples), `ci95` and `n_examples`.
    Empty if the run has neither perturbation.
    """
    figures = {}
    for name in (_WITHOUT, _CHANGED):
        columns = [(sheet, _shares(sheet, name)) for sheet in sheets]
        used = [(sheet, shares) for sheet, shares in columns if np.isfinite(shares).any()]
        rows = [finite_values(shares) for _, shares in used]
        groups = [
            None if sheet.groups is None else sheet.groups[np.isfinite(shares)].tolist()
            for sheet, shares in used
        ]
        if rows:
            share = estimate(rows, groups)
            figures[name] = {
                "share": share.value,
                "ci95": share.ci95,
                "n_examples": share.examples,
            }
    return {"memory": figures} if figures else {}


def _shares(sheet: ScoreSheet, name: str) -> Floats:
    """Return, by example, the share of answers that cannot be read from the table."""
    names = sheet.column("perturbation")
    columns = [index for index, text in enumerate(names) if text.partition("[")[0] == name]
    scores = sheet.scores[:, columns]
    if name == _CHANGED:
        empty = np.full(sheet.scores.shape, np.nan)
        values = sheet.parts.get(FORMER, empty)[:, columns]
    else:
        values = sheet.passed[:, columns]
    return means(np.where(np.isfinite(scores), values, np.nan))
