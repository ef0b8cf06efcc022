"""Plots of a run's page, with coordinates worked out by hand."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from pytest_tablebench.documents._charts import (
    band_plot,
    histogram_plot,
    win_rate_plot,
)
from pytest_tablebench.documents.svg import BLUE, ORANGE
from tests.support.present import present


def points(plot, **attributes):
    """Return the points of the paths that have these attributes."""
    paths = ElementTree.fromstring(plot.svg).iter("path")
    names = {name.replace("_", "-"): value for name, value in attributes.items()}
    return [
        [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", present(path.get("d")))]
        for path in paths
        if all(path.get(name) == value for name, value in names.items())
    ]


def texts(plot):
    return [text.text for text in ElementTree.fromstring(plot.svg).iter("text")]


def test_a_histogram_has_a_step_per_bin_as_high_as_its_count():
    plot = present(histogram_plot("Latency", "seconds", {"latency": [1.0] * 3 + [100.0]}))
    [steps] = points(plot, fill=BLUE)
    heights = [130 - y for _, y in steps]
    # The highest step is 3 of an axis that ends at 3.15, over 112 units.
    assert max(heights) == pytest.approx(3 / 3.15 * 112, abs=0.1)
    assert sum(height > 0 for height in heights) == 4  # two steps of two corners
    assert heights[-2] == pytest.approx(1 / 3.15 * 112, abs=0.1)  # 100 s, in the last bin
    assert plot.text == "latency: 1 to 100"
    assert [label for label in texts(plot) if label not in {"seconds", "cases"}] == [
        *("1", "10", "100"),
        *("0", "1", "2", "3"),
    ]


def test_each_of_two_series_has_a_colour_and_a_name():
    plot = histogram_plot("Tokens", "tokens", {"prompt": [200.0, 210.0], "completion": [3.0]})
    assert len(points(plot, fill=BLUE)) == len(points(plot, fill=ORANGE)) == 2
    assert {"prompt", "completion"} <= set(texts(plot))


@pytest.mark.parametrize(
    "values", [[], [0.0, -1.0], [float("inf")]], ids=["none", "not positive", "infinite"]
)
def test_without_a_positive_number_there_is_no_histogram(values):
    assert histogram_plot("Latency", "seconds", {"latency": values}) is None


@pytest.mark.parametrize("value", [1e-12, 5.0, 3e11])
def test_a_single_number_has_a_histogram(value):
    assert max(130 - y for _, y in points(histogram_plot("", "", {"": [value]}), fill=BLUE)[0]) > 0


def test_bars_of_win_rates_are_proportional_and_labelled():
    plot = present(win_rate_plot("Win rates", {"csv": 0.25, "html": 0.75}))
    longer, shorter = points(plot, fill=BLUE)  # the best is first
    length = {name: bar[1][0] - bar[0][0] for name, bar in (("html", longer), ("csv", shorter))}
    assert length["html"] == pytest.approx(3 * length["csv"], abs=0.2)
    assert {"0.750", "0.250"} <= set(texts(plot))
    assert plot.text == "highest html 0.750, lowest csv 0.250"
    assert win_rate_plot("Win rates", {"csv": 1.0}) is None


def test_a_band_spans_the_lowest_to_the_highest_score_sorted_by_mean():
    plot = present(band_plot("Range", {"wikitq": [(0.0, 0.5, 1.0), (0.0, 0.25, 0.5)]}))
    [band] = points(plot, fill_opacity="0.45")
    bottom, top = max(y for _, y in band), min(y for _, y in band)
    [mean] = points(plot, stroke=BLUE)
    assert mean[0][0] < mean[1][0]
    # Sorted by the mean: .25 first, then .5, in the middle of the highest band.
    assert [y for _, y in mean] == [
        pytest.approx(bottom - 0.25 * (bottom - top), abs=0.1),
        pytest.approx((bottom + top) / 2, abs=0.1),
    ]
    assert not plot.wide
    assert band_plot("Range", {"wikitq": [(0.0, 0.5, 1.0)]}) is None


def test_many_datasets_are_in_rows_of_five_and_many_examples_are_thinned():
    ranges = {f"d{n}": [(0.0, m / 1000, 1.0) for m in range(1000)] for n in range(7)}
    plot = present(band_plot("Range", ranges))
    assert plot.wide
    assert [len(mean) for mean in points(plot, stroke=BLUE)] == [400] * 7
    assert len({mean[0] for mean in points(plot, stroke=BLUE)}) == 7


def test_any_name_is_escaped():
    names = {"<script>alert(1)</script>": 0.2, "a" * 40: 0.3, "a" * 41: 0.5}
    shown = texts(win_rate_plot("", names))
    assert "<script>alert(1)</script>" in shown
    assert len({label for label in shown if label.endswith("aaa")}) == 2  # distinguishable
