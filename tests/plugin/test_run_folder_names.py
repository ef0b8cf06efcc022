"""The name of the run folder, and runs that make no folder."""

from __future__ import annotations

import re
from itertools import product

import pytest

from pytest_tablebench.results import read_facts
from pytest_tablebench.session import _kept_run as kept_run
from tests.support.matrix import reduced
from tests.support.toy_bench import CONFTEST, read_lines

# The folder by time and model


def test_the_default_folder_name_contains_time_and_model(bench):
    result = bench.pytester.runpytest_inprocess("--model=echo/any", "--bench-limit=1")
    [folder] = (bench.path / "tablebench-results").iterdir()
    assert re.fullmatch(r"\d{8}-\d{6}-echo-any", folder.name)
    result.stdout.fnmatch_lines([f"open the report: tablebench-results/{folder.name}/report.html"])


AT_THE_SAME_TIME = """
import os

import pytest_tablebench.session._kept_run as session

choose = session.run_paths


def run_paths(*arguments):
    paths = choose(*arguments)
    if "PYTEST_XDIST_WORKER" in os.environ:
        return paths  # only the controller makes folders
    for path in paths.values():
        path.mkdir(parents=True)  # another run, which began in the same second
        (path / "run.json").write_text("another's")
    return paths


session.run_paths = run_paths
"""


@pytest.mark.parametrize(
    ("workers", "has_options"),
    reduced(product([[], ["-n1"]], [True, False]), ([], False), (["-n1"], True)),
)
def test_a_folder_that_another_run_has_just_made_is_not_used(
    bench, monkeypatch, workers, has_options
):
    monkeypatch.setattr(kept_run, "run_paths", kept_run.run_paths)  # which the conftest replaces
    bench.data(toy=[["ada", "How old is Ada?", ["36"]]])
    text = CONFTEST.replace('("echo", "other")', '("tablebench/lexical",)')
    bench.pytester.makeconftest(text + AT_THE_SAME_TIME)
    bench.pytester.makeini("[pytest]\n")
    options = ["--bench-serializer=html", "--bench-no-page"] if has_options else []
    result = bench.pytester.runpytest_inprocess(*workers, *options)
    assert result.ret == pytest.ExitCode.OK
    first, ours = sorted((bench.path / "tablebench-results").iterdir())
    assert ours.name == f"{first.name}-2"
    assert [path.name for path in first.iterdir()] == ["run.json"]
    assert (first / "run.json").read_text("utf-8") == "another's"
    assert read_facts(ours).entries["status"] == "complete"
    assert len(read_lines(ours / "records.jsonl")) == (5 if has_options else 35)
    named = f"tablebench-results/{ours.name}"
    line = f"run folder: {named}" if has_options else f"open the report: {named}/report.html"
    result.stdout.fnmatch_lines([line])


# Folders that were not needed


@pytest.mark.parametrize("options", [[], ["--bench-results=deep/er/run"]])
def test_a_run_without_cases_makes_no_folder(bench, options):
    bench.suite("def test_foreign():\n    pass\n")
    before = sorted(path.name for path in bench.path.iterdir())
    result = bench.pytester.runpytest_inprocess(
        "test_suite.py", "-p", "no:cacheprovider", "--bench-limit=1", *options
    )
    result.assert_outcomes(passed=1)
    now = {path.name for path in bench.path.iterdir()} - {"__pycache__", ".pytest_cache"}
    assert sorted(now) == before


def test_a_session_that_does_not_start_makes_no_folder(bench):
    refuse = "def pytest_sessionstart():\n    raise pytest.UsageError('not today')\n"
    bench.pytester.makeconftest(f"import pytest\n{CONFTEST}\n{refuse}")
    result = bench.run("--model=echo/any", results="deep/er/run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert not (bench.path / "deep").exists()


def test_an_unused_folder_of_the_user_is_kept(bench):
    bench.suite("def test_foreign():\n    pass\n")
    (bench.path / "mine").mkdir()
    bench.run("test_suite.py", "--bench-limit=1", results="mine").assert_outcomes(passed=1)
    assert (bench.path / "mine").is_dir()
