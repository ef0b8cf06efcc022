"""Benchmarks without code: `tablebench.toml` describes the files of a dataset."""

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets.described._dataset import DescribedDataset, TomlDataset
    from pytest_tablebench.datasets.described._description import (
        SETTINGS_FILE,
        DatasetDescription,
        read_description,
    )
    from pytest_tablebench.datasets.described._guess import write_guess

__all__ = [
    "SETTINGS_FILE",
    "DatasetDescription",
    "DescribedDataset",
    "TomlDataset",
    "read_description",
    "write_guess",
]

__getattr__ = lazily(
    __name__,
    {
        "_dataset": ("DescribedDataset", "TomlDataset"),
        "_description": ("SETTINGS_FILE", "DatasetDescription", "read_description"),
        "_guess": ("write_guess",),
    },
)
