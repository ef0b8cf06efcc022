"""Calibrate a judge against labels by people, and correct the mean of its marks by them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pytest_tablebench.claims._labelled_mean import (
    FEWEST_LABELS,
    LabelledMean,
    case_weights,
    corrected_mean,
    plain_values,
    rogan_gladen,
)
from pytest_tablebench.claims.estimate import Estimate, estimate
from pytest_tablebench.claims.people import kappa
from pytest_tablebench.results.judged_cases import JudgedCase
from pytest_tablebench.results.labelled_cases import LabelledCases, mark_bin
from pytest_tablebench.util.arrays import np

RIGHT = 0.5
"""The mark from which an answer without a threshold counts as right."""

FEWEST_GROUP = 5
"""The number of labels that a line of a table by tag needs."""

WORST_VARIANCE = 0.25
"""The largest variance of a number from 0 to 1."""


def cluster_name(case: JudgedCase) -> Hashable:
    """Return the cluster of a case; datasets may share a table, but not an example's own name."""
    return (case.dataset, case.cluster) if case.cluster.startswith("\0") else case.cluster


def same_meaning(cases: Sequence[JudgedCase]) -> list[JudgedCase]:
    """Return the cases whose perturbation preserves the meaning; of a dataset without, all."""
    plain = {case.dataset for case in cases if case.preserves_meaning}
    return [case for case in cases if case.preserves_meaning or case.dataset not in plain]


def is_right(case: JudgedCase, mark: float) -> bool:
    """Return the verdict on a case for a mark or a label."""
    return mark >= (RIGHT if case.threshold is None else case.threshold) - 1e-9


def corrected_cases(
    cases: Sequence[JudgedCase], *, is_sampled: bool, rate: bool = False
) -> LabelledMean | None:
    """Return the corrected mean over datasets of the mean over examples; None with few labels.

    With `rate` marks and labels are first turned into verdicts. With `is_sampled` the labels are a
    random sample within each dataset and range of marks (`mark_bin`), else of all cases.
    """
    if not cases:
        return None
    datasets = sorted({case.dataset for case in cases})
    weights = np.zeros(len(cases))
    for name in datasets:
        places = [index for index, case in enumerate(cases) if case.dataset == name]
        members = [cases[index] for index in places]
        weights[places] = case_weights(
            [case.example_id for case in members], [case.configuration for case in members]
        ) / len(datasets)
    marks = np.array([float(is_right(case, case.mark)) if rate else case.mark for case in cases])
    labels = np.array([_label(case, rate=rate) for case in cases])
    names = list(dict.fromkeys(map(cluster_name, cases)))
    numbers = {name: number for number, name in enumerate(names)}
    strata = sampling = None
    if is_sampled:
        keys = [(case.dataset, mark_bin(case.mark)) for case in cases]
        order = {key: number for number, key in enumerate(sorted(set(keys)))}
        strata = np.array([order[key] for key in keys])
        sampling = np.array([case.weight or 1.0 for case in cases])
    clusters = np.array([numbers[cluster_name(case)] for case in cases])
    result = corrected_mean(
        marks, labels, weights, clusters, strata=strata, sampling=sampling, names=names
    )
    examples = len({(case.dataset, case.example_id) for case in cases})
    return None if result is None else replace(result, n=examples)


def _label(case: JudgedCase, *, rate: bool) -> float:
    if case.label is None:
        return float("nan")
    return float(is_right(case, case.label)) if rate else case.label


def naive_cases(cases: Sequence[JudgedCase]) -> LabelledMean | None:
    """Return the mean of the judge's marks alone, with the variance of its cases; one dataset."""
    by_example: dict[str, list[tuple[Hashable, float]]] = defaultdict(list)
    clusters: dict[str, Hashable] = {}
    for case in cases:
        by_example[case.example_id].append((case.configuration, case.mark))
        clusters[case.example_id] = cluster_name(case)
    values = []
    for pairs in by_example.values():
        weights = case_weights([0] * len(pairs), [key for key, _ in pairs])
        values.append(float(weights @ np.array([mark for _, mark in pairs])))
    return plain_values(values, [clusters[name] for name in by_example])


