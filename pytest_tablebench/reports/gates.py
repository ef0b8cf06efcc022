"""Gates: a table with a reason for each, for a terminal and for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_tablebench.claims.gates import GateResult, verdict_line
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import stored_text, unusable_text
from pytest_tablebench.documents.tables import table_of
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted

__all__ = ["gate_blocks", "gate_table", "method_lines"]

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
        of_cases = result.n_cases is not None
        rows.append(
            (
                doc.Code(result.gate, 80),
                result.state,
                doc.Figure(result.value, kind, _DIGITS),
                doc.Figure(result.interval or result.clopper_pearson, kind, _DIGITS),
                doc.Figure(result.bound, kind, _DIGITS),
                result.method or doc.Figure(None),
                counted(result.n_cases or 0, "case") if of_cases else f"{result.examples}",
                doc.Figure(None if of_cases else result.n_left_out, "count"),
            )
        )
    columns = ("gate", doc.Column("state", "text"), "estimate", "interval", "bound", "method")
    return table_of((*columns, "examples", "left out"), rows, fewest=3)


def gate_table(results: Sequence[GateResult]) -> doc.TableBlock:
    """Return the table of gates for a pull request, with the reason of each."""
    rows = [
        (
            doc.Code(result.gate),
            doc.StateWord(result.state, result.state),
            doc.Figure(result.value),
            doc.Figure(result.interval or result.clopper_pearson),
            doc.Figure(result.bound),
            f"{result.examples}" if result.n_cases is None else counted(result.n_cases, "case"),
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
