"""A folder is a dataset: questions in one file, tables beside it, no code.

`folder_datasets` finds them; nothing else is imported before one is opened.
"""

from pytest_tablebench.datasets.folder._dataset import FolderDataset
from pytest_tablebench.datasets.folder._find import QUESTION_FILES, SETTINGS_FILE, folder_datasets

__all__ = ["QUESTION_FILES", "SETTINGS_FILE", "FolderDataset", "folder_datasets"]
