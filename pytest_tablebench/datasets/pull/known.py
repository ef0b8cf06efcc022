"""The upstream sources that datasets name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pytest_tablebench.datasets._benchmark import built_in_datasets
from pytest_tablebench.datasets._dataset import Dataset
from pytest_tablebench.datasets.pull._upstream import Upstream


def known_sources(datasets: Iterable[Dataset]) -> dict[str, Upstream]:
    """Return the sources that datasets name, by the source's name."""
    upstreams: dict[str, Upstream] = {}
    for dataset in datasets:
        source = dataset.upstream
        if source is not None:
            others = upstreams.get(source.name, source).serves
            upstreams[source.name] = replace(source, serves=(*others, dataset.name))
    return upstreams


UPSTREAM: Mapping[str, Upstream] = known_sources(built_in_datasets())
"""The sources of the built-in datasets, by name."""
