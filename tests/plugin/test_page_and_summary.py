"""Page, pull-request summary and Allure results of a run."""

from __future__ import annotations

import re
from html import unescape

import pytest

from tests.support.gate_bench import GateBench, outcomes

GATE = "--bench-gate=toy.performance >= 0.5"
PAGE = "--override-ini=bench_no_page=false"
"""The default; named, `Bench.run` does not switch the page off."""


@pytest.fixture
def bench(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> GateBench:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return GateBench(pytester)


def written(bench: GateBench, folder: str = "run") -> set[str]:
    return {path.name for path in (bench.path / folder).iterdir()}


def summary(bench: GateBench, folder: str = "run") -> str:
    return unescape((bench.path / folder / "summary.md").read_text(encoding="utf-8"))


WATCHED = """
import sys

def watched(event, found):
    if event == "open" and str(found[0]).endswith("records.jsonl") and found[1] == "r":
        log("read", Path(found[0]).parent.name)

sys.addaudithook(watched)
"""


def test_the_end_of_a_run_reads_each_folder_once(bench):
    """Gates, comparison, page, summary and Allure results are made of one loaded run."""
    assert bench.run(bench.model(outcomes()), results="old").ret == 0
    bench.adapt(add=WATCHED)
    beside = ("--bench-baseline=old", "--bench-allure=all", f"--alluredir={bench.path / 'allure'}")
    assert bench.run(bench.model(outcomes(wrong=3)), PAGE, GATE, *beside).ret == 0
    assert {"report.html", "summary.md"} <= written(bench)
    assert "The gate holds" in summary(bench)
    assert "toy/e029/html/none" in summary(bench)  # right in the baseline
    # Before the run the baseline is read once more, to check it.
    assert sorted(name for (name,) in bench.calls("read")) == ["old", "old", "run"]


# The page


def test_a_run_writes_its_page_with_the_verdict(bench):
    assert bench.run(bench.model(outcomes(wrong=3)), PAGE, GATE).ret == 0
    page = (bench.path / "run/report.html").read_text(encoding="utf-8")
    assert "Passes: the gate holds" in page
    assert "toy.performance &gt;= 0.5" in page
    # The page loads nothing.
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)


def test_each_model_has_a_page_and_a_summary(bench):
    models = bench.model(outcomes(), "good"), bench.model(outcomes(wrong=30), "bad")
    assert bench.run(*models, PAGE, GATE).ret == 10
    for name, line in (("good", "Passes: the gate holds"), ("bad", "Fails: 1 of 1 gate")):
        page = bench.path / f"run/plan-{name}/report.html"
        assert line in page.read_text(encoding="utf-8")
    assert "**The gate holds.**" in summary(bench, "run/plan-good")
    assert "**The gate fails.**" in summary(bench, "run/plan-bad")


def test_an_interrupted_run_has_a_page(bench):
    plan = outcomes() | {"e010": "interrupt"}
    assert bench.run(bench.model(plan), PAGE, GATE).ret == 2
    page = (bench.path / "run/report.html").read_text(encoding="utf-8")
    assert "Undecided: 1 of 1 gate" in page


def test_a_page_that_cannot_be_written_is_reported_and_changes_no_verdict(bench):
    (bench.path / "run/report.html").mkdir(parents=True)
    result = bench.run(bench.model(outcomes()), PAGE, GATE)
    assert (result.ret, bench.states()) == (0, ["holds"])
    result.stdout.fnmatch_lines(["tablebench: plan/x: a report could not be written: *"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_step_summary_that_cannot_be_written_is_reported(bench, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(bench.path))  # a folder
    result = bench.run(bench.model(outcomes()), GATE)
    assert (result.ret, bench.states()) == (0, ["holds"])
    result.stdout.fnmatch_lines([f"tablebench: *{bench.path}*"])
    assert "**The gate holds.**" in summary(bench)


def test_a_run_that_stopped_early_is_not_called_cut_off(bench):
    arguments = ("--bench-serializer=html,csv", "--bench-stop-when-decided", PAGE, GATE)
    assert bench.run(bench.model(outcomes()), *arguments).ret == 0
    page = (bench.path / "run/report.html").read_text(encoding="utf-8")
    assert bench.facts()["cases_saved"] == 30
    assert "30 of 60 cases were asked: every gate was decided without the others" in page
    assert "cut off" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert "30 of 60 cases were asked: every gate was decided without" in summary(bench)
    assert "cut off" not in summary(bench)


# The summary for a pull request


def test_without_gates_or_baseline_a_summary_is_written_only_for_a_step(bench, monkeypatch):
    bench.run(bench.model(outcomes()))
    assert written(bench) == {"run.json", "records.jsonl", "summary.json", "texts.jsonl.gz"}
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(bench.path / "step.md"))
    bench.run(bench.model(outcomes()), results="step")
    assert "plan/x" in unescape((bench.path / "step.md").read_text(encoding="utf-8"))


def test_the_summary_links_the_page_and_the_step_summary_names_it(bench, monkeypatch):
    step = bench.path / "step.md"
    step.write_text("what others wrote\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    assert bench.run(bench.model(outcomes()), PAGE, GATE).ret == 0
    assert "[Full report](report.html)" in summary(bench)
    # On the page of a job a relative link would be broken.
    shown = unescape(step.read_text(encoding="utf-8"))
    assert "](" not in shown
    assert "report.html" in shown
    assert shown.startswith("what others wrote\n")
    assert shown.count("Table benchmark") == 1
