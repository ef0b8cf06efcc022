"""The sources of all built-in datasets, as their own modules name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pytest_tablebench.datasets._benchmark import built_in_datasets
from pytest_tablebench.datasets.pull._upstream import Upstream


def known_sources() -> dict[str, Upstream]:
    """Return the source of every dataset that names one, by the source's name."""
    upstreams: dict[str, Upstream] = {}
    for dataset in built_in_datasets():
        source = dataset.upstream
        if source is not None:
            others = upstreams.get(source.name, source).serves
            upstreams[source.name] = replace(source, serves=(*others, dataset.name))
    return upstreams


UPSTREAM: Mapping[str, Upstream] = known_sources()
"""Every source that `tablebench pull` knows, by name."""
