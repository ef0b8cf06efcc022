"""Compute the example values from which a gate is judged (spec: statistics.md 1, 3, 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from pytest_tablebench.claims.gates._grammar import Gate
from pytest_tablebench.claims.gates._scopes import Scopes
from pytest_tablebench.claims.gates._sides import about, expected_cells, values_of
from pytest_tablebench.results.figures import FEWEST, agreement, example_values, mean, robustness
from pytest_tablebench.results.sheets import ScoreSheet, same_answers, with_common_clusters
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import known_names, printable

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Floats

INCOMPLETE = 0.20
"""The share of examples with an incomplete grid above which robustness is undecided (section 5)."""


@dataclass(frozen=True)
class GateValues:
    """The values from which one gate's result is computed.

    `values` contains one array of example values per dataset; with a baseline they are
    differences. `clusters` contains the table of each value, or None if every example is
    independent. `n_clusters` is None if the tables are unknown. `problem` is the reason why no
    interval may decide. A share of cases without an answer is None if no case was asked.
    """

    values: tuple[Floats, ...] = ()
    clusters: tuple[Sequence[Hashable] | None, ...] = ()
    left_out: int = 0
    left_out_old: int | None = None
    not_asked: int = 0
    not_asked_old: int = 0
    no_answer: float | None = None
    no_answer_old: float | None = None
    identical: bool = False
    worst: tuple[float, float] | None = None
    problem: str | None = None
    n_clusters: int | None = None

    @property
    def estimate(self) -> float | None:
        """The mean over datasets of the means over examples; None if a dataset has no value."""
        return mean(mean(row.tolist()) for row in self.values)

    @property
    def n(self) -> int:
        """The number of used examples."""
        return sum(len(row) for row in self.values)


def collect(gate: Gate, scopes: Scopes) -> GateValues:
    """Return the example values of a gate that is judged by an interval."""
    names = scopes.datasets(gate)
    parts: list[_DatasetValues] = []
    for name in names:
        if name not in scopes.new.datasets:
            return GateValues(problem=f"no case of {printable(name, 60)} was asked")
        new, old = scopes.pair(name)
        if not gate.baseline:
            old = None
        elif old is None:
            return GateValues(problem=f"the baseline has no case of {printable(name, 60)}")
        for side, whose in ((new, ""), (old, "of the baseline ")):
            problem = _unknown(gate, side, whose)
            if problem is not None:
                return GateValues(problem=problem)
        part = _part(gate, new, old)
        if part is None:
            return GateValues(problem=f"no case of this scope was asked in {printable(name, 60)}")
        parts.append(part)
    if not parts:
        return GateValues(problem=scopes.unknown(gate))
    total = sum((part.counts for part in parts), Counter[str]())
    return GateValues(
        values=tuple(part.values for part in parts),
        clusters=tuple(
            _used_clusters(name, scopes, part.used) for name, part in zip(names, parts, strict=True)
        ),
        left_out=total["left_out"],
        left_out_old=total["left_out_old"] if gate.baseline else None,
        not_asked=total["not_asked"],
        not_asked_old=total["not_asked_old"],
        no_answer=total["unanswered"] / total["asked"] if total["asked"] else None,
        no_answer_old=total["unanswered_old"] / total["asked_old"] if total["asked_old"] else None,
        identical=all(part.identical for part in parts),
        worst=_mean_extremes(parts) if gate.measure == "robustness" and not gate.baseline else None,
        problem=_problem(gate, names, parts, total["left_out"]),
        n_clusters=_cluster_count(scopes, names, parts),
    )


def _unknown(gate: Gate, side: ScoreSheet | None, whose: str) -> str | None:
    """Return why a run has no values for a gate; None if it has."""
    if side is None:
        return None
    if gate.check and gate.check not in side.checks:
        return f"no case {whose}has a verdict of {printable(gate.check, 200)}"
    if gate.measure == "pass_rate" and side.is_asked.any() and not expected_cells(side, gate).any():
        return f"no case {whose}has a verdict: facts or a judge decide whether free text is right"
    if gate.measure == "consistency" and (side.answer_marks is None or not side.answer_marks.any()):
        return f"no case {whose}has an answer to compare"
    if gate.part is None:
        return None
    # Other slices may have parts that no example of this slice has.
    parts = [name for name, values in side.parts.items() if np.isfinite(values).any()]
    if gate.part not in parts:
        shown = [printable(name, 40) for name in parts]
        names = known_names(gate.part, shown) if shown else "the scores have no parts"
        return f"no case {whose}has a part {printable(gate.part, 80)!r} of its score; {names}"
    values = values_of(side, gate)
    if ((values < 0) | (values > 1)).any() or np.isinf(values).any():
        return f"{printable(gate.part, 80)!r} has values outside of 0 to 1, so it has no interval"
    return None


@dataclass(frozen=True)
class _DatasetValues:
    """The example values and counts of one dataset."""

    values: Floats
    used: Flags
    identical: bool
    counts: Counter[str]
    """Examples `left_out` and `not_asked`, cases `asked` and `unanswered`; the baseline's with
    `_old`."""
    cells: int
    same_grid: bool
    sampled: bool
    worst: tuple[float, float] | None


def _part(gate: Gate, new: ScoreSheet, old: ScoreSheet | None) -> _DatasetValues | None:
    """Return one dataset's values; None if the run asked no case of the scope."""
    columns = about(new, gate)
    is_asked = expected_cells(new, gate)[:, columns]
    if not is_asked.any():
        return None
    asked_old = expected_cells(old, gate)[:, columns] if old else np.zeros_like(is_asked)
    scores = values_of(new, gate)[:, columns]
    before = values_of(old, gate)[:, columns] if old else None
    is_answered: Flags = ~np.isnan(scores)
    both: Flags = is_answered if before is None else is_answered & ~np.isnan(before)
    ranged = gate.measure == "robustness"
    grid: Flags = (
        np.any(is_asked | asked_old, axis=0) if ranged else np.full(is_asked.shape[1], True)
    )
    if gate.measure == "consistency":
        values = _agreement(new, old, columns, both)
    else:
        values = example_values(
            gate.measure, scores[:, grid], None if before is None else before[:, grid]
        )
    used: Flags = np.isfinite(values)
    has_case, has_old_case = is_asked.any(axis=1), asked_old.any(axis=1)
    times, lost = (int(part[:, columns].sum()) for part in new.counts())
    times_old, lost_old = (int(part[:, columns].sum()) for part in old.counts()) if old else (0, 0)
    return _DatasetValues(
        values=values[used],
        used=used,
        identical=old is not None and _identical(new, old, columns, both & used[:, None]),
        counts=Counter(
            # An example that only one run asked has no missing answer.
            left_out=int(((has_case & has_old_case if old else has_case) & ~used).sum()),
            left_out_old=int((has_old_case & has_case & ~used).sum()),
            not_asked=int((has_old_case & ~has_case).sum()),
            not_asked_old=int((has_case & ~has_old_case).sum()) if old else 0,
            asked=times,
            unanswered=lost,
            asked_old=times_old,
            unanswered_old=lost_old,
        ),
        cells=int(grid.sum()),
        # Whether most examples were asked in only some of the configurations.
        sampled=2 * int(is_asked[has_case][:, is_asked.any(axis=0)].all(axis=1).sum())
        < int(has_case.sum()),
        same_grid=before is None or bool((is_asked.any(axis=0) == asked_old.any(axis=0)).all()),
        worst=_extremes(scores[has_case][:, grid]) if ranged else None,
    )


