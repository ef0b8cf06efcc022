"""The variance and the degrees of freedom of a mean over clusters of any sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.estimate import moments


def by_vectors(values: list[float], groups: list[int]) -> tuple[float, float]:
    """Return CR2 variance and degrees of freedom, with the specification's vectors of length n."""
    n, names = len(values), sorted(set(groups))
    d, g = np.array(values), np.array(groups)
    rest = d - d.mean()
    variance, rows = 0.0, []
    for name in names:
        inside = g == name
        share = inside.sum() / n
        variance += (rest[inside].sum() / math.sqrt(1 - share)) ** 2 / n**2
        rows.append((inside - share) / (math.sqrt(1 - share) * n))
    b = np.array(rows) @ np.array(rows).T
    return variance, float(np.trace(b) ** 2 / (b**2).sum())


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=8).flatmap(
        lambda sizes: st.tuples(
            st.just([name for name, size in enumerate(sizes) for _ in range(size)]),
            st.lists(st.integers(-20, 20), min_size=sum(sizes), max_size=sum(sizes)),
        )
    )
)
def test_the_closed_form_equals_the_vectors(drawn: tuple[list[int], list[int]]) -> None:
    groups, whole = drawn
    values = [number / 20 for number in whole]
    stats = moments([values], [groups])
    assert stats is not None
    variance, df = by_vectors(values, groups)
    if stats.df is None:
        assert variance < 1e-12
        return
    assert stats.variance == pytest.approx(variance, rel=1e-9)
    assert stats.df == pytest.approx(max(1.0, df), rel=1e-9)


def test_equal_clusters_have_one_degree_less_than_their_number() -> None:
    values, groups = [0.0, 1.0, 0.5, 1.0, 0.0, 0.25], [1, 1, 2, 2, 3, 3]
    stats = moments([values], [groups])
    assert stats is not None
    assert stats.df == pytest.approx(2)
    # Cluster sums of the residuals: .0833, .5833, -.6667; times 3/2, divided by 6 squared.
    assert stats.variance == pytest.approx(
        1.5 * (0.08333**2 + 0.58333**2 + 0.66667**2) / 36, rel=1e-4
    )


def test_a_giant_cluster_leaves_little_more_than_one_degree_of_freedom() -> None:
    values = [0.1] * 20 + [-0.1] * 20 + [0.2, -0.2] * 10
    stats = moments([values], [[0] * 40 + list(range(1, 21))])
    assert stats is not None
    assert stats.df is not None
    assert 1 <= stats.df < 3
