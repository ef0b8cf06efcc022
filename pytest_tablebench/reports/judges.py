"""Judges: the plan of their calls, two judges, people's labels, and rules checked by people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.estimate import Estimate, clopper_pearson
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import interval, number, table_of
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.claims.calibration import Calibration
    from pytest_tablebench.claims.estimate import Estimate
    from pytest_tablebench.claims.people import PeopleAgreement
    from pytest_tablebench.results.judges import Agreement, Flips
    from pytest_tablebench.running.judged_replies import ErrorRates, JudgedReply
    from pytest_tablebench.running.pricing import AskPlan


def plan_sentence(plan: AskPlan) -> str:
    """Return the numbers of questions and of paid calls, with their price."""
    line = (
        f"{plan.model}: {counted(plan.questions, 'question')}, {plan.hits:,} in the answer store, "
        f"{counted(plan.calls, 'call')} to pay"
    )
    if not plan.calls:
        return line
    if plan.prompt_tokens is not None:
        line += f": about {plan.prompt_tokens:,} tokens of prompts"
    if plan.completion_tokens is not None:
        line += f", at most {plan.completion_tokens:,} of replies"
    if plan.cost_usd is None:
        return f"{line}; price unknown"
    return f"{line}, at most ${plan.cost_usd:.2f}"


def agreement_blocks(
    agreements: Mapping[str, Agreement], flips: Flips | None
) -> Iterator[doc.Block]:
    """Yield the agreement of two judges, and the marks and verdicts that the new one changed."""
    for name, agreement in agreements.items():
        yield doc.Paragraph(
            f"{name}: both judges marked {counted(agreement.answers, 'answer')}; agreement kappa "
            f"{number(agreement.kappa)} (of tens, weighted by the square of the distance), rank "
            f"correlation {number(agreement.rank)}"
        )
    if flips is None or not flips.higher + flips.lower:
        return
    yield doc.Paragraph(
        f"the new judge marks {counted(flips.higher, 'answer')} higher and {flips.lower:,} lower; "
        f"verdicts: {flips.to_right:,} from wrong to right, {flips.to_wrong:,} from right to wrong"
    )
    yield doc.Listing(
        [
            f"{flip.case_id}: {flip.before:.2f} to {flip.after:.2f}"
            + (", another verdict" if flip.is_verdict else "")
            for flip in flips.largest
        ]
    )


def preference_sentence(judge: str, counts: Mapping[str, int]) -> str:
    """Return how often a judge preferred the gold, the other answer, or contradicted itself."""
    names = {"first": "the gold", "second": "the other answer"}
    parts = ", ".join(f"{names.get(name, name)} {count}" for name, count in sorted(counts.items()))
    return f"{judge}: {parts or 'no example has another answer to ask about'}"


MOST_GROUPS = 30
"""The number of rows of the table by dataset and tag."""

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
            f"{name}: mean {figure['part']} by the judge {figure['naive']:.3f} "
            f"({_span(figure['naive_ci95'])})"
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


def labels_report(
    calibration: Calibration, people: PeopleAgreement | None, judged: Mapping[str, Any]
) -> doc.Document:
    """Return a judge compared with people, the agreement of people, and the corrected means."""
    blocks = [*_calibration(calibration), *_bias(calibration), *_people(people)]
    blocks += [doc.Heading("Means corrected by labels", 3), doc.Listing(judged_lines(judged))]
    return doc.Document("Judge and people", [*blocks, doc.Paragraph(CARRIED_OVER)])


def _calibration(calibration: Calibration) -> Iterator[doc.Block]:
    sampling = (
        "a proposed sample; only the corrected means are weighted by its strata"
        if calibration.is_sampled
        else "taken as a random sample"
    )
    yield doc.Paragraph(
        f"{calibration.judge or 'the judge (not recorded)'}: "
        f"{counted(calibration.n_labels, 'label')} of "
        f"{counted(calibration.n_cases, 'judged answer')} ({sampling})"
    )
    yield doc.Listing(
        [
            f"{100 * calibration.equal:.1f} % equal marks in tenths, weighted kappa "
            f"{_figure(calibration.kappa)}",
            f"{100 * calibration.verdicts:.1f} % equal verdicts, kappa "
            f"{_figure(calibration.kappa_of_verdicts)}",
        ]
    )
    yield doc.Heading("Verdicts (judge/people)", 3)
    rows: list[Sequence[doc.Cell]] = [
        (
            doc.Code(row.group, 60),
            *(
                doc.Figure(count, "count")
                for count in (row.both_right, row.lenient, row.strict, row.both_wrong)
            ),
        )
        for row in calibration.confusion
    ]
    titles = ("", "right/right", "right/wrong", "wrong/right", "wrong/wrong")
    yield replace(table_of(titles, rows), most=MOST_GROUPS)


def _bias(calibration: Calibration) -> Iterator[doc.Block]:
    yield doc.Heading("Bias (mean of mark minus label)", 3)
    lengths = calibration.bias_by_length
    biases = {"all": calibration.bias, **{f"replies of {name}": lengths[name] for name in lengths}}
    rows = [(name, bias, doc.Figure(bias.examples, "count")) for name, bias in biases.items()]
    yield table_of(("", doc.Column("bias", "estimate", "signed"), "answers"), rows)
    family = {
        None: "not known, since the run does not name its judge",
        True: "judge and model have the same family name, so all of this bias is towards its own "
        "family",
        False: "judge and model have different family names",
    }[calibration.own_family]
    position = "not known, since the judge marks one answer at a time"
    yield doc.Listing([f"by position: {position}", f"by family: {family}"])


def _people(people: PeopleAgreement | None) -> Iterator[doc.Block]:
    yield doc.Heading("Agreement of people", 3)
    if people is None:
        yield doc.Paragraph("not known, since no answer has labels by two people")
        return
    yield doc.Paragraph(
        f"{counted(people.nominal.examples, 'answer')} labelled by at least two of "
        f"{len(people.people)}; Krippendorff's alpha {_figure(people.nominal)} nominal, "
        f"{_figure(people.interval)} interval"
    )
    rows = [
        (
            " and ".join(pair.people),
            doc.Figure(pair.kappa.examples, "count"),
            doc.Figure(pair.equal, "percent"),
            pair.kappa,
            pair.weighted,
        )
        for pair in people.pairs
    ]
    kappas = [doc.Column(title, "estimate") for title in ("kappa", "weighted")]
    yield table_of(("people", "answers", "equal", *kappas), rows)


def rates_by_kind(replies: Iterable[JudgedReply]) -> dict[str, ErrorRates]:
    """Return the counts of errors by kind of answer, and `all` of them."""
    from pytest_tablebench.running.judged_replies import ErrorRates

    by_kind = defaultdict[str, list["JudgedReply"]](list)
    for reply in replies:
        by_kind[reply.kind].append(reply)
    rates = {kind: ErrorRates.of(by_kind[kind]) for kind in sorted(by_kind)}
    return rates | {"all": ErrorRates.of(reply for kind in by_kind.values() for reply in kind)}


def judged_replies_report(rates: Mapping[str, ErrorRates]) -> doc.Document:
    """Return the shares of wrong replies called right, and of right ones called wrong."""
    rows = [
        (
            kind,
            doc.Figure(counts.wrong, "count"),
            _share(counts.false_positives, counts.wrong),
            doc.Figure(counts.right, "count"),
            _share(counts.false_negatives, counts.right),
            doc.Figure(counts.unclear, "count"),
        )
        for kind, counts in rates.items()
    ]
    positives, negatives = (
        doc.Column(f"called {verdict}", "estimate", "percent") for verdict in ("right", "wrong")
    )
    columns = ("kind", "wrong replies", positives, "right replies", negatives, "unclear")
    return doc.Document("Verdicts of the rules", [table_of(columns, rows)])


def _share(count: int, total: int) -> Estimate:
    return Estimate(count / total, *clopper_pearson(count, total)) if total else Estimate()
