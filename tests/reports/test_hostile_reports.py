"""Every report with hostile text in every name, answer and setting, by every writer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bs4 import BeautifulSoup

from pytest_tablebench.audit.ranking import Audit
from pytest_tablebench.audit.suspects import Evidence, Suspect
from pytest_tablebench.claims.calibration import Calibration, Confusion
from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.claims.gates import PlannedGate, judge_gates, parse_gate
from pytest_tablebench.claims.history import history_of
from pytest_tablebench.claims.migration import judge_migration
from pytest_tablebench.claims.outliers import outliers_of
from pytest_tablebench.claims.people import PairAgreement, PeopleAgreement
from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import Problem
from pytest_tablebench.datasets.folder import FolderCheck
from pytest_tablebench.datasets.statistics import DatasetFacts, QuestionFacts, statistics_of
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.html import save_document
from pytest_tablebench.documents.markdown import markdown_text
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.models import Resolution
from pytest_tablebench.papers.table import PaperTable
from pytest_tablebench.reports.cases import audit_report, case_report, unclear_report
from pytest_tablebench.reports.comparison import comparison_report
from pytest_tablebench.reports.gates import gate_blocks, gate_table, merged_report, rejudged_report
from pytest_tablebench.reports.history import history_report
from pytest_tablebench.reports.html import _sections
from pytest_tablebench.reports.judges import labels_report
from pytest_tablebench.reports.migration import migration_report
from pytest_tablebench.reports.plan import plan_report
from pytest_tablebench.reports.project import (
    doctor_report,
    folder_report,
    models_report,
    store_report,
    verification_report,
)
from pytest_tablebench.reports.scores import tag_blocks
from pytest_tablebench.reports.snapshots import snapshots_report
from pytest_tablebench.reports.statistics import complexity_report, lines_report, statistics_report
from pytest_tablebench.reports.summary import closing_blocks
from pytest_tablebench.reports.terminal import new_failure_blocks, outlier_blocks
from pytest_tablebench.results.judges import Agreement, Flip, Flips
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.snapshot_comparison import SnapshotComparison, SnapshotFile
from pytest_tablebench.results.snapshots import Entry
from pytest_tablebench.running.model_listing import ListedModel
from pytest_tablebench.running.plan import ModelPlan
from pytest_tablebench.running.pricing import AskPlan
from pytest_tablebench.running.rejudge import Rejudged
from tests.support.run_folders import GRID, record, write_run

HOSTILE = (
    "<img src=x onerror=alert(1)>|**b** `c` @team #1 www.evil.example\x1b[31m\u202e\n::error::x"
)


def hostile_run(folder: Path, lost: int) -> Run:
    """Return a run in which one in so many cases is wrong, with hostile text in every field."""
    records = [
        record(
            f"{HOSTILE}{number}",
            *configuration,
            (float(number % lost > 0), HOSTILE) if number else None,
            dataset=HOSTILE,
            benchmark=HOSTILE,
            references=(HOSTILE,),
            tags={HOSTILE: HOSTILE if number % 2 else f"{HOSTILE}2"},
            reason=None if number else HOSTILE,
            flags=("unclear",),
        )
        for number in range(12)
        for configuration in GRID
    ]
    facts: dict[str, Any] = {
        "model": f"{folder.name}{HOSTILE}",
        "params": {HOSTILE: HOSTILE},
        "versions": {"pytest-tablebench": f"{lost}{HOSTILE}"},
        "compat": HOSTILE,
        "start": f"2026-03-0{lost}T08:00:00+00:00",
    }
    return load_run(write_run(folder, records, **facts))


def reports(folder: Path) -> Iterator[tuple[str, list[doc.Block]]]:
    """Yield the name and the blocks of each report."""
    old, new = hostile_run(folder / "old", 5), hostile_run(folder / "new", 2)
    summary, run = summary_of(new), new.facts
    comparison = compare_runs(old, new, allow_unlike=True)
    gates = judge_gates(new.table, [parse_gate("all.no_answer <= 0.01")])
    yield "closing", closing_blocks(summary, run, lowest=outlier_blocks(outliers_of(new)))
    yield "new failures", new_failure_blocks(comparison, None)
    yield "tags", tag_blocks(summary, HOSTILE, run)
    yield "gates", [*gate_blocks(gates, run), gate_table(gates)]
    yield "comparison", list(comparison_report(comparison).blocks)
    yield "migration", list(migration_report([judge_migration(old, new, 0.01)] * 2, folder).blocks)
    yield "history", list(history_report(history_of([old, new]), [HOSTILE]).blocks)
    yield "scores of the page", list(_sections.score_blocks(summary, run))
    yield "spread of the page", _sections.spread_blocks(summary)
    yield "doctor", list(doctor_report({HOSTILE: ("NO", HOSTILE)}, HOSTILE).blocks)
    survey = SimpleNamespace(
        answers=SimpleNamespace(most_common=lambda: [(HOSTILE, 2)]),
        programs=1, keys=2, segments=1, bytes=3, entries=4,
    )  # fmt: skip
    yield "store", list(store_report(survey).blocks)  # type: ignore[arg-type]
    yield "verification of a store", list(verification_report(2, [HOSTILE]).blocks)
    yield "snapshots", list(snapshots_report(snapshot_comparison(folder)).blocks)
    for name, document in command_reports(new).items():
        yield name, list(document.blocks)


def snapshot_comparison(folder: Path) -> SnapshotComparison:
    """Return a comparison with a changed answer, with hostile text in names and answers."""
    settings = Settings(models=(HOSTILE,), snapshot_of=HOSTILE)
    comparison = SnapshotComparison(folder, settings, update=False, new_only=False)
    comparison.problems.append(HOSTILE)
    file = SnapshotFile(folder / HOSTILE.replace("/", ""), folder)
    file.stored = {HOSTILE: Entry("right", 1.0, f"{HOSTILE} and more").encode()}
    file.note(HOSTILE, HOSTILE, Entry("wrong", 0.0, f"other {HOSTILE}"))
    comparison.files[HOSTILE] = {HOSTILE: file}
    return comparison


def command_reports(run: Run) -> dict[str, doc.Document]:
    """Return the reports of commands on values that strangers can write."""
    suspect = Suspect(
        HOSTILE, HOSTILE, HOSTILE, HOSTILE, (), (HOSTILE,), 0.5,
        (Evidence("agreement", HOSTILE, HOSTILE, 2.0),), (),
    )  # fmt: skip
    audit = Audit((suspect,), (HOSTILE,), {HOSTILE: {HOSTILE: 0.5}}, {HOSTILE: 0.1}, (HOSTILE,))
    half = Estimate(0.5, 0.4, 0.6, examples=9)
    calibration = Calibration(
        HOSTILE, HOSTILE, 9, 0, 9, True, 0.5, 0.5, half, half, (Confusion(HOSTILE, 1, 2, 3, 3),),
        half, {HOSTILE: half}, None,
    )  # fmt: skip
    pair = PairAgreement((HOSTILE, HOSTILE), 0.5, half, half)
    people = PeopleAgreement((HOSTILE, HOSTILE), half, half, (pair,))
    figure = {"part": HOSTILE, "naive": 0.5, "naive_ci95": None, "n_labels": 1, "n_cases": 2}
    judged = {"judged": {"datasets": {HOSTILE: {**figure, "value": None}}, "n_others": 0}}
    facts = Resolution(deprecation_date="2026-03-01")
    model = ListedModel(HOSTILE, 1, 1, [HOSTILE], HOSTILE, facts, HOSTILE)
    question = QuestionFacts((), (HOSTILE, HOSTILE), {HOSTILE: HOSTILE}, 3, 1)
    statistics = statistics_of(HOSTILE, HOSTILE, DatasetFacts([question], {}, 1, HOSTILE))
    columns = ("table", "tokens", HOSTILE)
    table = PaperTable(HOSTILE, HOSTILE, columns, ((HOSTILE, 9, 0.5),), notes=(HOSTILE,))
    check = FolderCheck((Problem(HOSTILE, 1, HOSTILE, HOSTILE),), {HOSTILE: 1}, (HOSTILE,))
    merge = SimpleNamespace(runs=2, ended=HOSTILE, notes=(HOSTILE,))
    flips = Flips(1, 0, 1, 0, (Flip(HOSTILE, 0.1, 0.9, True),))
    rejudged = Rejudged(
        run, 2, 1, 1, 0, (HOSTILE,), plan=AskPlan(HOSTILE, 2, 1, 9, 9),
        agreement={HOSTILE: Agreement(2, 0.5, 0.5)}, flips=flips,
    )  # fmt: skip
    plan = ModelPlan(
        HOSTILE, 5, 5, 1, 4, further=(HOSTILE,), tokenizer=HOSTILE, dropped={HOSTILE: HOSTILE},
        sent={"max_tokens": HOSTILE, "num_ctx": HOSTILE}, room=1, deprecation_date=HOSTILE,
    )  # fmt: skip
    gate = PlannedGate(HOSTILE, 5, 1, 0.1, 0.3, True, HOSTILE, needs=HOSTILE)
    return {
        "audit": audit_report(audit, 5),
        "labels": labels_report(calibration, people, judged),
        "models": models_report([model], [HOSTILE]),
        "statistics": statistics_report([statistics], None, [HOSTILE]),
        "complexity": complexity_report(table, [HOSTILE]),
        "folder check": folder_report([(HOSTILE, check, [HOSTILE])]),
        "merged run": merged_report(merge, run, ()),  # type: ignore[arg-type]
        "judged run": rejudged_report(rejudged, ()),
        "case": case_report(run, run.records[0]),
        "unclear replies": unclear_report(run),
        "tree": lines_report([HOSTILE], HOSTILE),
        "plan": plan_report([asdict(plan)], Settings(plan=True), {HOSTILE: [gate]}),
    }


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, doc.Document]:
    folder = tmp_path_factory.mktemp("hostile")
    return {name: doc.Document(HOSTILE, blocks, HOSTILE) for name, blocks in reports(folder)}


def test_each_report_says_something(documents: dict[str, doc.Document]) -> None:
    assert len(documents) == 25
    assert all(terminal_lines(document.blocks) for document in documents.values())


def test_no_report_controls_a_terminal_or_a_runner(documents: dict[str, doc.Document]) -> None:
    for name, document in documents.items():
        for line in terminal_lines(document.blocks):
            assert line.isprintable(), name
            assert not line.lstrip().startswith("::"), name


def test_no_report_has_foreign_structure_in_markdown(documents: dict[str, doc.Document]) -> None:
    for name, document in documents.items():
        text = markdown_text(document.blocks)
        assert "<img" not in text, name
        assert not re.search(r"@team|(?<!&)#1|www\.evil|\*\*b\*\*|::error|\x1b|\u202e", text), name
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert {line.count(" | ") for line in rows} <= set(range(13)), name


def test_no_report_has_foreign_markup_on_a_page(
    documents: dict[str, doc.Document], tmp_path: Path
) -> None:
    for name, document in documents.items():
        save_document(document, tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text("utf-8")
        page = BeautifulSoup(text, "html.parser")
        assert not page.find_all(["img", "script"]), name
        assert not re.search(r"\x1b|\u202e", text), name
        assert all(str(link["href"]).startswith(("#", "..", "new", "old")) for link in page("a"))
