"""Free text without facts or a judge has a score and no verdict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_tablebench.running.rejudge import rejudge
from tests.plugin.test_schemas import validator
from tests.support.own_folders import OWN_SUITE
from tests.support.runs import Run, run_inside
from tests.support.toy_bench import read_lines

TOLD = "Sales rose in every year but 2020 when the shop was closed for months."
# Eleven of the fourteen expected words in their order, and another word.
REPLY = "Sales rose in every year, when the shop was closed for long."


def run_cases(folder: Path, *options: str) -> Run:
    """Run the cases of the data folder again."""
    model = "tablebench/scripted:replies.jsonl"
    words = ("--bench-data=data", *options)
    return run_inside(folder, None, *words, model=model, count=3, suite=OWN_SUITE, page=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run three questions: a number, a free text with a fact, and a free text without facts."""
    folder = tmp_path_factory.mktemp("free")
    data = folder / "data"
    data.mkdir()
    (data / "sales.csv").write_text("year,sales\n2019,5\n2020,3\n2021,7\n", encoding="utf-8")
    (data / "questions.csv").write_text(
        "id,table,question,answer,must\n"
        f"number,sales.csv,How many in 2019?,5,\n"
        f"fact,sales.csv,Tell by fact,{TOLD},rose\n"
        f"words,sales.csv,Tell by words,{TOLD},\n",
        encoding="utf-8",
    )
    script = [{"match": "How many", "text": "5"}, {"default": REPLY}]
    (folder / "replies.jsonl").write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    return run_cases(folder, "-rs", "--junitxml=junit.xml")


def records(run: Run, name: str = "run") -> dict[str, dict[str, Any]]:
    rows = read_lines(run.folder / name / "records.jsonl")
    return {row["example_id"]: row for row in rows}


def test_free_text_has_a_score_and_no_verdict(run: Run) -> None:
    assert run.exit_code == 0, run.output
    rows = records(run)
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "number": "right",
        "fact": "right",
        "words": "scored",
    }
    words = rows["words"]
    assert (words["passed"], words["threshold"], words["checks"]) == (None, None, {})
    # ROUGE-L over 14 and 12 words, 11 of them in order: 2 * 11 / (14 + 12).
    assert words["score"] == pytest.approx(22 / 26)
    for row in rows.values():
        validator("record").validate(row)
    summary = json.loads((run.folder / "run" / "summary.json").read_text("utf-8"))
    [benchmark] = summary["benchmarks"].values()
    assert benchmark["performance"] == pytest.approx((1 + 1 + 22 / 26) / 3)
    assert (benchmark["pass_rate"], benchmark["no_answer"], benchmark["n_cases"]) == (1.0, 0.0, 3)
    assert "2 passed, 1 skipped" in run.output
    assert "scored without a verdict: free text needs facts" in run.output
    suite = ElementTree.parse(run.folder / "junit.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    page = (run.folder / "run" / "report.html").read_text("utf-8")
    assert "no verdict <b>1</b>" in page


def test_rejudging_keeps_free_text_without_a_verdict(run: Run) -> None:
    folder = run.folder
    whole = rejudge(folder / "run", thresholds={})
    assert [record.outcome for record in whole.run.records] == ["right", "right", "scored"]
    again = rejudge(folder / "run", compat="fixed", data=folder / "data")
    assert (again.rescored, again.better, again.worse) == (0, 0, 0)
    named = rejudge(folder / "run", thresholds={"data": 0.8})
    assert [record.outcome for record in named.run.records] == ["right", "right", "right"]


def test_a_pass_rate_gate_on_free_text_is_undecided(run: Run) -> None:
    gates = ("--bench-gate=data.pass_rate >= 0.5", "--bench-gate=data.no_answer <= 0.9")
    done = run_cases(run.folder, "-k", "words", "--bench-results=alone", *gates)
    assert done.exit_code == 11
    assert "no case has a verdict" in done.output


def test_a_threshold_decides_free_text(run: Run) -> None:
    words = ("-k", "words", "--bench-threshold=data=0.9")
    assert run_cases(run.folder, "--bench-results=named", *words).exit_code == 1
    [row] = records(run, "named").values()
    assert (row["outcome"], row["threshold"], row["passed"]) == ("wrong", 0.9, False)
    settings = run.folder / "data" / "tablebench.toml"
    settings.write_text("[defaults]\nthreshold = 0\n", encoding="utf-8")
    try:
        assert run_cases(run.folder, "--bench-results=zero", "-k", "words").exit_code == 0
    finally:
        settings.unlink()
    [row] = records(run, "zero").values()
    assert (row["outcome"], row["threshold"], row["passed"]) == ("right", 0.0, True)


@pytest.mark.parametrize(
    ("changes", "compat"),
    [
        # As earlier versions recorded it: wrong by the threshold of the metric.
        ({"outcome": "wrong", "passed": False, "threshold": 1.0}, "fixed"),
        # Cut off: without a score in `fixed`, while published code scores the reply.
        (
            {
                "outcome": "no_answer",
                "passed": None,
                "threshold": None,
                "score": None,
                "metric": None,
                "parts": {},
                "reason": "cut_off",
                "cut_off": True,
            },
            "reference",
        ),
    ],
)
def test_rejudging_removes_a_verdict_without_a_threshold(
    run: Run, tmp_path: Path, changes: dict[str, Any], compat: Any
) -> None:
    folder = run.folder
    shutil.copytree(folder / "run", tmp_path / "run")
    rows = records(run)
    assert rows["words"].keys() >= changes.keys() - {"cut_off"}
    rows["words"] |= changes
    lines = [json.dumps(row) for row in rows.values()]
    (tmp_path / "run" / "records.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    whole = rejudge(tmp_path / "run", compat=compat, data=folder / "data")
    [words] = [record for record in whole.run.records if record.example_id == "words"]
    assert (words.outcome, words.passed, words.threshold) == ("scored", None, None)
    assert words.score == pytest.approx(22 / 26)
