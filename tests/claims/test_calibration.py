"""Agreement of people, calibration of judges, and corrected means."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from pytest_tablebench.claims._labelled_mean import (
    LabelledMean,
    combined,
    corrected_mean,
    plain_values,
    rogan_gladen,
)
from pytest_tablebench.claims.calibration import (
    calibrate,
    corrected_cases,
    family,
    judged_figures,
)
from pytest_tablebench.claims.people import kappa, krippendorff, people_agreement
from pytest_tablebench.results.judged_cases import JudgedCase
from pytest_tablebench.results.labelled_cases import LabelledCases
from tests.support.present import present

FOUR_PEOPLE = [
    "1 1 - 1", "2 2 3 2", "3 3 3 3", "3 3 3 3", "2 2 2 2", "1 2 3 4", "4 4 4 4", "1 1 2 1",
    "2 2 2 2", "- 5 5 5", "- - 1 1", "- 3 - -",
]  # fmt: skip
"""The example of Krippendorff (2011): twelve units, four people; alpha .743 and .849."""


@pytest.mark.parametrize(("metric", "alpha"), [("nominal", 0.743), ("interval", 0.849)])
def test_alpha_equals_the_published_example(metric: str, alpha: float) -> None:
    units = [[float(mark) for mark in row.split() if mark != "-"] for row in FOUR_PEOPLE]
    figure = krippendorff(units, range(12), metric=metric)
    assert figure.examples == 11
    assert figure.value == pytest.approx(alpha, abs=5e-4)
    assert figure.interval is not None
    assert figure.interval[0] < alpha <= figure.interval[1]


def test_kappa_of_verdicts_by_hand() -> None:
    # 20, 5, 10, 15 of 50: agreement .7, by chance .5, so .4 (Wikipedia's example of Cohen's kappa).
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    first, second = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    figure = kappa(first, second, range(50), weighted=False)
    assert figure.value == pytest.approx(0.4)
    # Its large-sample interval is about .4 +/- .25.
    assert figure.interval == pytest.approx((0.15, 0.65), abs=0.06)
    # With all answers of one cluster the bootstrap knows nothing.
    assert kappa(first, second, [0] * 50, weighted=False).interval is None


NAMES = {"serializer": "html", "perturbation": "none", "strategy": "direct", "modality": "text"}


def case(number: int, mark: float, **more: object) -> JudgedCase:
    base = JudgedCase(
        f"d/{number}", "m", "d", str(number), NAMES, mark, "gpt_eval",
        True, 0.5, f"\0{number}", number, 10 * number,
    )  # fmt: skip
    return replace(base, **more)  # type: ignore[arg-type]


def test_people_are_compared_where_both_labelled() -> None:
    labels = [{"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 1.0}, {"a": 1.0}, {"b": 0.0, "c": 0.0}]
    people = people_agreement([case(n, 1.0, labels=entry) for n, entry in enumerate(labels)])
    assert people is not None
    assert people.people == ("a", "b", "c")
    assert [(pair.people, pair.kappa.examples, pair.equal) for pair in people.pairs] == [
        (("a", "b"), 2, 0.5),
        (("b", "c"), 1, 1.0),
    ]
    assert people_agreement([case(1, 1.0, labels={"a": 1.0})]) is None


def test_a_lenient_judge_has_a_positive_bias_in_its_long_replies() -> None:
    cases = [
        case(n, 1.0, labels={"ann": float(n < 20)}, tags={"kind": "x" if n < 10 else "y"})
        for n in range(30)
    ]
    report = calibrate(LabelledCases(tuple(cases), 30, 0, False), judge="a/o3", model="b/gpt-4o")
    assert report is not None
    assert report.bias.value == pytest.approx(1 / 3)
    assert [bias.value for bias in report.bias_by_length.values()] == [0, 0, 1]
    rows = {row.group: (row.both_right, row.lenient) for row in report.confusion}
    assert rows == {"all": (20, 10), "d": (20, 10), "kind=x": (10, 0), "kind=y": (10, 10)}
    assert report.own_family is True


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("openai/gpt-4o", "azure/o3-mini", True),
        ("bedrock/anthropic.claude-3-opus", "anthropic/claude-4", True),
        ("google/gemma-2", "vertex/gemini-1.5", True),
        ("tablebench/lexical", "openai/gpt-4o", False),
        ("olmo-2", "o1", False),
    ],
)
def test_families_are_names_of_makers(first: str, second: str, same: bool) -> None:
    assert (family(first) == family(second)) is same


def plain(n: int, labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    truth = (draw.random(n) < 0.6).astype(float)
    marks = np.where(draw.random(n) < 0.1, 1 - truth, truth)
    return marks, np.where(np.arange(n) < labels, truth, np.nan)


def test_without_information_in_the_marks_the_labels_alone_count() -> None:
    marks, labels = np.full(400, 0.7), plain(400, 100)[1]
    result = corrected_mean(marks, labels, np.ones(400), np.arange(400))
    assert result is not None
    assert result.mean == pytest.approx(np.nanmean(labels))
    # The usual standard error of a mean of 100, but for small terms.
    assert result.se == pytest.approx(np.nanstd(labels, ddof=1) / 10, rel=0.05)


def test_the_estimate_is_the_regression_estimator_of_survey_sampling() -> None:
    marks, labels = plain(1000, 200)
    result = corrected_mean(marks, labels, np.ones(1000), np.arange(1000))
    assert result is not None
    known = ~np.isnan(labels)
    slope = np.cov(labels[known], marks[known])[0, 1] / np.var(marks[known], ddof=1)
    expected = labels[known].mean() + slope * (marks.mean() - marks[known].mean())
    assert result.mean == pytest.approx(expected, abs=0.003)
    # Var = residual variance / n + slope^2 * covariance terms of all marks.
    rest = labels[known] - slope * marks[known]
    variance = rest.var(ddof=2) / 200 + (labels[known].var() - rest.var()) / 1000
    assert result.variance == pytest.approx(variance, rel=0.1)
    assert 0.5 < (result.weight or 0) <= 1


def test_perfect_agreement_still_has_an_interval_of_unseen_errors() -> None:
    truth = (np.arange(2000) % 5 < 3).astype(float)
    labels = np.where(np.arange(2000) % 40 == 0, truth, np.nan)
    labels[np.arange(2000) % 40 == 13] = truth[13]
    result = corrected_mean(truth, labels, np.ones(2000), np.arange(2000))
    assert result is not None
    low, high = result.bounds()
    assert high - low > 0.05
    assert low < 0.6 < high


def test_strata_remove_the_bias_of_a_sample_by_marks() -> None:
    # 900 low marks, all truly wrong; 100 high marks, half truly right; 50 labels from each.
    marks = np.repeat([0.0, 1.0], [900, 100])
    labels = np.full(1000, np.nan)
    labels[:50], labels[900:950] = 0.0, np.arange(50) % 2
    strata = marks.astype(int)
    result = corrected_mean(marks, labels, np.ones(1000), np.arange(1000), strata=strata)
    assert result is not None
    assert result.mean == pytest.approx(0.05)


@given(
    mean=st.floats(0, 1), se=st.floats(0.01, 0.2), df=st.integers(5, 300),
    bound=st.floats(0.01, 0.99), above=st.booleans(),
)  # fmt: skip
def test_a_gate_fails_exactly_where_its_interval_ends(
    mean: float, se: float, df: int, bound: float, above: bool
) -> None:
    result = LabelledMean(mean, mean, 1.0, se * se, df, 50, 50, 100)
    tail = result.failure_tail(bound, above=above)
    assert 0 <= tail <= 1
    if 1e-6 < tail < 0.499:
        end = result.bounds(tail)[1 if above else 0]
        assert end == pytest.approx(bound, abs=1e-6)


def test_a_difference_of_the_same_clusters_has_less_variance() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 1.0]
    first = plain_values(values, list("abcde"))
    other = plain_values(values, list("vwxyz"))
    assert first is not None
    assert other is not None
    assert combined([first, first], [1, -1]).se < 1e-5
    assert combined([first, other], [1, -1]).se == pytest.approx(sqrt(2 * first.variance))
    assert combined([first, other], [1, -1]).df == pytest.approx(8)
    low, high = combined([first, other], [1, -1]).difference_bounds()
    assert high == pytest.approx(student.ppf(0.975, 8) * sqrt(2 * first.variance))
    assert low == -high


def test_rogan_and_gladen_by_hand() -> None:
    # (.2 + .95 - 1) / (.9 + .95 - 1) = .15 / .85.
    result = rogan_gladen(0.2, 500, (0.9, 100), (0.95, 100))
    assert result is not None
    assert result.value == pytest.approx(0.15 / 0.85)
    low, high = present(result.interval)
    assert low < present(result.value) < high
    # With perfect knowledge of the errors the interval is Wald's, divided by .85.
    exact = rogan_gladen(0.5, 10**6, (0.9, 10**9), (0.95, 10**9))
    assert exact is not None
    low, high = present(exact.interval)
    assert high - low == pytest.approx(2 * 1.959964 * 0.5e-3 / 0.85, rel=1e-3)
    assert rogan_gladen(0.5, 100, (0.5, 50), (0.5, 50)) is None


def test_the_figure_of_a_dataset_needs_twenty_labels() -> None:
    cases = [case(n, float(n % 2), labels={"ann": 1.0} if n < 19 else {}) for n in range(60)]
    [figure] = judged_figures(LabelledCases(tuple(cases), 19, 0, False)).values()
    assert (figure["naive"], figure["value"], figure["rate"]) == (0.5, None, None)
    more = [case(n, float(n % 2), labels={"ann": n % 2} if n < 40 else {}) for n in range(60)]
    [figure] = judged_figures(LabelledCases(tuple(more), 40, 0, False)).values()
    assert figure["value"] == pytest.approx(0.5)
    assert figure["rate"]["rate"] == pytest.approx(0.5)


def test_a_rate_is_of_verdicts() -> None:
    cases = [
        case(n, 0.6 if n % 2 else 0.3, labels={"ann": 0.7 if n % 2 else 0.2}) for n in range(40)
    ]
    rate = corrected_cases(cases, is_sampled=False, rate=True)
    assert rate is not None
    assert rate.mean == pytest.approx(0.5)
    mean = corrected_cases(cases, is_sampled=False)
    assert mean is not None
    assert mean.mean == pytest.approx(0.45)
