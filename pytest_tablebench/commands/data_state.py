"""The state of a dataset's files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.errors import DataError, DataMissing

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Dataset


def data_state(dataset: Dataset, data: Path) -> tuple[str, str]:
    """Return `installed`, `missing` or `unusable`, and "", what to do or the reason."""
    from pytest_tablebench.datasets.files import how_to_get

    folder = data / dataset.folder
    try:
        source = dataset.open(folder)
        if source.example_ids(1) or not source.problems:
            return "installed", ""
        return "unusable", str(source.problems[0])
    except DataMissing:
        return "missing", how_to_get(dataset.fetch, folder)
    except DataError as error:
        return "unusable", str(error)
