"""Lines on labels by people: agreement, calibration of a judge, and corrected means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.documents.formats import interval, number
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.claims.calibration import Calibration
    from pytest_tablebench.claims.estimate import Estimate
    from pytest_tablebench.claims.people import PeopleAgreement

MOST_GROUPS = 30
"""The number of lines of the table by dataset and tag."""

CARRIED_OVER = (
    "labels carried over from another run (--bench-labels) cover unchanged answers only: changed "
    "answers have no label until people give one"
)
"""The note on the reach of labels."""


def _span(bounds: Sequence[float] | None) -> str:
    return "no interval" if bounds is None else interval(bounds)


def _figure(figure: Estimate) -> str:
    return f"{number(figure.value)} ({_span(figure.interval)})"


def judged_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return the judged means of a summary, naive and corrected; none for a run without labels."""
    entry = summary.get("judged")
    if not isinstance(entry, Mapping):
        return []
    lines = []
    for name, figure in entry["datasets"].items():
        text = (
            f"{printable(name, 60)}: mean {printable(figure['part'], 40)} by the judge "
            f"{figure['naive']:.3f} ({_span(figure['naive_ci95'])})"
        )
        labels = f"{counted(figure['n_labels'], 'label')} of {counted(figure['n_cases'], 'answer')}"
        if figure["value"] is None:
            lines.append(f"{text}; too few labels to correct it ({labels})")
            continue
        text += f"; corrected {figure['value']:.3f} ({_span(figure['ci95'])}) by {labels}"
        if figure["rate"] is not None:
            rate = figure["rate"]
            text += f"; Rogan and Gladen {rate['rate']:.3f} ({_span(rate['interval'])})"
        lines.append(text)
    if entry["n_others"]:
        lines.append(
            f"{counted(entry['n_others'], 'label')} of other answers or other cases ignored"
        )
    return lines


def people_lines(people: PeopleAgreement | None) -> list[str]:
    """Return the agreement of people."""
    if people is None:
        return ["people: no answer has labels by two people, so their agreement is unknown"]
    lines = [
        f"people: {counted(people.nominal.examples, 'answer')} labelled by at least two of "
        f"{len(people.people)}; Krippendorff's alpha {_figure(people.nominal)} nominal, "
        f"{_figure(people.interval)} interval"
    ]
    return lines + [
        f"  {printable(pair.people[0], 40)} and {printable(pair.people[1], 40)}: "
        f"{counted(pair.kappa.examples, 'answer')}, {100 * pair.equal:.0f} % equal, kappa "
        f"{_figure(pair.kappa)}, weighted {_figure(pair.weighted)}"
        for pair in people.pairs
    ]


def calibration_lines(calibration: Calibration) -> list[str]:
    """Return the comparison of a judge with people."""
    judge = printable(calibration.judge or "the judge (not recorded)", 100)
    labels = counted(calibration.n_labels, "label")
    sampling = (
        "a proposed sample; only the corrected means are weighted by its strata"
        if calibration.is_sampled
        else "taken as a random sample"
    )
    lines = [
        f"{judge}: {labels} of {counted(calibration.n_cases, 'judged answer')} ({sampling})",
        f"  {100 * calibration.equal:.1f} % equal marks in tenths, weighted kappa "
        f"{_figure(calibration.kappa)}",
        f"  {100 * calibration.verdicts:.1f} % equal verdicts, kappa "
        f"{_figure(calibration.kappa_of_verdicts)}",
        "  verdicts (judge/people): right/right, right/wrong, wrong/right, wrong/wrong",
    ]
    lines += [
        f"    {printable(row.group, 60)}: {row.both_right}, {row.lenient}, {row.strict}, "
        f"{row.both_wrong}"
        for row in calibration.confusion[:MOST_GROUPS]
    ]
    more = len(calibration.confusion) - MOST_GROUPS
    if more > 0:
        lines.append(f"    {more} more groups (all of them with --json)")
    lines += ["  bias (mean of mark minus label)", *_bias_lines(calibration)]
    return lines


def _bias_lines(calibration: Calibration) -> Iterator[str]:
    yield f"    all: {_bias(calibration.bias)}"
    for lengths, bias in calibration.bias_by_length.items():
        yield f"    replies of {lengths}: {_bias(bias)}"
    yield "    by position: not known, since the judge marks one answer at a time"
    if calibration.own_family is None:
        yield "    by family: not known, since the run does not name its judge"
    elif calibration.own_family:
        yield (
            "    by family: judge and model have the same family name, so all of this bias is "
            "towards its own family"
        )
    else:
        yield "    by family: judge and model have different family names"


def _bias(bias: Estimate) -> str:
    span, answers = _span(bias.interval), counted(bias.examples, "answer")
    return f"{bias.value:+.3f} ({span}), {answers}"
