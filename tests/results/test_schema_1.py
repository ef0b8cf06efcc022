"""Reports, comparisons, gates and rejudge read a run folder of schema 1.

A version before schema 2 wrote `schema_1/` for `pytest --bench-dataset starter --bench-limit 2
--bench-serializer html,csv --bench-perturbation none`. In both formats the reply to the first
question is right (1969); the reply to the second names one of two values (B-17).
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.claims.gates import judge_gates
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.cli import main
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.papers.runs import load_runs
from pytest_tablebench.results import read_facts, read_records
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import PromptText, read_texts
from pytest_tablebench.running.rejudge import rejudge, write_rejudged

HERE = Path(__file__).parent / "schema_1"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a writable copy of the folder."""
    return shutil.copytree(HERE, tmp_path / "old")


def test_the_folder_is_of_schema_1():
    lines = (HERE / "records.jsonl").read_text("ascii").splitlines()
    files = (json.loads((HERE / name).read_text("utf-8")) for name in ("run.json", "summary.json"))
    assert {data["schema"] for data in (*map(json.loads, lines), *files)} == {1}


def test_records_of_schema_1_are_read():
    records = list(read_records(HERE))
    assert [(case.example_id, case.serializer, case.passed, case.raw) for case in records] == [
        ("fin-01-lookup-1", "html", True, "1969"),
        ("fin-01-lookup-1", "csv", True, "1969"),
        ("sci-01-filter2-1", "html", False, "B-17"),
        ("sci-01-filter2-1", "csv", False, "B-17"),
    ]
    texts = read_texts(HERE / "texts.jsonl.gz")
    prompts = {text.digest for text in texts if isinstance(text, PromptText)}
    assert {case.prompt_digest for case in records} == prompts


def test_figures_of_schema_1_have_not_changed():
    stored = json.loads((HERE / "summary.json").read_text("utf-8"))
    summary = summarize(list(read_records(HERE)))
    assert summary["benchmarks"]["starter"]["performance"] == 0.5
    # That version did not aggregate parts, truncated replies and tables.
    added = ("parts", "n_clusters", "cut_off", "truncated", "unclear", "prompt_cut_by_server")
    assert without(summary["benchmarks"], *added) == stored["benchmarks"]


def without(figures: Any, *names: str) -> Any:
    """Return figures without some entries, at every depth."""
    if not isinstance(figures, dict):
        return figures
    return {name: without(inner, *names) for name, inner in figures.items() if name not in names}


def test_a_report_of_schema_1_is_written(old, capsys):
    assert main(["report", str(old), "--no-plots"]) == 0
    shown = capsys.readouterr().out
    assert "starter: every serializer scores the same (0.500)" in shown
    assert (old / "report.html").exists()
    [run] = load_runs([old])
    assert (run.facts.cases_planned, len(run.rows)) == (4, 4)


def test_runs_of_schema_1_are_compared():
    comparison = compare_runs(HERE, HERE)
    assert comparison.differences == ()
    assert (comparison.answers.same_text, comparison.answers.flipped) == (4, 0)


def test_gates_judge_a_run_of_schema_1():
    records, run = list(read_records(HERE)), read_facts(HERE).entries
    gates = ["starter.performance >= 0.4", "starter[html].pass_rate >= baseline - 0.05"]
    loose, paired = judge_gates(
        records, gates, records, run=RunFacts.from_json(run), baseline_run=RunFacts.from_json(run)
    )
    assert (loose.state, loose.value) == ("undecided", 0.5)
    assert (paired.state, paired.identical) == ("undecided", True)


def test_a_run_of_schema_1_is_judged_again(tmp_path):
    rejudged = rejudge(HERE, compat="fixed", thresholds={"starter": 0.0})
    assert [case.score for case in rejudged.run.records] == [1.0, 1.0, 0.0, 0.0]
    assert [case.passed for case in rejudged.run.records] == [True] * 4
    assert (rejudged.scored, rejudged.rescored, rejudged.better, rejudged.worse) == (4, 0, 2, 0)
    assert {(case.part, case.threshold) for case in rejudged.run.records} == {("exact_match", 0.0)}
    write_rejudged(rejudged, {}, tmp_path / "new")
    new = [case.to_line() for case in read_records(tmp_path / "new")]
    assert new == [case.to_line() for case in rejudged.run.records]


def test_fields_that_schema_1_lacks_are_empty():
    records = list(read_records(HERE))
    facts = {(case.part, case.threshold, len(case.tags), len(case.steps)) for case in records}
    assert facts == {(None, None, 0, 0)}


def test_rejudge_fills_in_the_datasets_threshold(old):
    assert {case.threshold for case in rejudge(old, compat="fixed").run.records} == {1.0}


def test_records_of_schema_1_have_the_threshold_of_their_run(old):
    facts = {**read_facts(old).entries, "thresholds": {"starter": 0.75}}
    (old / "run.json").write_text(json.dumps(facts), "utf-8")
    assert {case.threshold for case in read_records(old)} == {0.75}


def test_a_run_of_schema_1_is_compared_with_a_current_run(old, tmp_path):
    write_rejudged(rejudge(old, compat="fixed"), {}, tmp_path / "new")
    comparison = compare_runs(old, tmp_path / "new")
    # Schema 1 does not record the threshold, which counts as no difference.
    assert [difference.name for difference in comparison.differences if difference.unlike] == []
    assert comparison.answers.same_text == 4


@pytest.mark.parametrize("file", ["run.json", "records.jsonl"])
def test_a_newer_schema_is_refused_and_its_number_named(old, file):
    path = old / file
    path.write_text(path.read_text("utf-8").replace('"schema": 1', '"schema": 3'), "utf-8")
    expected = f"{re.escape(file)} has schema 3, this version reads up to 2; upgrade"
    with pytest.raises(SettingsError, match=expected):
        compare_runs(old, HERE)
