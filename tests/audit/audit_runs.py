"""Run folders over the embedded dataset for tests of the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.audit._ballots import AuditedExample
from pytest_tablebench.datasets import Example, row_digest
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.results import Record, RunFolder
from pytest_tablebench.tables.table import Table


def audited(example: Example, **fields: Any) -> AuditedExample:
    """Return an example of an audit without answers."""
    return AuditedExample("toy", example, row_digest(example), **fields)


def table_example(
    question: str,
    answers: Sequence[str],
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    **fields: Any,
) -> Example:
    """Return a question about a table."""
    table = Table(header, rows)
    inputs = {"question": question, "table": table}
    return Example("e", inputs, question, tuple(answers), answers[0], **fields)


def record_of(
    example: Example, reply: str, *, model: str, serializer: str = "csv", **fields: Any
) -> Record:
    """Return the record of a reply to an example of `starter`; right if it is the gold."""
    right = reply == ", ".join(example.references)
    values: dict[str, Any] = {
        "case_id": f"starter/{example.id}/{serializer}/none",
        "model": model,
        "benchmark": "starter",
        "dataset": "starter",
        "example_id": example.id,
        "serializer": serializer,
        "perturbation": "none",
        "strategy": "direct",
        "modality": "text",
        "outcome": "right" if right else "wrong",
        "score": float(right),
        "threshold": 1.0,
        "passed": right,
        "metric": "exact_match",
        "prediction": reply,
        "raw": reply,
        "references": example.references,
    }
    return Record(**(values | fields))


def write_starter_run(
    path: Path,
    replies: Sequence[tuple[Example, str]],
    *,
    facts: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Path:
    """Write a run of a model named like its folder."""
    folder = RunFolder(path)
    for example, reply in replies:
        folder.append(record_of(example, reply, **({"model": path.name} | fields)).to_line())
    folder.close()
    files = Starter().open(Path()).facts.files
    run = {"model": path.name, "compat": "fixed", "seed": 0}
    folder.write_run(run | {"datasets": {"starter": {"files": dict(files)}}, **(facts or {})})
    return path