def _agreement(new: ScoreSheet, old: ScoreSheet | None, columns: Flags, both: Flags) -> Floats:
    """Return each example's consistency over the cases both runs answered, or its difference."""
    agreements = []
    for side in (new, old) if old else (new,):
        none = np.zeros(side.is_asked.shape, dtype=np.int64)
        marks = (none if side.answer_marks is None else side.answer_marks)[:, columns]
        scores = np.where(both, side.scores[:, columns], np.nan)
        agreements.append(agreement(marks, scores)[0])
    return agreements[0] if len(agreements) == 1 else agreements[0] - agreements[1]


def _extremes(scores: Floats) -> tuple[float, float]:
    """Return the mean robustness for the worst and the best values of missing cells.

    The worst case of section 5, 1 - (max(x, 1) - min(x, 0)), is 0 if a cell is missing.
    """
    observed = np.nan_to_num(robustness(scores), nan=1.0)
    worst = np.where(np.isnan(scores).any(axis=1), 0.0, observed)
    return float(worst.mean()), float(observed.mean())


def _identical(new: ScoreSheet, old: ScoreSheet, columns: Flags, paired: Flags) -> bool:
    cells = np.zeros(new.is_asked.shape, dtype=bool)
    cells[:, columns] = paired
    return bool(paired.any()) and same_answers(new, old, cells)


