"""Search for the datasets in a data folder, with the settings in their `tablebench.toml`."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from pathlib import Path

from pytest_tablebench.datasets.described import (
    SETTINGS_FILE,
    DescribedDataset,
    read_description,
)
from pytest_tablebench.datasets.files import PULL_RECORD
from pytest_tablebench.datasets.folder._dataset import FolderDataset
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.util.files import real_path

QUESTION_FILES = ("questions.csv", "questions.jsonl", "questions.xlsx")

TABLE_FILES = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".html", ".htm")


def folder_datasets(
    data: Path, taken: Collection[str] = ()
) -> Iterator[FolderDataset | DescribedDataset]:
    """Yield the datasets of a data folder: `data` itself if it is a dataset, and folders in it.

    A folder with wrong settings is a dataset too, and reports the mistakes when it is opened.
    `taken` are the names of other datasets. Raises `SettingsError` for a name that is taken.
    """
    places: dict[str, str] = {}
    for place in _places(data):
        dataset = _open(data, place)
        name = dataset.name
        if name in places or name in taken:
            other = f"{places[name]} and " if name in places else ""
            both = "have the same name" if other else "has the name of a built-in dataset"
            raise SettingsError(
                f"{data}: {other}{place} {both}, {name}; set "
                f'another one in {SETTINGS_FILE}: name = "..."'
            )
        places[name] = place
        yield dataset


def open_folder(data: Path, place: str) -> FolderDataset:
    """Return the dataset in the folder `place` of `data`; "." is `data` itself.

    Raises `DataError` for a described dataset, which has no question file of the folder format.
    """
    dataset = _open(data, place)
    if not isinstance(dataset, FolderDataset):
        raise DataError(f"{data / place}: {SETTINGS_FILE} describes rows, not your own questions")
    return dataset


def _open(data: Path, place: str) -> FolderDataset | DescribedDataset:
    folder = data / place
    folder_name = real_path(folder).name if place == "." else place
    description, mistakes = read_description(folder)
    name = _name(description.name or folder_name)
    problems = [(SETTINGS_FILE, mistake.text) for mistake in mistakes]
    if description.files is not None or description.rows is not None:
        return DescribedDataset(description, name, place, problems, is_own=True)
    files = [name for name in QUESTION_FILES if (folder / name).is_file()]
    if not problems and not files:
        problems.append(("", f"no questions: it needs one of {', '.join(QUESTION_FILES)}"))
    elif not problems and len(files) > 1:
        problems.append(("", f"has {' and '.join(files)}; keep one of them"))
    dataset = FolderDataset(description, name, place, problems, is_own=True)
    dataset.question_file = files[0] if files else QUESTION_FILES[0]
    return dataset


def _places(data: Path) -> list[str]:
    try:
        below = sorted(entry.name for entry in data.iterdir() if not entry.name.startswith("."))
    except OSError:  # the data folder does not exist
        return []
    return [place for place in [".", *below] if _is_dataset(data / place)]


def has_tables_alone(folder: Path) -> bool:
    """Return whether a folder has table files, but no questions and no subfolders."""
    try:
        entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return False
    is_table = any(entry.is_file() and entry.suffix.lower() in TABLE_FILES for entry in entries)
    return is_table and not any(entry.is_dir() for entry in entries) and not _is_dataset(folder)


def _is_dataset(folder: Path) -> bool:
    """Return whether a user wrote a dataset here; downloaded folders have other readers."""
    try:
        if (folder / PULL_RECORD).exists() and not (folder / SETTINGS_FILE).is_file():
            return False
        return any((folder / name).is_file() for name in (SETTINGS_FILE, *QUESTION_FILES))
    except OSError:  # the folder cannot be read
        return False


def _name(text: str) -> str:
    """Return a name that is valid in options, gates and case ids: letters, digits and `_`."""
    signs = unicodedata.normalize("NFC", text)
    kept = [
        sign if sign == "_" or unicodedata.category(sign)[0] in "LMN" else " " for sign in signs
    ]
    return "_".join("".join(kept).split())[:40].strip("_") or "own"
