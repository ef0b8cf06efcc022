"""The `tablebench` command: what can be run, and what finished runs say."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from pytest_tablebench.errors import DataError, DataMissing, TableBenchError
from pytest_tablebench.names import printable

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, or 2 for what cannot be done, said in one line."""
    parser = argparse.ArgumentParser(
        prog="tablebench", description="Language models on table benchmarks. Runs start in pytest."
    )
    version = metadata.version("pytest-tablebench")
    parser.add_argument("--version", action="version", version=f"pytest-tablebench {version}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="datasets, formats, perturbations, built-in models")
    listing.add_argument("--bench-data", type=Path, metavar="DIR", help="dataset folder")
    listing.set_defaults(run=lambda given: _list(given.bench_data))

    report = commands.add_parser("report", help="the table of a run, finished or cut off")
    report.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folder")
    report.set_defaults(run=lambda given: _report(given.runs))

    given = parser.parse_args(arguments)
    # A terminal that cannot show a character gets an escape for it instead of a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        given.run(given)
    except TableBenchError as error:
        print(f"tablebench: {printable(str(error))}", file=sys.stderr)
        return 2
    return 0


def _list(data: Path | None) -> None:
    from pytest_tablebench.perturbations import GRID
    from pytest_tablebench.registry import builtin_registry
    from pytest_tablebench.settings import Settings

    registry = builtin_registry()
    folder = Settings(data=data).data_folder()
    print(f"datasets (data folder {folder})")
    for name, dataset in registry.datasets.items():
        try:
            dataset.open(folder / name)
            state = "there"
        except DataMissing:
            state = f"missing; get it with: {dataset.get.format(folder=folder / name)}"
        except DataError as error:
            state = f"unusable; {printable(str(error))}"
        print(f"  {name:<12} {dataset.benchmark:<8} {state}")
    print("serializers\n  " + " ".join(registry.serializers))
    extra = [name for name in registry.perturbations if name not in GRID]
    print("perturbations\n  " + " ".join(GRID) + "\n  outside the grid: " + " ".join(extra))
    print("built-in models\n  tablebench/lexical tablebench/scripted:FILE")


def _report(runs: Sequence[Path]) -> None:
    from pytest_tablebench.reports.terminal import summary_lines
    from pytest_tablebench.results import read_records, read_run, summarize

    for folder in runs:
        run = read_run(folder)
        records = list(read_records(folder))
        planned = run.get("cases_planned")
        print(f"{printable(str(run.get('model')))}  ({printable(str(folder))})")
        if planned is None or len(records) < planned:
            print(f"cut off: {len(records)} of {planned or '?'} cases are recorded")
        for line in summary_lines(summarize(records)):
            print(line)