def judged_figures(labelled: LabelledCases) -> dict[str, dict[str, Any]]:
    """Return the means of a judge's marks in each dataset, naive and corrected by labels.

    An entry of `summary.json` has the `naive` mean, whose interval takes the marks for the truth,
    and the corrected `value` with its `weight` (`LabelledMean.weight`); None with too few labels.
    `rate` is the rate of right answers by Rogan and Gladen, where all marks and labels are 0 or 1.
    """
    by_dataset: dict[str, list[JudgedCase]] = defaultdict(list)
    for case in same_meaning(labelled.cases):
        by_dataset[case.dataset].append(case)
    figures = {}
    for name, cases in sorted(by_dataset.items()):
        naive = naive_cases(cases)
        corrected = corrected_cases(cases, is_sampled=labelled.is_sampled)
        figure = Estimate() if corrected is None else corrected.estimate
        figures[name] = {
            "part": cases[0].part,
            "naive": sum(c.mark for c in cases) / len(cases) if naive is None else naive.mean,
            "naive_ci95": None if naive is None else naive.bounds(),
            "value": figure.value,
            "ci95": figure.interval,
            "weight": None if corrected is None else corrected.weight,
            "n_labels": sum(bool(case.labels) for case in cases),
            "n_cases": len(cases),
            "n_examples": len({case.example_id for case in cases}),
            "rate": _rate(cases, labelled, naive),
        }
    return figures


def _rate(
    cases: Sequence[JudgedCase], labelled: LabelledCases, naive: LabelledMean | None
) -> dict[str, Any] | None:
    both = [case for case in cases if case.label is not None]
    if naive is None or len(both) < FEWEST_LABELS:
        return None
    if {case.mark for case in cases} - {0.0, 1.0} or {case.label for case in both} - {0.0, 1.0}:
        return None
    weights = _label_weights(cases, both, is_sampled=labelled.is_sampled)
    shares = []
    for label in (1.0, 0.0):
        of_label = [
            (weight, case.mark == label)
            for weight, case in zip(weights, both, strict=True)
            if case.label == label
        ]
        total = sum(weight for weight, _ in of_label)
        if not total:
            return None
        share = sum(weight for weight, agrees in of_label if agrees) / total
        # Kish's effective number of weighted labels.
        shares.append((share, total**2 / sum(weight**2 for weight, _ in of_label)))
    rate = rogan_gladen(naive.mean, naive.size, *shares)
    if rate is None:
        return None
    (sensitivity, _), (specificity, _) = shares
    return {
        "rate": rate.value,
        "interval": rate.interval,
        "sensitivity": sensitivity,
        "specificity": specificity,
    }


def _label_weights(
    cases: Sequence[JudgedCase], both: Sequence[JudgedCase], *, is_sampled: bool
) -> list[float]:
    if not is_sampled:
        return [1.0] * len(both)
    totals = Counter(mark_bin(case.mark) for case in cases)
    chosen = Counter(mark_bin(case.mark) for case in both)
    return [totals[mark_bin(case.mark)] / chosen[mark_bin(case.mark)] for case in both]


@dataclass(frozen=True)
class Confusion:
    """The verdicts of judge and people in a group of labelled answers.

    `lenient` answers are right for the judge alone, `strict` ones for the people alone.
    """

    group: str
    both_right: int
    lenient: int
    strict: int
    both_wrong: int

    @property
    def n(self) -> int:
        """The number of labelled answers."""
        return self.both_right + self.lenient + self.strict + self.both_wrong


@dataclass(frozen=True)
class Calibration:
    """A judge compared with people, over the labelled answers.

    Args:
        equal: the share of marks that equal the label, both rounded to tenths.
        verdicts: the share of equal verdicts.
        bias: the mean of mark minus label, also of the replies of some lengths.
        kappa: quadratic weighted kappa of marks in tenths; `kappa_of_verdicts` of verdicts.
        own_family: whether judge and model have the same family name; None without a judge's name.
    """

    judge: str | None
    model: str
    n_labels: int
    n_others: int
    n_cases: int
    is_sampled: bool
    equal: float
    verdicts: float
    kappa: Estimate
    kappa_of_verdicts: Estimate
    confusion: tuple[Confusion, ...]
    bias: Estimate
    bias_by_length: Mapping[str, Estimate]
    own_family: bool | None

    def to_json(self) -> dict[str, Any]:
        """Return the content for JSON."""
        return asdict(self)


def calibrate(labelled: LabelledCases, *, judge: str | None, model: str) -> Calibration | None:
    """Return the comparison of a judge with people; None without labels."""
    cases = labelled.labelled
    if not cases:
        return None
    labels = [case.label or 0.0 for case in cases]
    marks = [case.mark for case in cases]
    clusters = [cluster_name(case) for case in cases]
    rights = [
        (is_right(case, case.mark), is_right(case, label))
        for case, label in zip(cases, labels, strict=True)
    ]
    tenths = [(int(10 * a + 0.5), int(10 * b + 0.5)) for a, b in zip(marks, labels, strict=True)]
    sides = [[float(pair[side]) for pair in rights] for side in (0, 1)]
    return Calibration(
        judge,
        model,
        labelled.n_labels,
        labelled.n_others,
        len(labelled.cases),
        labelled.is_sampled,
        sum(a == b for a, b in tenths) / len(cases),
        sum(a == b for a, b in rights) / len(cases),
        kappa(marks, labels, clusters),
        kappa(sides[0], sides[1], clusters, weighted=False),
        tuple(_confusions(cases, rights)),
        _bias(cases),
        _by_length(cases),
        None if judge is None else family(judge) == family(model),
    )


