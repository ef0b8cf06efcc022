"""Single cases: one with its texts, the unclear ones, and gold answers that are likely wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.audit.ranking import preferred_answer
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import table_of
from pytest_tablebench.interchange.exporter import RunTexts
from pytest_tablebench.results import Record
from pytest_tablebench.results.corrected import VERDICT_TEXTS, corrected_outcome
from pytest_tablebench.results.record import UNCLEAR
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.audit.ranking import Audit
    from pytest_tablebench.audit.suspects import Suspect


def case_report(run: Run, record: Record) -> doc.Document:
    """Return a case: prompt, reply, expected answer, how the reply was parsed, and the score."""
    sentences = [
        f"expected: {' | '.join(map(str, record.references))}",
        *_verdict(record),
        *_by_corrected_gold(record.corrected),
    ]
    texts = [*_text_blocks(RunTexts.of(run, record), record)]
    names = doc.Paragraph(f"case: {record.case_id}"), doc.Paragraph(f"model: {record.model}")
    blocks = [*names, *texts, *map(doc.Paragraph, sentences)]
    return doc.Document(doc.Code(record.case_id), blocks)


def _text_blocks(texts: RunTexts, record: Record) -> Iterator[doc.Block]:
    """Yield the prompt, the turns with their times, and the reply."""
    parts = [("prompt", texts.prompt(record) or "")]
    times = iter([step.get("latency_s") for step in record.steps])
    for role, text in texts.turns(record):
        seconds = next(times, None) if role in {"reply", "output"} else None
        parts.append((role if seconds is None else f"{role} ({seconds:.2f} s)", text))
    if record.raw is not None:
        parts.append(("reply", record.raw))
    for title, text in parts:
        yield doc.Paragraph(f"{title}:")
        yield doc.Verbatim(text or "(not kept)")


def _verdict(record: Record) -> Iterator[str]:
    if record.score is None:
        yield f"no answer: {record.reason or ''}"
        return
    yield f"read as: {record.prediction}"
    judged = str(record.metric)
    if record.threshold is not None:
        judged += f", right from {record.threshold:g}"
    verdict = "no verdict" if record.outcome == "scored" else record.outcome
    yield f"score: {record.score:.3f}, {verdict} ({judged})"
    if record.why is not None:
        yield f"{'unclear' if UNCLEAR in record.flags else 'why'}: {record.why}"


def _by_corrected_gold(entry: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the sentence on the corrected gold, if the case has a correction."""
    if entry is None:
        return
    outcome = corrected_outcome(entry)
    if outcome == "left_out":
        yield f"by corrected gold: left out ({entry['left_out']})"
        return
    result = {"no_answer": "no answer", "scored": "no verdict"}.get(outcome, outcome)
    if entry.get("score") is not None:
        result = f"score {entry['score']:.3f}, {result}"
    verdict = VERDICT_TEXTS.get(str(entry.get("verdict")), "")
    yield f"by corrected gold: {result}" + (f" ({verdict})" if verdict else "")


def unclear_report(run: Run) -> doc.Document:
    """Return the unclear replies, with the expected answers and the reasons."""
    unclear = [record for record in run.records if UNCLEAR in record.flags]
    count = counted(len(unclear), "unclear reply", "unclear replies")
    blocks: list[doc.Block] = [doc.Paragraph(f"{count}, counted as wrong")]
    for record in unclear:
        blocks.append(doc.Paragraph(record.case_id))
        blocks.append(
            doc.Listing(
                [
                    f"expected: {' | '.join(map(str, record.references))}",
                    f"got:      {record.raw or ''}",
                    f"why:      {record.why or 'no reason'}",
                ]
            )
        )
    return doc.Document("Unclear replies", blocks)


AUDIT_SCHEMA = 1
"""The version of the JSON file of an audit."""


def audit_report(audit: Audit, top: int) -> doc.Document:
    """Return the first `top` suspects as a table, and what the audit could not know."""
    sentences = [f"{counted(len(audit.suspects), 'example')}; voters: {', '.join(audit.voters)}"]
    how = "estimated" if audit.is_estimated else "assumed"
    for name, share in sorted(audit.wrong_share.items()):
        accuracy = audit.accuracy.get(name, {})
        rights = ", ".join(f"{voter} {value:.2f}" for voter, value in accuracy.items())
        sentences.append(
            f"{name}: {how} share of wrong golds {share:.3f}; of right answers {rights}"
        )
    titles = ("example", "suspicion", "gold", "preferred", "main reason")
    columns = [doc.Column(title, "figure" if title == "suspicion" else "text") for title in titles]
    return doc.Document(
        "Gold answers",
        [
            *map(doc.Paragraph, sentences),
            table_of(columns, [_suspect_row(suspect) for suspect in audit.suspects[:top]]),
            *(doc.Paragraph(f"note: {note}") for note in audit.notes),
        ],
    )


def _suspect_row(suspect: Suspect) -> tuple[doc.Cell, ...]:
    preferred = preferred_answer(suspect.evidence)
    reason = max(suspect.evidence, key=lambda item: item.weight, default=None)
    return (
        doc.Code(f"{suspect.dataset}/{suspect.example_id}", 200),
        doc.Figure(suspect.suspicion),
        doc.Code(", ".join(suspect.gold)),
        None if preferred is None else doc.Code(preferred),
        None if reason is None else doc.Code(reason.text, 200),
    )


def audit_json(audit: Audit) -> dict[str, Any]:
    """Return an audit as JSON values.

    `suspects` contains all examples, the most suspicious first, with `dataset`, `example`,
    `digest`, `question`, `gold`, `preferred`, `suspicion`, `evidence` (`kind`, `text`, `answer`,
    `weight`), `groups` (`answer`, `cases`, `voters`, `is_gold`) and `cells`.
    """
    return {
        "schema": AUDIT_SCHEMA,
        "voters": list(audit.voters),
        "accuracy": {name: dict(values) for name, values in audit.accuracy.items()},
        "wrong_share": dict(audit.wrong_share),
        "notes": list(audit.notes),
        "suspects": [
            {
                "dataset": suspect.dataset,
                "example": suspect.example_id,
                "digest": suspect.digest,
                "question": suspect.question,
                "gold": list(suspect.gold),
                "preferred": preferred_answer(suspect.evidence),
                "suspicion": round(suspect.suspicion, 6),
                "evidence": [vars(item) for item in suspect.evidence],
                "groups": [vars(group) for group in suspect.groups],
                "cells": list(suspect.cells),
            }
            for suspect in audit.suspects
        ],
    }
