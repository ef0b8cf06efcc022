"""Measure memorized answers: replies that stay right without the table, or after its change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.estimate import estimate
from pytest_tablebench.claims.summary._further_figures import finite_values
from pytest_tablebench.results.figures import means
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats
    from pytest_tablebench.results.sheets import ScoreSheet

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
