"""The values of charts that are drawn here; what was put in is what has to come out."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from pytest_tablebench.metrics._chart_axes import CHART_TYPES, axes_values
from pytest_tablebench.metrics._chart_values import judge_values


@pytest.fixture
def axes() -> Iterator[Any]:
    figure = Figure()
    yield figure.subplots()
    figure.clear()


def test_lines(axes: Any) -> None:
    axes.plot(["a", "b", "c"], [3, 5, 4])
    axes.plot([1, 2], np.array([7, 8], dtype=np.int64))
    assert axes_values(axes, "LineChart") == [[3.0, 5.0, 4.0], [7.0, 8.0]]
    assert axes_values(axes, "LineChart Generation") == axes_values(axes, "line")
    assert axes_values(axes, "bar") == []
    assert axes_values(axes, "pie") == []


def test_a_masked_value_is_no_number(axes: Any) -> None:
    axes.plot([1, 2], np.ma.masked_array([3.0, 4.0], [False, True]))
    (values,) = axes_values(axes, "line")
    assert values[0] == 3
    assert isnan(values[1])


def test_bars(axes: Any) -> None:
    axes.bar([0, 1, 2], [5, -2, 0], bottom=[0, 5, 3])
    assert axes_values(axes, "BarChart") == [5.0, -2.0, 0.0]
    assert axes_values(axes, "waterfall") == [5.0, -2.0, 0.0]


def test_bars_that_lie_show_their_lengths_to_hbar_alone(axes: Any) -> None:
    axes.barh([0, 1], [5, 6], height=0.5)
    assert axes_values(axes, "hbar") == [5.0, 6.0]
    assert axes_values(axes, "BarChart") == [0.5, 0.5]


def test_shares(axes: Any) -> None:
    axes.pie([10, 30, 60])
    assert axes_values(axes, "PieChart Generation") == [0.1, 0.3, 0.6]
    assert axes_values(axes, "bar") == []


def test_points(axes: Any) -> None:
    axes.scatter([1, 2], [2, 4])
    axes.scatter([1], [8])
    assert axes_values(axes, "ScatterChart") == [[2.0, 4.0], [8.0]]
    assert axes_values(axes, "line") == []


def test_the_closing_point_of_a_radar() -> None:
    polar = Figure().add_subplot(projection="polar")
    polar.plot([0, 2, 4, 0], [3, 4, 5, 3])
    assert axes_values(polar, "radar") == [[3.0, 4.0, 5.0]]


def test_areas_are_read_by_their_corners(axes: Any) -> None:
    axes.fill_between([1, 2, 3], [1, 2, 4])
    values = axes_values(axes, "area")
    assert judge_values(values, "[[1, 2, 4]]", shares=False) == "true"
    axes.clear()
    # A value of 0 cannot be told from the ground.
    axes.fill_between([1, 2, 3], [0, 2, 4])
    assert judge_values(axes_values(axes, "area"), "[[0, 2, 4]]", shares=False) == "false"
    axes.clear()
    # A stack's outline goes from the first value along the ground to the last one, back over all
    # values, and to where it began: the first and the last value count again.
    axes.stackplot([1, 2, 3], [1, 2, 4])
    (heights,) = axes_values(axes, "area")
    assert sorted(heights) == [1, 1, 1, 2, 4, 4]


@pytest.mark.parametrize("chart_type", CHART_TYPES)
def test_empty_axes_show_nothing(axes: Any, chart_type: str) -> None:
    assert axes_values(axes, chart_type) == []


@pytest.mark.parametrize("chart_type", ["", "Histogram", "ChartLine"])
def test_other_charts_are_not_read(axes: Any, chart_type: str) -> None:
    with pytest.raises(KeyError):
        axes_values(axes, chart_type)


def test_what_is_no_number_is_no_value(axes: Any) -> None:
    axes.plot([1, 2], ["low", "high"])
    with pytest.raises(ValueError, match="low"):
        axes_values(axes, "line")
