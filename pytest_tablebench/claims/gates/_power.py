"""Compute the smallest drop a gate can detect, before the run (spec: statistics.md section 9)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

from pytest_tablebench.claims._claim import POWER
from pytest_tablebench.claims._clusters import ClusteredMean
from pytest_tablebench.claims.estimate import moments
from pytest_tablebench.claims.gates._grammar import Gate, parse_gate
from pytest_tablebench.claims.gates._judged import planned_needs
from pytest_tablebench.claims.gates._scopes import (
    Scopes,
    columns_in_scope,
    planned_side,
    read_side,
)
from pytest_tablebench.claims.gates._values import collect
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import counted

TABLE_CORRELATION = 0.15
"""The assumed correlation of examples over one table, without an earlier run to measure it."""

Clusters = Mapping[str, Mapping[str, Hashable]]
"""The table of each example, by dataset."""


@dataclass(frozen=True)
class PlannedGate:
    """The smallest drop that one gate can detect with the planned cases.

    `smallest_drop` is the drop below the bound (the rise above it for `<=`) with which the gate
    fails in 80 % of runs, as a share of 1. It is None for counts, if it cannot be computed, and
    if so large a drop is impossible. `assumed` is whether the spread is assumed, not measured on
    earlier runs. `n_clusters` is the number of tables of the planned examples, None if unknown.
    `needs` is the number of examples from which the gate holds if the model is right in every
    question (or equals the baseline); "" for counts.
    """

    gate: str
    n_examples: int
    configurations: int
    smallest_drop: float | None
    s_d: float | None
    assumed: bool
    text: str
    n_clusters: int | None = None
    needs: str = ""


def smallest_drop(
    n: float, s_d: float, *, level: float = 0.95, power: float = POWER, df: float | None = None
) -> float:
    """Return the smallest true drop that `n` examples detect with `power`, as a share of 1.

    (t_.975 + t_.80) * s_d / sqrt(n), with n - 1 degrees of freedom unless `df` is given.
    Infinite for fewer than two examples.
    """
    if n < 2:
        return math.inf
    from scipy.special import stdtrit

    free = n - 1 if df is None else df
    quantiles = stdtrit(free, (1 + level) / 2) + stdtrit(free, power)
    return float(quantiles * s_d / math.sqrt(n))


def power(n: int, s_d: float, drop: float, *, level: float = 0.95) -> float:
    """Return the share of runs in which a gate fails at a true drop (noncentral t)."""
    if n < 2:
        return 0.0
    from scipy.special import nctdtr, stdtrit

    quantile = float(stdtrit(n - 1, (1 + level) / 2))
    return float(nctdtr(n - 1, -drop * math.sqrt(n) / s_d, -quantile))


def assumed_sd(
    configurations: int = 35,
    *,
    variance: float = 0.25,
    correlation: float = 0.5,
    effect_correlation: float = 0.5,
    paired: bool = True,
) -> float:
    """Return the standard deviation of example differences that is assumed without earlier runs.

    `variance` is the variance of single scores: m (1 - m) for right or wrong. `correlation` is
    the intraclass correlation of configurations, `effect_correlation` the correlation of two
    models' example effects. If not `paired`, return the deviation of one run's example values.
    """
    inside = (1 - correlation) / configurations
    if not paired:
        return math.sqrt(variance * (correlation + inside))
    return math.sqrt(2 * variance * (correlation * (1 - effect_correlation) + inside))


def plan_gates(
    gates: Sequence[str | Gate],
    planned: Iterable[Any],
    history: Sequence[Iterable[Any]] = (),
    *,
    benchmarks: Mapping[str, Sequence[str]] | None = None,
    level: float = 0.95,
    altered: Collection[str] = (),
    clusters: Clusters | None = None,
) -> list[PlannedGate]:
    """Return, for each gate, the smallest drop it can detect with the planned cases.

    The spread is measured on `history`. If these runs do not contain the scope, or do not vary,
    the spread is assumed and the text reports it; it cannot be assumed for robustness and
    consistency.

    Args:
        gates: gates, parsed or as text.
        planned: cases of one model, with `dataset`, `example_id`, `serializer`, `perturbation`.
        history: the records of the latest run, then of the one before it. Gates against a
            baseline need both.
        benchmarks: the datasets of each benchmark; by default taken from the cases.
        level: the confidence.
        altered: perturbations that change the meaning of a table.
        clusters: the tables of the planned examples, by dataset. Without them every example
            counts as independent.
    """
    sides = planned_side(planned, altered)
    scopes = Scopes(sides, None, sides.benchmarks if benchmarks is None else benchmarks)
    runs = [read_side(records) for records in history[:2]]
    earlier = None
    if runs:
        earlier = Scopes(runs[0], runs[1] if len(runs) > 1 else None, scopes.benchmarks)
    return [_plan(gate, scopes, earlier, clusters or {}, level) for gate in map(parse_gate, gates)]


def _plan(
    gate: Gate, scopes: Scopes, earlier: Scopes | None, clusters: Clusters, level: float
) -> PlannedGate:
    parts = _planned(gate, scopes, clusters)
    sizes, cells = [part.n for part in parts], [part.configurations for part in parts]
    total, configurations = sum(sizes), max(1, round(sum(cells) / max(1, len(cells))))
    # If all examples use one table, they are independent: the gate is about this table.
    are_known = all(part.has_tables for part in parts)
    tables = sum(len(part.tables) for part in parts) if are_known else None

    needs = ""
    if not gate.counted and (total or gate.tags):
        # The slice of a gate with tags is known only during the run.
        size = len(parts) ** 2 / math.fsum(1 / part.mean.size for part in parts) if parts else 1.0
        size, count = (1.0, 0) if gate.tags else (size, total)
        needs = planned_needs(gate, size, count, tables, (1 - level) / 2)

    def result(drop: float | None, s_d: float | None, assumed: bool, text: str) -> PlannedGate:
        return PlannedGate(
            gate.text, total, configurations, drop, s_d, assumed, text, tables, needs
        )

    if gate.counted:
        return result(None, None, False, "a count, judged without an interval")
    if gate.tags:
        text = "the number of examples with these tags is known only during the run"
        return result(None, None, False, text)
    if not total:
        return result(None, None, False, scopes.unknown(gate))
    if min(sizes) < 2:
        return result(None, None, False, "undecided: fewer than two examples are planned")
    known_spreads = _spread(gate, earlier, [part.dataset for part in parts])
    if known_spreads is None and gate.measure in ("robustness", "consistency"):
        run = "name an earlier run with --bench-baseline"
        if gate.baseline:
            run = "it needs a finished run of this model, next to the baseline or in the results"
        text = f"the spread of {gate.measure} is unknown; {run}"
        return result(None, None, False, text)
    spreads = known_spreads or [(assumed_sd(count, paired=gate.baseline), False) for count in cells]
    # The squared errors of datasets add up in their mean (section 4).
    shares = [
        sd**2 / part.n * (1.0 if is_by_table else part.design)
        for (sd, is_by_table), part in zip(spreads, parts, strict=True)
    ]
    error = math.sqrt(math.fsum(shares)) / len(shares)
    weights = zip(shares, parts, strict=True)
    free = math.fsum(shares) ** 2 / math.fsum(share**2 / part.mean.df for share, part in weights)
    s_d = error * math.sqrt(total)
    drop = smallest_drop(total, s_d, level=level, df=free)
    latest = "the two latest runs" if gate.baseline else "the latest run"
    mark = "; spread assumed" if known_spreads is None else f"; spread of {latest}"
    change = "drop" if gate.at_least else "rise"
    limit = "the bound"
    if gate.baseline:
        limit = "the baseline" if abs(gate.bound) < 1e-9 else "the margin"
    correlated = (
        part.design > 1 and not is_by_table
        for (_, is_by_table), part in zip(spreads, parts, strict=True)
    )
    if any(correlated):
        mark += f"; correlation {TABLE_CORRELATION:g} within tables assumed"
    over = "" if tables in (None, total) else f" over {counted(tables or 0, 'table')}"
    basis = f"({counted(total, 'example')}{over}{mark})"
    room = _room(gate)
    if drop > room:
        text = (
            f"too few examples to fail: it detects a {change} of {100 * drop:.1f} points in 80 % "
            f"of runs, but only {100 * room:.1f} are possible beyond {limit} {basis}; plan more "
            f"examples (--bench-limit)"
        )
        return result(None, s_d, known_spreads is None, text)
    text = f"detects a {change} of {100 * drop:.1f} points beyond {limit} in 80 % of runs {basis}"
    return result(drop, s_d, known_spreads is None, text)


def _room(gate: Gate) -> float:
    """Return how far beyond its bound a gate's value can be: from 0 to 1, differences from -1."""
    lowest = -1.0 if gate.baseline else 0.0
    return max(0.0, gate.bound - lowest if gate.at_least else 1.0 - gate.bound)


