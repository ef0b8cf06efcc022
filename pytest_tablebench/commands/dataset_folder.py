"""`tablebench new DIR` and `tablebench check DIR`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_tablebench.commands._suites import check_and_run
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import counted, printable


def add_parsers(commands: Any) -> None:
    """Add both commands to the `tablebench` parser."""
    new = commands.add_parser("new", help="write a small dataset folder to begin with")
    new.add_argument("folder", type=Path, metavar="DIR", help="folder that is not there yet")
    new.set_defaults(lines=_new)
    check = commands.add_parser("check", help="look for mistakes in dataset folders")
    check.add_argument("folder", type=Path, metavar="DIR", help="dataset folder, or one of them")
    check.add_argument(
        "--fix", action="store_true", help="mend what has only one meaning, and say what was done"
    )
    check.set_defaults(lines=_check)


def _new(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.datasets.folder import write_example

    folder: Path = options.folder
    names = write_example(folder)
    return [f"{printable(str(folder))}: {', '.join(names)}", *check_and_run(folder)], 0


def _check(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.datasets.folder import check_dataset, fix_dataset, folder_datasets
    from pytest_tablebench.running.builtins import command_registry

    datasets = list(folder_datasets(options.folder))
    if not datasets:
        raise DataError(
            f"no dataset in {options.folder}: it needs questions.csv, .jsonl or .xlsx; begin with "
            f"one that runs: tablebench new DIR"
        )
    registry = command_registry()
    names: dict[str, list[str]] = {
        "serializers": list(registry.serializers),
        "perturbations": list(registry.perturbations),
        "strategy": list(registry.strategies),
    }
    lines, code = [], 0
    for dataset in datasets:
        if options.fix:
            place = options.folder / dataset.folder
            done = fix_dataset(dataset, place)
            lines += [printable(f"{dataset.name}: fixed: {text}", 400) for text in done]
        checked = check_dataset(dataset, options.folder / dataset.folder, names)
        lines += [printable(str(problem), 400) for problem in checked.problems]
        lines += [printable(f"{dataset.name}: {note}", 400) for note in checked.notes]
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in checked.kinds.items())
        problems = counted(len(checked.problems), "problem") if checked.problems else "no problem"
        questions = counted(sum(checked.kinds.values()), "question")
        lines.append(f"{dataset.name}: {questions}{f' ({kinds})' if kinds else ''}, {problems}")
        code = 1 if checked.problems else code
    return lines, code
