"""Gates: a table with a reason for each, and runs that a command merged or judged again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.claims.gates import GateResult, verdict_line
from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import stored_text, table_of, unusable_text
from pytest_tablebench.reports.judges import agreement_blocks, plan_sentence
from pytest_tablebench.reports.summary import closing_blocks
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import GateResult
    from pytest_tablebench.claims.merge import Merge
    from pytest_tablebench.results.run import Run
    from pytest_tablebench.running.rejudge import Rejudged

_DIGITS = 4

_METHODS = {
    "effective Clopper-Pearson": "the exact interval of a share, for the number of independent "
    "examples that the spread of the scores corresponds to. Several questions over one table count "
    "as fewer",
    "example Clopper-Pearson": "the exact interval of a share of the examples, because almost all "
    "of them are right, or almost all wrong",
    "zero variance": "all examples have the same score, or the same difference. The interval "
    "allows for other scores among examples that were not asked",
    "t": "the interval of a mean difference, from the spread of the differences of paired examples",
    "count": "a number of cases or dollars, which is compared with the bound as it is",
    "betting": "an interval that is valid after each example, so that the run could stop early",
    "betting without replacement": "a test that is valid after each case, and that takes into "
    "account how many planned cases are left",
    "prediction-powered t": "the interval of the judge's marks, corrected by the labels of people",
}
"""What the method of a gate's interval means, by its name in `run.json`."""


def gate_blocks(results: Sequence[GateResult], run: RunFacts) -> list[doc.Block]:
    """Return the table of gates, the reason of each, the verdict on all, and what it rests on."""
    blocks: list[doc.Block] = [_table(results)]
    for result in results:
        notes = [*result.notes, *([f"To decide it: {result.needs}."] if result.needs else [])]
        reason = doc.Code(result.gate, 80), f": {result.reason}"
        blocks.append(doc.Listing([reason, *(f"  {note}" for note in notes)]))
    lines = [verdict_line(results), stored_text(run), unusable_text(run)]
    return [*blocks, *(doc.Paragraph(line) for line in lines if line)]


def _table(results: Sequence[GateResult]) -> doc.TableBlock:
    rows = []
    for result in results:
        # Figures against a baseline are differences, so they always have a sign.
        kind: doc.Kind = "signed" if "baseline" in result.gate else "number"
        rows.append(
            (
                doc.Code(result.gate, 80),
                result.state,
                doc.Figure(result.value, kind, _DIGITS),
                doc.Figure(result.interval or result.clopper_pearson, kind, _DIGITS),
                doc.Figure(result.bound, kind, _DIGITS),
                result.method or doc.Figure(None),
                _size(result),
                doc.Figure(result.n_left_out if result.n_cases is None else None, "count"),
            )
        )
    columns = ("gate", doc.Column("state", "text"), "estimate", "interval", "bound", "method")
    return table_of((*columns, "examples", "left out"), rows, fewest=3)


def _size(result: GateResult) -> str:
    return f"{result.examples}" if result.n_cases is None else counted(result.n_cases, "case")


def gate_table(results: Sequence[GateResult]) -> doc.TableBlock:
    """Return the table of gates for a pull request, with the reason of each."""
    rows = [
        (
            doc.Code(result.gate),
            doc.StateWord(result.state, result.state),
            doc.Figure(result.value),
            doc.Figure(result.interval or result.clopper_pearson),
            doc.Figure(result.bound),
            _size(result),
            "; ".join(filter(None, (result.reason, result.needs))),
        )
        for result in results
    ]
    columns = ("gate", doc.Column("state", "text"), "estimate", "interval", "bound", "examples")
    return table_of((*columns, doc.Column("why", "text")), rows)


def method_lines(results: Iterable[GateResult]) -> list[str]:
    """Return a sentence for each method of the gates' intervals."""
    methods = dict.fromkeys(result.method for result in results)
    return [f"{name}: {_METHODS[name]}." for name in methods if name in _METHODS]


def merged_report(merge: Merge, run: Run, gates: Sequence[GateResult]) -> doc.Document:
    """Return the figures and gates of a run that was joined from its parts."""
    sentences: list[doc.Text] = [(doc.Code(run.facts.model), f"  ({counted(merge.runs, 'run')})")]
    sentences += [f"incomplete: {merge.ended}"] if merge.ended is not None else []
    sentences += [f"note: {note}" for note in merge.notes]
    return _report(run, gates, [*map(doc.Paragraph, sentences)])


def rejudged_report(judged: Rejudged, gates: Sequence[GateResult]) -> doc.Document:
    """Return what the new rules or the new judge changed, and the figures and gates after it."""
    run = judged.run
    sentences: list[doc.Text] = [(doc.Code(run.facts.model), f"  ({run.path})")]
    if judged.scored:
        sentences.append(
            f"{counted(judged.scored, 'answer')} scored again in compat {run.facts.compat}: "
            f"{counted(judged.rescored, 'score')} changed"
        )
    if judged.better or judged.worse:
        sentences.append(
            f"verdicts changed: {judged.better} from wrong to right, {judged.worse} from right to "
            f"wrong"
        )
    sentences += [f"note: {note}" for note in judged.notes]
    sentences += [plan_sentence(judged.plan)] if judged.plan is not None else []
    changes = agreement_blocks(judged.agreement, judged.flips)
    return _report(run, gates, [*map(doc.Paragraph, sentences), *changes])


def _report(run: Run, gates: Sequence[GateResult], blocks: Sequence[doc.Block]) -> doc.Document:
    figures = closing_blocks(summary_of(run), run.facts)
    shown_gates = gate_blocks(gates, run.facts) if gates else []
    return doc.Document(doc.Code(run.facts.model), [*blocks, *figures, *shown_gates])
