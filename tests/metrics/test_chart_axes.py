"""The values read from the axes of charts equal the values drawn."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from pytest_tablebench.metrics._chart_axes import _READERS, axes_values, drawn_series
from pytest_tablebench.metrics.chart_values import judge_printed


@pytest.fixture
def axes() -> Iterator[Any]:
    figure = Figure()
    yield figure.subplots()
    figure.clear()


def drawn(axes: Any, chart_type: str) -> list[list[float]]:
    """Return the series read from the axes."""
    return drawn_series(axes.figure, axes, chart_type)[0]


def test_lines_are_read_by_their_points(axes: Any) -> None:
    axes.plot(["a", "b", "c"], [3, 5, 4])
    axes.plot([1, 2], np.array([7, 8], dtype=np.int64))
    assert axes_values(axes, "LineChart") == [[3.0, 5.0, 4.0], [7.0, 8.0]]
    assert axes_values(axes, "LineChart Generation") == axes_values(axes, "line")
    assert axes_values(axes, "bar") == []
    assert axes_values(axes, "pie") == []
    assert drawn(axes, "bar") == drawn(axes, "pie") == []


def test_a_masked_value_is_no_number(axes: Any) -> None:
    axes.plot([1, 2], np.ma.masked_array([3.0, 4.0], [False, True]))
    (values,) = axes_values(axes, "line")
    assert values[0] == 3
    assert isnan(values[1])


def test_bars_are_read_by_their_lengths(axes: Any) -> None:
    axes.bar([0, 1, 2], [5, -2, 0], bottom=[0, 5, 3])
    assert axes_values(axes, "BarChart") == [5.0, -2.0, 0.0]
    assert axes_values(axes, "waterfall") == [5.0, -2.0, 0.0]


def test_horizontal_bars_are_read_only_as_hbar(axes: Any) -> None:
    axes.barh([0, 1], [5, 6], height=0.5)
    assert axes_values(axes, "hbar") == [5.0, 6.0]
    assert axes_values(axes, "BarChart") == [0.5, 0.5]


def test_pies_are_read_as_shares(axes: Any) -> None:
    axes.pie([10, 30, 60])
    assert axes_values(axes, "PieChart Generation") == [0.1, 0.3, 0.6]
    assert drawn(axes, "pie") == [pytest.approx([0.1, 0.3, 0.6])]
    assert drawn(axes, "bar") == []


def test_the_shadow_of_a_pie_is_no_wedge_in_the_published_reading(axes: Any) -> None:
    axes.pie([10, 30], shadow=True)
    assert drawn(axes, "pie") == [pytest.approx([0.25, 0.75])]
    with pytest.raises(AttributeError):
        axes_values(axes, "pie")


def test_scatter_plots_are_read_by_their_points(axes: Any) -> None:
    axes.scatter([1, 2], [2, 4])
    axes.scatter([1], [8])
    assert axes_values(axes, "ScatterChart") == [[2.0, 4.0], [8.0]]
    assert axes_values(axes, "line") == []


def test_the_closing_point_of_a_radar_is_dropped() -> None:
    polar = Figure().add_subplot(projection="polar")
    polar.plot([0, 2, 4, 0], [3, 4, 5, 3])
    assert axes_values(polar, "radar") == [[3.0, 4.0, 5.0]]


def test_areas_are_read_by_their_corners_in_the_published_reading(axes: Any) -> None:
    axes.fill_between([1, 2, 3], [1, 2, 4])
    (heights,) = axes_values(axes, "area")
    assert sorted(heights) == [1, 2, 4]
    axes.clear()
    # The outline of a stack runs along the ground from the first to the last value, back over all
    # values, and to its start, so the first and the last value are counted twice.
    axes.stackplot([1, 2, 3], [1, 2, 4])
    (heights,) = axes_values(axes, "area")
    assert sorted(heights) == [1, 1, 1, 2, 4, 4]


def test_areas_are_read_by_their_thickness(axes: Any) -> None:
    axes.fill_between([1, 2, 3], [0, 2, -4])
    assert drawn(axes, "area") == [[0.0, 2.0, -4.0]]
    axes.clear()
    axes.stackplot(["a", "b", "c"], [1, 2, 4], [5, 0, 2])
    assert drawn(axes, "area") == [[1.0, 2.0, 4.0], [5.0, 0.0, 2.0]]
    axes.clear()
    pd.DataFrame({"p": [1, 2], "q": [3, 4]}).plot.area(ax=axes)
    assert drawn(axes, "area") == [[1.0, 2.0], [3.0, 4.0]]


def test_bars_are_horizontal_or_vertical(axes: Any) -> None:
    axes.barh(["a", "b"], [5, 6])
    assert drawn(axes, "bar") == drawn(axes, "hbar") == [[5.0, 6.0]]
    axes.clear()
    axes.bar(["a", "b"], [5, 6])
    assert drawn(axes, "bar") == [[5.0, 6.0]]
    assert drawn(axes, "hbar") == []


def test_bars_of_several_series_are_read_both_ways(axes: Any) -> None:
    pd.DataFrame({"p": [1, 2], "q": [3, 4]}).plot.bar(ax=axes)
    series, by_place, *_ = drawn_series(axes.figure, axes, "bar")
    assert (series, by_place) == ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 3.0], [2.0, 4.0]])


def test_annotations_of_a_chart_are_not_read(axes: Any) -> None:
    axes.errorbar([1, 2], [3, 5], yerr=[1, 1], capsize=4)
    axes.axhline(4)
    axes.axvline(1.5)
    axes.axline((1, 3), slope=2)
    axes.plot([], [])
    assert drawn(axes, "line") == [[3.0, 5.0]]
    axes.clear()
    axes.bar([1, 2], [3, 5], yerr=[1, 1], capsize=4)
    axes.axhspan(1, 2)
    axes.axvspan(1, 2)
    axes.axhline(4)
    assert drawn(axes, "bar") == [[3.0, 5.0]]
    axes.clear()
    axes.scatter([1, 2], [3, 5])
    axes.fill_between([1, 2], [2, 4], [4, 6])
    axes.plot([1, 2], [3, 5])  # a trend line
    axes.axhspan(1, 2)
    assert drawn(axes, "scatter") == [[3.0, 5.0]]


def test_points_can_be_markers_of_a_line(axes: Any) -> None:
    axes.plot([1, 2], [3, 5], "o")
    axes.plot([1, 2], [4, 6], marker="x", linestyle="")
    assert drawn(axes, "scatter") == [[3.0, 5.0], [4.0, 6.0]]
    axes.errorbar([1, 2], [7, 8], yerr=[1, 1], fmt="s", capsize=3)
    assert drawn(axes, "scatter")[2:] == [[7.0, 8.0]]


def test_twin_axes_and_subplots_are_one_figure() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2], [3, 5])
    twin = axes.twinx()
    twin.plot([1, 2], [30, 50])
    assert drawn_series(figure, twin, "line") == [[[30.0, 50.0]], [[3.0, 5.0], [30.0, 50.0]]]
    figure = Figure()
    first, second = figure.subplots(1, 2)
    first.bar(["a"], [1])
    second.bar(["b"], [2])
    assert drawn_series(figure, second, "bar") == [[[2.0]], [[1.0], [2.0]], [[1.0, 2.0]]]


def test_texts_are_not_rounded(axes: Any) -> None:
    axes.plot([1, 2, 3], ["3", "5", "4"])
    assert drawn_series(axes.figure, axes, "line") == []
    # The scripts print texts, which cannot be rounded.
    assert axes_values(axes, "line") == [["3", "5", "4"]]
    assert judge_printed("[['3', '5', '4']]", "[[3, 5, 4]]", shares=False) == "unreadable"
    axes.clear()
    axes.bar(["a", "b"], ["0", "1"])
    assert drawn_series(axes.figure, axes, "bar") == []
    axes.clear()
    axes.scatter([1, 2], ["0", "1"])
    assert drawn_series(axes.figure, axes, "scatter") == []


@pytest.mark.parametrize("chart_type", _READERS)
def test_empty_axes_have_no_values(axes: Any, chart_type: str) -> None:
    assert axes_values(axes, chart_type) == []
    assert drawn(axes, chart_type) == []


@pytest.mark.parametrize("chart_type", ["", "Histogram", "ChartLine"])
def test_other_charts_are_not_read(axes: Any, chart_type: str) -> None:
    with pytest.raises(KeyError):
        axes_values(axes, chart_type)
