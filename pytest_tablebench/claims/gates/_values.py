"""Compute the example values from which a gate is judged (spec: statistics.md 1, 3, 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING

from pytest_tablebench.claims._claim import decide
from pytest_tablebench.claims._clusters import cluster_count
from pytest_tablebench.claims.gates._grammar import Gate
from pytest_tablebench.claims.gates._result import GateResult
from pytest_tablebench.claims.gates._scopes import (
    Scopes,
    columns_in_scope,
    expected_cells,
    selected,
    values_of,
)
from pytest_tablebench.claims.paired import SheetPair
from pytest_tablebench.results.figures import FEWEST, example_values, mean, robustness
from pytest_tablebench.results.sheets import ScoreSheet
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import known_names

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Floats

INCOMPLETE = 0.20
"""The share of examples with an incomplete grid above which robustness is undecided (section 5)."""


@dataclass(frozen=True)
class GateValues:
    """The values from which one gate's result is computed.

    `values` contains one array of example values per dataset; with a baseline they are
    differences. `clusters` contains the table of each value, or None if every example is
    independent. `problem` is the reason why no interval may decide. `result` has the counts, and
    as its value the mean over datasets of the means over examples, None if a dataset has none.
    """

    result: GateResult
    values: tuple[Floats, ...] = ()
    clusters: tuple[Sequence[Hashable] | None, ...] = ()
    identical: bool = False
    problem: str | None = None


def collect(gate: Gate, scopes: Scopes) -> GateValues:
    """Return the example values of a gate that is judged by an interval."""
    parts: list[_DatasetValues] = []
    empty = GateResult(gate=gate.text, bound=gate.bound)
    for name in scopes.datasets(gate):
        if name not in scopes.new.datasets:
            return GateValues(empty, problem=f"no case of {name} was asked")
        pair = scopes.pair(name)
        # A sheet over the configurations of both, with the tables of both.
        sheet = scopes.new.datasets[name] if pair is None else pair.clustered
        old = pair.before if pair is not None and gate.baseline else None
        if gate.baseline and old is None:
            return GateValues(empty, problem=f"the baseline has no case of {name}")
        for side, whose in ((sheet, ""), (old, "of the baseline ")):
            problem = _unknown(gate, side, whose)
            if problem is not None:
                return GateValues(empty, problem=problem)
        part = _part(gate, name, sheet, old)
        if part is None:
            return GateValues(empty, problem=f"no case of this scope was asked in {name}")
        parts.append(part)
    if not parts:
        return GateValues(empty, problem=scopes.unknown(gate))
    total = sum((part.counts for part in parts), Counter[str]())
    estimate = mean(mean(part.values.tolist()) for part in parts)
    result = replace(
        empty,
        value=estimate,
        state_point="undecided" if estimate is None else decide(estimate, estimate, gate),
        examples=sum(len(part.values) for part in parts),
        clusters=cluster_count([part.tables for part in parts]),
        n_left_out=total["left_out"],
        n_left_out_baseline=total["left_out"] if gate.baseline else None,
        n_not_asked=total["not_asked"],
        n_not_asked_baseline=total["not_asked_old"],
        no_answer=_share(total["unanswered"], total["asked"]),
        baseline_no_answer=_share(total["unanswered_old"], total["asked_old"]),
        worst_case=None if gate.baseline else _mean_extremes(parts),
    )
    return GateValues(
        result,
        tuple(part.values for part in parts),
        tuple(part.groups for part in parts),
        all(part.identical for part in parts),
        _problem(gate, parts, total["left_out"]),
    )


def _share(count: int, total: int) -> float | None:
    return count / total if total else None


def _unknown(gate: Gate, side: ScoreSheet | None, whose: str) -> str | None:
    """Return why a run has no values for a gate; None if it has."""
    if side is None:
        return None
    if gate.check and gate.check not in side.checks:
        return f"no case {whose}has a verdict of {gate.check}"
    if gate.measure == "pass_rate" and side.is_asked.any() and not expected_cells(side, gate).any():
        return f"no case {whose}has a verdict: facts or a judge decide whether free text is right"
    if gate.measure == "consistency" and (side.answer_marks is None or not side.answer_marks.any()):
        return f"no case {whose}has an answer to compare"
    if gate.part is None:
        return None
    # Other slices may have parts that no example of this slice has.
    parts = [name for name, values in side.parts.items() if np.isfinite(values).any()]
    if gate.part not in parts:
        names = known_names(gate.part, parts) if parts else "the scores have no parts"
        return f"no case {whose}has a part {gate.part!r} of its score; {names}"
    values = values_of(side, gate)
    if not gate.is_use and ((values < 0) | (values > 1) | np.isinf(values)).any():
        return f"{gate.part!r} has values outside of 0 to 1, so it has no interval"
    return None


@dataclass(frozen=True)
class _DatasetValues:
    """The example values and counts of one dataset."""

    name: str
    values: Floats
    groups: Sequence[Hashable] | None
    """The cluster of each value; None if every example is independent."""
    tables: Sequence[Hashable] | None
    """The table of each value; None if unknown."""
    identical: bool
    counts: Counter[str]
    """Examples `left_out` and `not_asked`, cases `asked` and `unanswered`; the baseline's with
    `_old`."""
    cells: int
    same_grid: bool
    sampled: bool
    worst: tuple[float, float] | None


def _part(
    gate: Gate, name: str, sheet: ScoreSheet, old_sheet: ScoreSheet | None
) -> _DatasetValues | None:
    """Return one dataset's values; None if the run asked no case of the scope."""
    columns = columns_in_scope(sheet, gate)
    new = selected(sheet, gate, columns)
    grid = whole = new.is_asked.any(axis=0)
    if not whole.any():
        return None
    has_case, identical, same_grid = new.has_case, False, True
    counts = _case_counts(sheet, columns)
    if old_sheet is None:
        values = example_values(gate.measure, new.scores[:, grid], marks=(new.marks[:, grid],))
        used: Flags = np.isfinite(values)
        counts["left_out"] = int((has_case & ~used).sum())
        values = values[used]
    else:
        old = selected(old_sheet, gate, columns)
        whole_old = old.is_asked.any(axis=0)
        same_grid, grid = bool((whole == whole_old).all()), np.logical_or(whole, whole_old)
        joined = SheetPair(name, old, new).values(gate.measure, grid)
        used, values = joined.used, np.array(joined.differences, dtype=float)
        identical = bool(used.any()) and joined.same_text
        counts |= {f"{key}_old": number for key, number in _case_counts(old_sheet, columns).items()}
        counts["left_out"] = joined.left_out
        counts["not_asked"] = int((old.has_case & ~has_case).sum())
        counts["not_asked_old"] = int((has_case & ~old.has_case).sum())
    tables = None if sheet.cluster_names is None else sheet.cluster_names[used].tolist()
    return _DatasetValues(
        name=name,
        values=values,
        groups=None if sheet.one_table else tables,
        tables=tables,
        identical=identical,
        counts=counts,
        cells=int(grid.sum()),
        # Whether most examples were asked in only some of the configurations.
        sampled=2 * int(new.is_asked[has_case][:, whole].all(axis=1).sum()) < int(has_case.sum()),
        same_grid=same_grid,
        worst=_extremes(new.scores[has_case][:, grid]) if gate.measure == "robustness" else None,
    )