def _confusions(
    cases: Sequence[JudgedCase], rights: Sequence[tuple[bool, bool]]
) -> Iterable[Confusion]:
    groups: dict[str, Counter[tuple[bool, bool]]] = {"all": Counter(rights)}
    for case, pair in zip(cases, rights, strict=True):
        names = [case.dataset, *(f"{tag}={value}" for tag, value in case.tags.items())]
        for name in names:
            groups.setdefault(name, Counter())[pair] += 1
    datasets = {case.dataset for case in cases}
    for name in sorted(groups, key=lambda name: (name != "all", name not in datasets, name)):
        counts = groups[name]
        if name == "all" or name in datasets or counts.total() >= FEWEST_GROUP:
            yield Confusion(
                name,
                counts[True, True],
                counts[True, False],
                counts[False, True],
                counts[False, False],
            )


def _bias(cases: Sequence[JudgedCase]) -> Estimate:
    errors = [case.mark - (case.label or 0.0) for case in cases]
    return estimate([errors], [[cluster_name(case) for case in cases]], paired=True)


def _by_length(cases: Sequence[JudgedCase]) -> dict[str, Estimate]:
    """Return the bias in thirds of the labelled answers, by the length of the reply."""
    if len(cases) < 3 * FEWEST_GROUP:
        return {}
    ordered = sorted(cases, key=lambda case: (case.length, case.case_id))
    third = len(ordered) / 3
    biases = {}
    for index in range(3):
        members = ordered[round(index * third) : round((index + 1) * third)]
        lengths = f"{members[0].length:,} to {members[-1].length:,} characters"
        biases[lengths] = _bias(members)
    return biases


_MAKERS = {
    **dict.fromkeys(("gpt", "chatgpt", "o1", "o3", "o4", "openai"), "openai"),
    **dict.fromkeys(("claude", "anthropic"), "anthropic"),
    **dict.fromkeys(("gemini", "gemma", "google"), "google"),
    **dict.fromkeys(("llama", "meta"), "meta"),
    **dict.fromkeys(("mistral", "mixtral", "ministral", "codestral", "magistral"), "mistral"),
    **dict.fromkeys(("qwen", "qwq"), "qwen"),
}


def family(model: str) -> str:
    """Return the family of a model's name.

    It is the first word of the last part of the name, as `claude` in `bedrock/claude-3`. Names of
    one maker are one family: GPT and o3, Gemini and Gemma.
    """
    last = model.rpartition("/")[2].rpartition(":")[2].lower()
    word = next(iter(re.findall(r"o[134](?![a-z])|[a-z]+", last)), last)
    return _MAKERS.get(word, word)


def summary_entry(labelled: LabelledCases) -> Mapping[str, Any]:
    """Return the entry `judged` of `summary.json`: the judged means of each dataset."""
    return {
        "n_labels": labelled.n_labels,
        "n_others": labelled.n_others,
        "is_sampled": labelled.is_sampled,
        "datasets": judged_figures(labelled),
    }


@dataclass(frozen=True)
class ExpectedInterval:
    """Half the width of a dataset's 95 % interval with a proposed sample.

    `is_estimated` is whether the variance of errors is known from labels; otherwise it is the
    worst.
    """

    dataset: str
    n_labels: int
    half_width: float
    is_estimated: bool


def expected_intervals(
    labelled: LabelledCases, sample: Sequence[JudgedCase]
) -> list[ExpectedInterval]:
    """Return the expected interval of each dataset in a sample, with its labels so far."""
    from scipy.special import stdtrit

    entries = []
    new = Counter(case.dataset for case in sample)
    for name in sorted(new):
        cases = [case for case in same_meaning(labelled.cases) if case.dataset == name]
        naive, old = naive_cases(cases), [case for case in cases if case.labels]
        is_estimated = len(old) >= FEWEST_LABELS
        error_variance = WORST_VARIANCE
        if is_estimated:
            errors = [case.mark - (case.label or 0.0) for case in old]
            error_variance = float(np.var(errors, ddof=1)) + 1 / len(old) ** 2
        number = new[name] + len(old)
        # The errors of marks add to the variance of the mean of all marks.
        variance = (0.0 if naive is None else naive.variance) + error_variance / number
        width = float(stdtrit(max(1, number - 2), 0.975)) * math.sqrt(variance)
        entries.append(ExpectedInterval(name, number, width, is_estimated))
    return entries
