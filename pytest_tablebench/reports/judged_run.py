"""The figures and gates of a run that a command merged or judged again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.documents import document as doc
from pytest_tablebench.reports.gates import gate_blocks
from pytest_tablebench.reports.judges import agreement_blocks, plan_sentence
from pytest_tablebench.reports.summary import closing_blocks
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import GateResult
    from pytest_tablebench.claims.merge import Merge
    from pytest_tablebench.results.run import Run
    from pytest_tablebench.running.rejudge import Rejudged


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
