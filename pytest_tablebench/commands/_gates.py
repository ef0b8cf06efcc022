"""The gates of a finished run: from the command line, or its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.entries import listing

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import Gate
    from pytest_tablebench.results import ScoreTable
    from pytest_tablebench.results.run_facts import RunFacts


def gates_of(texts: Sequence[str] | None, run: RunFacts, table: ScoreTable) -> list[Gate]:
    """Return the gates of the command, or else of the run.

    The run's own gates and its planned datasets are valid even if it was interrupted before any of
    their cases. Raises `SettingsError` for a gate that names nothing of the run.
    """
    from pytest_tablebench.claims.gate_names import check_corrected, check_gates
    from pytest_tablebench.claims.gates import parse_gates, recorded_gates

    run_gates = parse_gates(recorded_gates(run))
    gates, names = parse_gates(texts) if texts else run_gates, table.names
    check_corrected(gates, has_corrections=run.overlay is not None)
    if not texts:
        return run_gates
    check_gates(
        [gate for gate in gates if gate not in run_gates],
        sorted({*names["dataset"], *run.datasets}),
        names["benchmark"],
        {
            axis.plural: sorted({*names[axis.name], *listing(run.grid.get(axis.plural))} - {""})
            for axis in NAMED
        },
    )
    return gates


def check_baseline(gates: Iterable[Gate]) -> None:
    """Raise `SettingsError` for a gate that compares with a baseline, if none is given."""
    from pytest_tablebench.claims.gates import baseline_needed, gate_without_baseline

    gate = gate_without_baseline(gates)
    if gate is not None:
        raise SettingsError(baseline_needed(gate))