def _case_counts(sheet: ScoreSheet, columns: Flags) -> Counter[str]:
    cases, unanswered = (int(counts[:, columns].sum()) for counts in sheet.counts())
    return Counter(asked=cases, unanswered=unanswered)


def _extremes(scores: Floats) -> tuple[float, float]:
    """Return the mean robustness for the worst and the best values of missing cells.

    The worst case of section 5, 1 - (max(x, 1) - min(x, 0)), is 0 if a cell is missing.
    """
    observed = np.nan_to_num(robustness(scores), nan=1.0)
    worst = np.where(np.isnan(scores).any(axis=1), 0.0, observed)
    return float(worst.mean()), float(observed.mean())


def _mean_extremes(parts: Sequence[_DatasetValues]) -> tuple[float, float] | None:
    ends = [part.worst for part in parts if part.worst is not None]
    if not ends:
        return None
    lows, highs = zip(*ends, strict=True)
    return fsum(lows) / len(lows), fsum(highs) / len(highs)


def _problem(gate: Gate, parts: Sequence[_DatasetValues], left_out: int) -> str | None:
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
    few = [part for part in parts if len(part.values) < 2]
    if not few:
        return None
    lost = [part for part in few if part.counts["left_out"]]
    if not lost:
        if len(parts) == 1:
            return "fewer than two examples"
        few_names = ", ".join(part.name for part in few)
        return f"fewer than two usable examples in {few_names}"
    return "; ".join(_unscored(part, named=len(parts) > 1) for part in lost)


def _unscored(part: _DatasetValues, *, named: bool) -> str:
    """Return how few of a dataset's examples have a value, although more were asked."""
    left_out, used = part.counts["left_out"], len(part.values)
    total = left_out + used
    where = f" of {part.name}" if named else ""
    subject = f"only one example{where} has" if used else f"no example{where} has"
    return f"{subject} a score ({total:,} {'was' if total == 1 else 'were'} asked)"
