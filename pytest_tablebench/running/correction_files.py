"""The files of corrections of a run: of the option, or of its datasets' folders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.errors import DataError, SettingsError

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import Dataset
    from pytest_tablebench.registry import Registry

FLAG = "--bench-corrections"


@dataclass(frozen=True)
class CorrectionFile:
    """A file of corrections.

    Arguments:
        path: the file.
        name: its name in `run.json` and on reports.
        place: the option, or the settings file that names it, for messages.
        dataset: the only dataset whose corrections are used; None for all datasets.
    """

    path: Path
    name: str
    place: str = FLAG
    dataset: str | None = None


def option_file(path: Path) -> CorrectionFile:
    """Return the file of the option `--bench-corrections`."""
    return CorrectionFile(path, path.name)


def folder_file(dataset: Dataset, folder: Path) -> CorrectionFile | None:
    """Return the file that the settings of a dataset's folder name; None without one.

    Raises `SettingsError` for a file that is missing or outside the folder.
    """
    if not dataset.corrections:
        return None
    from pytest_tablebench.datasets.folder.tables import FolderTables

    prefix = "" if dataset.folder == "." else f"{dataset.folder}/"
    place = f"{prefix}tablebench.toml, corrections"
    try:
        path = FolderTables(folder).path(dataset.corrections)
    except DataError as error:
        raise SettingsError(f"{place}: {error}") from None
    name = f"{prefix}{dataset.corrections}"
    return CorrectionFile(path, name, place, dataset.name)


def correction_files(
    settings: Settings, registry: Registry, datasets: Iterable[str]
) -> list[CorrectionFile]:
    """Return the files of corrections of a run over some datasets.

    The option replaces the files of the folders. Raises `SettingsError` as `folder_file` does.
    """
    if settings.corrections is not None:
        return [option_file(settings.corrections)]
    declared = (registry.datasets.get(name) for name in sorted(set(datasets)))
    files = (
        folder_file(dataset, settings.data_folder() / dataset.folder)
        for dataset in declared
        if dataset is not None and dataset.corrections
    )
    return [file for file in files if file is not None]


def has_corrections(settings: Settings, registry: Registry, datasets: Iterable[str]) -> bool:
    """Return whether a run over some datasets has corrections, without reading their files."""
    return settings.corrections is not None or any(
        registry.datasets[name].corrections for name in datasets if name in registry.datasets
    )
