"""The datasets that the TOML files next to this module describe."""

from __future__ import annotations

from pathlib import Path

from pytest_tablebench.datasets.described import DescribedDataset

DATASETS = tuple(map(DescribedDataset.built_in, sorted(Path(__file__).parent.glob("*.toml"))))
