"""Compute the figures of named parts of the score, of consistency, and of memorized answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.estimate import estimate
from pytest_tablebench.claims.summary._examples import Examples
from pytest_tablebench.results.figures import mean, means
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats
    from pytest_tablebench.results.sheets import ScoreSheet

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
    answered = sum(int(examples.answered.sum()) for examples in datasets)
    for name in sorted(common):
        parts = [examples.parts[name] for examples in datasets]
        values = [finite_values(part.values) for part in parts]
        cases = sum(int(part.cases.sum()) for part in parts)
        if not cases:
            continue
        groups = [examples.groups_of(examples.parts[name].values) for examples in datasets]
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
        [finite_values(getattr(examples, name)) for examples in datasets]
        for name in ("share", "majority", "single")
    )
    if not all(shares):
        return {}
    gains = [
        [majority - single for majority, single in zip(*pair, strict=True)]
        for pair in zip(majorities, singles, strict=True)
    ]
    groups = [examples.groups_of(examples.share) for examples in datasets]
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
    columns = [place for place, text in enumerate(names) if text.partition("[")[0] == name]
    scores = sheet.scores[:, columns]
    if name == _CHANGED:
        empty = np.full(sheet.scores.shape, np.nan)
        values = sheet.parts.get(FORMER, empty)[:, columns]
    else:
        values = sheet.passed[:, columns]
    return means(np.where(np.isfinite(scores), values, np.nan))
