"""Statistics in plain Python, from their formulas; the other way uses scipy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, quantiles


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _moment(values: Sequence[float], power: int) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** power for value in values) / len(values)


def spread(values: Sequence[float]) -> float:
    """Return the sample standard deviation, with n - 1."""
    return math.sqrt(_moment(values, 2) * len(values) / (len(values) - 1))


def skewness(values: Sequence[float]) -> float:
    """Return m3 / m2^1.5, from central moments with n."""
    return float(_moment(values, 3) / _moment(values, 2) ** 1.5)


def kurtosis(values: Sequence[float]) -> float:
    """Return m4 / m2^2 - 3, which is 0 for a normal distribution."""
    return float(_moment(values, 4) / _moment(values, 2) ** 2 - 3)


def pearson(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the coefficient of correlation."""
    mean_x, mean_y = _mean(first), _mean(second)
    pairs = list(zip(first, second, strict=True))
    product = math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs)
    squares = math.fsum((x - mean_x) ** 2 for x in first) * math.fsum(
        (y - mean_y) ** 2 for y in second
    )
    return product / math.sqrt(squares)


def ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values share their mean rank."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values), start=1):
        places.setdefault(value, []).append(place)
    return [sum(places[value]) / len(places[value]) for value in values]


def t_statistic(values: Sequence[float], expected: float) -> float:
    """Return (mean - expected) / (s / sqrt(n))."""
    return (_mean(values) - expected) / (spread(values) / math.sqrt(len(values)))


def welch(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return Welch's t and its degrees of freedom (Welch-Satterthwaite)."""
    error_x, error_y = (spread(values) ** 2 / len(values) for values in (first, second))
    freedom = (error_x + error_y) ** 2 / (
        error_x**2 / (len(first) - 1) + error_y**2 / (len(second) - 1)
    )
    return (_mean(first) - _mean(second)) / math.sqrt(error_x + error_y), freedom


def f_statistic(groups: Sequence[Sequence[float]]) -> tuple[float, int, int]:
    """Return F of a one-way analysis of variance and both degrees of freedom."""
    everything = [value for group in groups for value in group]
    mean = _mean(everything)
    between = math.fsum(len(group) * (_mean(group) - mean) ** 2 for group in groups)
    within = math.fsum(_moment(group, 2) * len(group) for group in groups)
    upper, lower = len(groups) - 1, len(everything) - len(groups)
    return (between / upper) / (within / lower), upper, lower


def chi_square_even(counts: Sequence[int]) -> float:
    """Return the sum of (observed - expected)^2 / expected, with equal expectations."""
    expected = sum(counts) / len(counts)
    return math.fsum((count - expected) ** 2 / expected for count in counts)


def tukey_outside(values: Sequence[float]) -> set[int] | None:
    """Return the places beyond 1.5 interquartile ranges; None if rules for quartiles disagree."""
    outside = []
    for method in ("inclusive", "exclusive"):
        low, _, high = quantiles(values, n=4, method=method)
        room = 1.5 * (high - low)
        outside.append({n for n, v in enumerate(values) if v < low - room or v > high + room})
    return outside[0] if outside[0] == outside[1] else None


def z_outside(values: Sequence[float]) -> set[int] | None:
    """Return the places beyond 3 standard deviations; None if it depends on n or n - 1."""
    mean, sample = _mean(values), spread(values)
    outside = [
        {n for n, value in enumerate(values) if abs(value - mean) > 3 * deviation}
        for deviation in (sample, sample * math.sqrt((len(values) - 1) / len(values)))
    ]
    return outside[0] if outside[0] == outside[1] else None


def shapiro_p(values: Sequence[float]) -> float:
    """Return the p-value of Shapiro and Wilk's test of normality, for 3 to 5000 values.

    Royston's approximation, Applied Statistics algorithm AS R94 (1995).
    """
    size, normal = len(values), NormalDist()
    scores = [normal.inv_cdf((place - 0.375) / (size + 0.25)) for place in range(1, size + 1)]
    total = math.fsum(score**2 for score in scores)
    u = 1 / math.sqrt(size)
    last = scores[-1] / math.sqrt(total) + _poly(u, 0, 0.221157, -0.147981, -2.07119, 4.434685,
                                                 -2.706056)  # fmt: skip
    weights = [0.0] * size
    if size == 3:
        last, edge, rest = math.sqrt(0.5), 1, 1.0
    elif size > 5:
        before = scores[-2] / math.sqrt(total) + _poly(u, 0, 0.042981, -0.293762, -1.752461,
                                                       5.682633, -3.582633)  # fmt: skip
        upper = total - 2 * scores[-1] ** 2 - 2 * scores[-2] ** 2
        rest, edge = math.sqrt(upper / (1 - 2 * last**2 - 2 * before**2)), 2
        weights[1], weights[-2] = -before, before
    else:
        rest, edge = math.sqrt((total - 2 * scores[-1] ** 2) / (1 - 2 * last**2)), 1
    weights[0], weights[-1] = -last, last
    for place in range(edge, size - edge):
        weights[place] = scores[place] / rest
    square = math.fsum(w * v for w, v in zip(weights, sorted(values), strict=True)) ** 2
    w = min(square / (_moment(values, 2) * size), 1 - 1e-15)
    if size == 3:
        return max(0.0, 6 / math.pi * (math.asin(math.sqrt(w)) - math.asin(math.sqrt(0.75))))
    log = math.log(size)
    if size <= 11:
        gamma = _poly(size, -2.273, 0.459)
        if math.log(1 - w) >= gamma:
            return 1e-19
        transformed = -math.log(gamma - math.log(1 - w))
        mean = _poly(size, 0.5440, -0.39978, 0.025054, -0.0006714)
        deviation = math.exp(_poly(size, 1.3822, -0.77857, 0.062767, -0.0020322))
    else:
        transformed = math.log(1 - w)
        mean = _poly(log, -1.5861, -0.31082, -0.083751, 0.0038915)
        deviation = math.exp(_poly(log, -0.4803, -0.082676, 0.0030302))
    return 1 - normal.cdf((transformed - mean) / deviation)


def _poly(x: float, *factors: float) -> float:
    return sum(factor * x**power for power, factor in enumerate(factors))