@dataclass(frozen=True)
class _PlannedExamples:
    """The planned examples of a dataset, by table; each is its own if the tables are unknown."""

    dataset: str
    tables: tuple[int, ...]
    has_tables: bool
    configurations: int

    @property
    def n(self) -> int:
        """The number of examples."""
        return sum(self.tables)

    @property
    def design(self) -> float:
        """The factor by which tables with several examples raise the variance (Kish 1965)."""
        size = sum(count**2 for count in self.tables) / self.n
        return 1 + (size - 1) * TABLE_CORRELATION

    @property
    def mean(self) -> ClusteredMean:
        """A mean over the tables, for its size and degrees of freedom."""
        return ClusteredMean(np.zeros(len(self.tables)), np.array(self.tables) / self.n)


def _planned(gate: Gate, scopes: Scopes, clusters: Clusters) -> list[_PlannedExamples]:
    """Return the planned examples and configurations of each of the gate's datasets."""
    parts = []
    for name in scopes.datasets(gate):
        if name not in scopes.new.datasets:
            continue
        side = scopes.new.datasets[name]
        counts = side.is_asked[:, columns_in_scope(side, gate)].sum(axis=1)
        if counts.any():
            planned = compress(side.examples, counts)
            table_of = clusters.get(name) or {}
            tables = Counter(table_of.get(example, (None, example)) for example in planned)
            has_tables = bool(table_of) and len(tables) > 1
            sizes = tuple(tables.values()) if has_tables else (1,) * tables.total()
            cells = max(1, round(float(counts[counts > 0].mean())))
            parts.append(_PlannedExamples(name, sizes, has_tables, cells))
    return parts


def _spread(
    gate: Gate, earlier: Scopes | None, names: Sequence[str]
) -> list[tuple[float, bool]] | None:
    """Return the standard deviation of each dataset in earlier runs; None if they show none.

    Each comes with whether it includes the correlation within tables, because the runs name
    their tables. For a gate against a baseline it is the deviation of two runs' paired
    differences, otherwise of the newer run. A dataset without earlier values gets the mean
    variance of the others. Values without any variance are ignored: they are too few.
    """
    if earlier is None:
        return None
    variances: list[tuple[float | None, bool]] = []
    for name in names:
        sample = collect(replace(gate, scope=name), earlier)
        part = None if sample.problem else moments(sample.values, sample.clusters)
        by_table = part is not None and sample.result.clusters is not None
        variances.append((None if part is None else part.variance * part.n, by_table))
    present = [variance for variance, _ in variances if variance is not None]
    if not any(present):
        return None
    rest = math.fsum(present) / len(present)
    return [
        (math.sqrt(rest if variance is None else variance), by_table)
        for variance, by_table in variances
    ]