def _used_clusters(dataset: str, scopes: Scopes, used: Flags) -> list[Hashable] | None:
    """Return the cluster of each used example; None if every example is its own cluster."""
    (new, old), clusters = scopes.pair(dataset), scopes.clusters.get(dataset)
    if clusters:
        used_names = [name for name, use in zip(new.examples, used, strict=True) if use]
        return [(dataset, clusters.get(name, (None, name))) for name in used_names]
    groups = with_common_clusters(new, old).groups
    return None if groups is None else groups[used].tolist()


def _cluster_count(
    scopes: Scopes, names: Sequence[str], parts: Sequence[_DatasetValues]
) -> int | None:
    """Return the number of clusters of the used examples; None if unknown."""
    clusters: set[Hashable] = set()
    for name, part in zip(names, parts, strict=True):
        dataset_clusters = _used_clusters(name, scopes, part.used)
        if dataset_clusters is None:
            cluster_names = with_common_clusters(*scopes.pair(name)).cluster_names
            if cluster_names is None:
                return None
            dataset_clusters = cluster_names[part.used].tolist()
        clusters.update(dataset_clusters)
    return len(clusters)


def _mean_extremes(parts: Sequence[_DatasetValues]) -> tuple[float, float]:
    lows, highs = zip(*(part.worst for part in parts if part.worst is not None), strict=True)
    return fsum(lows) / len(lows), fsum(highs) / len(highs)


def _problem(
    gate: Gate, names: Sequence[str], parts: Sequence[_DatasetValues], left_out: int
) -> str | None:
    """Return why no interval may decide; None if one may."""
    used = sum(len(part.values) for part in parts)
    if gate.measure == "robustness":
        if all(part.cells == 1 for part in parts):
            return "robustness over one configuration is always 1"
        if not all(part.same_grid for part in parts):
            return "robustness needs the same configurations in both runs, and they differ"
        if left_out > INCOMPLETE * (used + left_out):
            if any(part.sampled for part in parts):
                return "robustness needs all configurations of an example, and only some were asked"
            return "more than 20 % of the examples have an incomplete grid"
    if gate.measure == "consistency" and not used:
        return (
            f"consistency needs {FEWEST} answered configurations of an example, and no example has "
            f"them"
        )
    few = [(name, part) for name, part in zip(names, parts, strict=True) if len(part.values) < 2]
    if not few:
        return None
    lost = [(name, part) for name, part in few if part.counts["left_out"]]
    if not lost:
        if len(names) == 1:
            return "fewer than two examples"
        few_names = ", ".join(printable(name, 60) for name, _ in few)
        return f"fewer than two usable examples in {few_names}"
    return "; ".join(_unscored(name if len(names) > 1 else "", part) for name, part in lost)


def _unscored(name: str, part: _DatasetValues) -> str:
    """Return how few of a dataset's examples have a value, although more were asked."""
    left_out, used = part.counts["left_out"], len(part.values)
    total = left_out + used
    where = f" of {printable(name, 60)}" if name else ""
    subject = f"only one example{where} has" if used else f"no example{where} has"
    return f"{subject} a score ({total:,} {'was' if total == 1 else 'were'} asked)"
