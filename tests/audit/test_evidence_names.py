"""Every kind of evidence and every verdict reaches each output of an audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from pytest_tablebench.audit.export import write_reports
from pytest_tablebench.audit.ranking import Audit
from pytest_tablebench.audit.suspects import EVIDENCE_NAMES, VERDICT_NAMES, Evidence, EvidenceKind
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.reports.cases import audit_json, audit_report
from pytest_tablebench.reports.html.review import write_audit_page
from pytest_tablebench.results.corrections import (
    WITH_ANSWERS,
    Correction,
    Verdict,
    read_corrections,
    write_corrections,
)
from pytest_tablebench.util.markdown import code
from tests.support.suspects import suspect


@pytest.mark.parametrize("kind", get_args(EvidenceKind))
def test_evidence_is_on_the_page_in_reports_and_in_the_terminal(
    tmp_path: Path, kind: EvidenceKind
) -> None:
    item = suspect(evidence=(Evidence(kind, "The only reason.", None, 1.0),))
    reason = code("The only reason.")
    write_audit_page(tmp_path / "page.html", [item])
    write_reports(tmp_path / "out", [item])
    report = (tmp_path / "out" / "wikitq.md").read_text("utf-8")
    assert f"- {EVIDENCE_NAMES[kind]} (2.7 : 1 against the gold): {reason}" in report
    [line] = (tmp_path / "out" / "wikitq.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["evidence"][0]["kind"] == kind
    audit = Audit((item,), ("m0",), {}, {}, ())
    lines = terminal_lines(audit_report(audit, 1).blocks)
    assert any("The only reason." in line for line in lines)
    assert audit_json(audit)["suspects"][0]["evidence"][0]["kind"] == kind


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_verdicts_are_on_the_page_in_reports_and_in_corrections(
    tmp_path: Path, verdict: Verdict
) -> None:
    item = suspect()
    answers = ("42",) if verdict in WITH_ANSWERS else ()
    correction = Correction(
        item.dataset, item.example_id, item.digest, verdict, answers, "a reason", "Ada"
    )
    write_corrections(tmp_path / "corrections.csv", [correction])
    corrections = read_corrections(tmp_path / "corrections.csv")
    assert list(corrections.by_example.values()) == [correction]
    write_audit_page(tmp_path / "page.html", [item], corrections=corrections)
    if verdict != "right":
        write_reports(tmp_path / "out", [item], corrections)
        report = (tmp_path / "out" / "wikitq.md").read_text("utf-8")
        assert f"- Verdict: {VERDICT_NAMES[verdict].lower()}" in report
