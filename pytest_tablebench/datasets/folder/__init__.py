"""Datasets in folders, without code: a file of questions with table files next to it.

`folder_datasets` finds these folders.
"""

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets.folder._check import (
        FolderCheck,
        check_dataset,
        check_described,
    )
    from pytest_tablebench.datasets.folder._dataset import (
        QUESTION_FILES,
        FolderDataset,
        folder_datasets,
        has_tables_alone,
        open_folder,
    )
    from pytest_tablebench.datasets.folder._fix import fix_dataset, write_example

__all__ = [
    "QUESTION_FILES",
    "FolderCheck",
    "FolderDataset",
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
        "_check": ("FolderCheck", "check_dataset", "check_described"),
        "_dataset": (
            *("QUESTION_FILES", "FolderDataset", "folder_datasets", "has_tables_alone"),
            *("open_folder",),
        ),
        "_fix": ("fix_dataset", "write_example"),
    },
)
