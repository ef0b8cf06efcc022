"""Datasets in folders, without code: a file of questions with table files next to it.

`folder_datasets` finds these folders.
"""

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets.folder._answers import answer_context
    from pytest_tablebench.datasets.folder._check import FolderCheck, check_dataset
    from pytest_tablebench.datasets.folder._check_described import check_described
    from pytest_tablebench.datasets.folder._dataset import FolderDataset
    from pytest_tablebench.datasets.folder._example import write_example
    from pytest_tablebench.datasets.folder._find import (
        QUESTION_FILES,
        folder_datasets,
        has_tables_alone,
        open_folder,
    )
    from pytest_tablebench.datasets.folder._fix import fix_dataset

__all__ = [
    "QUESTION_FILES",
    "FolderCheck",
    "FolderDataset",
    "answer_context",
    "check_dataset",
    "check_described",
    "fix_dataset",
    "folder_datasets",
    "has_tables_alone",
    "open_folder",
    "write_example",
]

# Every session imports this package to find benchmarks, so its modules are imported lazily.
__getattr__ = lazily(
    __name__,
    {
        "_answers": ("answer_context",),
        "_check": ("FolderCheck", "check_dataset"),
        "_check_described": ("check_described",),
        "_dataset": ("FolderDataset",),
        "_example": ("write_example",),
        "_find": (*("QUESTION_FILES", "folder_datasets", "has_tables_alone", "open_folder"),),
        "_fix": ("fix_dataset",),
    },
)
