"""The datasets of the descriptions next to this file."""

from __future__ import annotations

from pathlib import Path

from pytest_tablebench.datasets.described import DescribedDataset

DATASETS = tuple(map(DescribedDataset.built_in, sorted(Path(__file__).parent.glob("*.toml"))))
