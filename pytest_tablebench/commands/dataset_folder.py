"""`tablebench new DIR` and `tablebench check DIR`."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands._suites import check_and_run
from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.datasets.described import SETTINGS_FILE
from pytest_tablebench.errors import DataError, SettingsError

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Dataset, Problem
    from pytest_tablebench.datasets.folder import FolderCheck


def new_folder(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.datasets.folder import write_example

    folder: Path | None = options.folder
    if options.questions is not None:
        return _describe(options.questions, folder), 0
    if folder is None:
        raise SettingsError("name a new folder: tablebench new DIR")
    names = write_example(folder)
    return [f"{folder}: {', '.join(names)}", *check_and_run(folder)], 0


def _describe(questions: Path, folder: Path | None) -> list[str]:
    """Write a description of a file of questions; return the guesses and the next steps."""
    from pytest_tablebench.datasets.described import write_guess

    if not questions.is_file():
        raise DataError(f"{questions} does not exist")
    place = questions.parent if folder is None else folder
    if folder is not None and folder.resolve() != questions.resolve().parent:
        try:
            folder.mkdir(parents=True)
            shutil.copyfile(questions, folder / questions.name)
        except OSError as error:
            raise DataError(f"{folder} cannot be written: {error.strerror or error}") from None
    lines = write_guess(place, questions.name)
    return [f"{place / SETTINGS_FILE}:", *lines, *check_and_run(place)]


def check_folders(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.datasets.folder import (
        FolderDataset,
        check_dataset,
        check_described,
        fix_dataset,
        folder_datasets,
    )
    from pytest_tablebench.reports.folder_check import folder_report
    from pytest_tablebench.running.builtins import command_registry

    data: Path = options.folder.parent if options.folder.name == SETTINGS_FILE else options.folder
    datasets = list(folder_datasets(data))
    if not datasets:
        raise DataError(
            f"no dataset in {options.folder}: it needs questions.csv, .jsonl or .xlsx; "
            f"`tablebench new DIR` writes an example"
        )
    places = (data, *(data / dataset.folder for dataset in datasets))
    registry = command_registry(None, *places)
    names: dict[str, list[str]] = {
        "serializers": list(registry.serializers),
        "perturbations": list(registry.perturbations),
        "strategy": list(registry.strategies),
        "metric": list(registry.metrics),
        "chain": list(registry.postprocessors),
    }
    checks: list[tuple[str, FolderCheck, list[str]]] = []
    for dataset in datasets:
        place, repairs = data / dataset.folder, []
        if not isinstance(dataset, FolderDataset):
            checked = check_described(dataset, place, names)
        else:
            repairs = fix_dataset(dataset, place) if options.fix else []
            checked = check_dataset(dataset, place, names)
        problems = (*checked.problems, *_of_corrections(dataset, place))
        checks.append((dataset.name, replace(checked, problems=problems), repairs))
    return CommandAnswer(
        folder_report(checks),
        [
            {
                "dataset": name,
                "kinds": check.kinds,
                "problems": [asdict(problem) for problem in check.problems],
                "notes": check.notes,
                "fixed": repairs,
            }
            for name, check, repairs in checks
        ],
        int(any(check.problems for _, check, _ in checks)),
    )


def _of_corrections(dataset: Dataset, folder: Path) -> Iterator[Problem]:
    """Yield the mistakes in the file of corrections that a dataset folder names."""
    from pytest_tablebench.datasets import Problem
    from pytest_tablebench.errors import TableBenchError
    from pytest_tablebench.running.correction_files import folder_file

    try:
        file = folder_file(dataset, folder)
        if file is None:
            return
        from pytest_tablebench.running.correcting import correction_problems, load_corrections

        corrections = load_corrections(file)
    except SettingsError as error:
        settings, _, message = str(error).partition(": ")
        yield Problem(settings, None, "", message)
        return
    try:
        source = dataset.open(folder)
        examples = {dataset.name: source.example_ids(None)}
    except TableBenchError:  # reported already
        return
    for _, message in correction_problems(corrections, examples, lambda _: source):
        yield Problem(file.name, None, "", message)
