"""The gates of a finished run: from the command line, or its own."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.entries import listing

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import Gate
    from pytest_tablebench.results import ScoreTable
    from pytest_tablebench.results.run_facts import RunFacts


def add_gates(parser: argparse.ArgumentParser, default: str, baseline: str) -> None:
    """Add the options of gates; `default` and `baseline` complete their help texts."""
    parser.add_argument(
        "--bench-gate",
        action="append",
        metavar="EXPR",
        help=f"gate, such as 'torr.performance >= 0.45'. Repeatable. Default: {default}",
    )
    parser.add_argument(
        "--bench-gate-point",
        action="store_true",
        help="judge gates by the estimates, without intervals",
    )
    parser.add_argument(
        "--bench-judge-uncalibrated",
        action="store_true",
        help="let gates take the marks of a judge as they are, without labels by people",
    )
    parser.add_argument("--bench-baseline", type=Path, metavar="RUN", help=baseline)


def add_different_judges(parser: argparse.ArgumentParser, prefix: str = "") -> None:
    """Add the option that lets two runs of different judges be compared."""
    parser.add_argument(
        "--different-judges",
        action="store_true",
        help=f"{prefix}compare runs whose answers were marked by different judges, or by one with "
        f"other parameters or prompts",
    )


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
