"""Free text without facts or a judge has a score and no verdict."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from pytest_tablebench.running.rejudge import rejudge

ROOT = Path(__file__).parents[2]
TOLD = "Sales rose in every year but 2020 when the shop was closed for months."
# Eleven of the fourteen expected words in their order, and another word.
REPLY = "Sales rose in every year, when the shop was closed for long."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
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
    (folder / "test_own.py").write_text(
        ROOT.joinpath("suites/test_own.py").read_text("utf-8"), encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "--junitxml=junit.xml", *OPTIONS],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return folder, done


OPTIONS = (
    "--model=tablebench/scripted:replies.jsonl",
    *("--bench-data=data", "--bench-results=run", "--bench-store=none"),
    *("--bench-serializer=html", "--bench-perturbation=none", "-p", "no:cacheprovider"),
)


@pytest.fixture
def run_again(
    run: tuple[Path, Any], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., pytest.RunResult]:
    """Run the case of the free text without a fact again, with further options."""
    folder, _ = run
    monkeypatch.chdir(folder)
    pytester.syspathinsert(folder)

    def again(*options: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess(*OPTIONS, "-k", "words", *options)

    return again


def records(folder: Path, name: str = "run") -> dict[str, dict[str, Any]]:
    lines = (folder / name / "records.jsonl").read_text("utf-8").splitlines()
    return {row["example_id"]: row for row in map(json.loads, lines)}


def test_free_text_has_a_score_and_no_verdict(run: tuple[Path, Any]) -> None:
    folder, done = run
    assert done.returncode == 0, done.stdout
    rows = records(folder)
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "number": "right",
        "fact": "right",
        "words": "scored",
    }
    words = rows["words"]
    assert (words["passed"], words["threshold"], words["checks"]) == (None, None, {})
    # ROUGE-L over 14 and 12 words, 11 of them in order: 2 * 11 / (14 + 12).
    assert words["score"] == pytest.approx(22 / 26)
    schema = json.loads((ROOT / "docs/schemas/record.schema.json").read_text("utf-8"))
    for row in rows.values():
        Draft202012Validator(schema).validate(row)


def test_free_text_counts_in_performance_and_not_in_the_pass_rate(run: tuple[Path, Any]) -> None:
    folder, _ = run
    summary = json.loads((folder / "run" / "summary.json").read_text("utf-8"))
    [benchmark] = summary["benchmarks"].values()
    assert benchmark["performance"] == pytest.approx((1 + 1 + 22 / 26) / 3)
    assert (benchmark["pass_rate"], benchmark["no_answer"], benchmark["n_cases"]) == (1.0, 0.0, 3)


def test_reports_name_the_reason_for_no_verdict(run: tuple[Path, Any]) -> None:
    folder, done = run
    assert "2 passed, 1 skipped" in done.stdout
    assert "scored without a verdict: free text needs facts" in done.stdout
    suite = ElementTree.parse(folder / "junit.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    page = (folder / "run" / "report.html").read_text("utf-8")
    assert "no verdict <b>1</b>" in page


def test_rejudging_keeps_free_text_without_a_verdict(run: tuple[Path, Any]) -> None:
    folder, _ = run
    whole = rejudge(folder / "run", thresholds={})
    assert [record.outcome for record in whole.run.records] == ["right", "right", "scored"]
    again = rejudge(folder / "run", compat="fixed", data=folder / "data")
    assert (again.rescored, again.better, again.worse) == (0, 0, 0)
    named = rejudge(folder / "run", thresholds={"data": 0.8})
    assert [record.outcome for record in named.run.records] == ["right", "right", "right"]


def test_a_pass_rate_gate_on_free_text_is_undecided(run_again: Callable[..., Any]) -> None:
    done = run_again(
        "--bench-results=alone",
        "--bench-gate=data.pass_rate >= 0.5",
        "--bench-gate=data.no_answer <= 0.9",
    )
    assert done.ret == 11
    assert "no case has a verdict" in done.stdout.str()


def test_a_threshold_option_decides_free_text(run_again: Callable[..., Any]) -> None:
    assert run_again("--bench-results=named", "--bench-threshold=data=0.9").ret == 1
    [row] = records(Path(), "named").values()
    assert (row["outcome"], row["threshold"], row["passed"]) == ("wrong", 0.9, False)


def test_a_threshold_of_zero_in_the_folder_decides_free_text(
    run_again: Callable[..., Any],
) -> None:
    settings = Path("data/tablebench.toml")
    settings.write_text("[defaults]\nthreshold = 0\n", encoding="utf-8")
    try:
        done = run_again("--bench-results=zero")
    finally:
        settings.unlink()
    assert done.ret == 0
    [row] = records(Path(), "zero").values()
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
    run: tuple[Path, Any], tmp_path: Path, changes: dict[str, Any], compat: Any
) -> None:
    folder, _ = run
    shutil.copytree(folder / "run", tmp_path / "run")
    row = records(folder)["words"]
    assert row.keys() >= changes.keys() - {"cut_off"}
    lines = [
        json.dumps(line | changes if line == row else line) for line in records(folder).values()
    ]
    (tmp_path / "run" / "records.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    whole = rejudge(tmp_path / "run", compat=compat, data=folder / "data")
    [words] = [record for record in whole.run.records if record.example_id == "words"]
    assert (words.outcome, words.passed, words.threshold) == ("scored", None, None)
    assert words.score == pytest.approx(22 / 26)
