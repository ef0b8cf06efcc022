"""allure-pytest in the same run: its results of cases have case ids, or it leaves cases to us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.allure import history_id
from tests.support.matrix import reduced
from tests.support.toy_bench import Bench

SUITE = """
import allure
import pytest
from pytest_tablebench import assert_exact_match

@pytest.fixture(scope="module")
def shared():
    allure.attach("from a fixture", name="shared")
    return 1

@pytest.mark.tablebench("toy")
def test_toy(case, answer, shared):
    print("captured")
    with allure.step("a step"):
        assert_exact_match(case, answer)

@allure.suite("my suite")
@allure.epic("my epic")
@pytest.mark.parametrize("style", ["one", "two"])
@pytest.mark.tablebench("toy")
def test_labelled(case, style):
    pass

@pytest.mark.parametrize("number", [1, 2])
def test_plain(number, shared):
    allure.attach("kept", name="note")
"""


def run(bench: Bench, *arguments: str) -> pytest.RunResult:
    bench.suite(SUITE)
    return bench.run_apart("--model=echo/m", "--alluredir=allure", *arguments)


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in folder.glob("*-result.json")]


def labels(result: dict[str, Any]) -> dict[str, str]:
    return {label["name"]: label["value"] for label in result["labels"]}


@pytest.mark.parametrize("workers", reduced("02", "0"))
def test_allure_results_of_cases_have_case_ids_and_labels(bench: Bench, workers: str) -> None:
    run(bench, "-n", workers).assert_outcomes(passed=9, failed=2)
    allure_results = results(bench.path / "allure")
    assert len(allure_results) == 11
    assert len({result["historyId"] for result in allure_results}) == 11
    by_case = {r["testCaseId"]: r for r in allure_results if "test_toy" in r["name"]}
    for example, status in {"ada": "passed", "bo": "failed", "cy": "failed"}.items():
        case_id = f"toy/{example}/html/none"
        # Two tests use the case, and each has its own result.
        result = by_case[history_id(f"{case_id}::test_toy")]
        assert result["historyId"] == result["testCaseId"]
        assert result["parameters"] == [{"name": "case", "value": case_id}]
        assert result["status"] == status
        assert [step["name"] for step in result["steps"]] == ["a step"]
        assert labels(result)["epic"] == "toys"
        assert labels(result)["suite"] == "toy"
        assert labels(result)["story"] == "html"
    named = [labels(result) for result in allure_results if "test_labelled" in result["name"]]
    assert {(n["suite"], n["epic"], n["subSuite"]) for n in named} == {
        ("my suite", "my epic", "none")
    }
    plain = [labels(result) for result in allure_results if "test_plain" in result["name"]]
    assert {name["suite"] for name in plain} == {"test_suite"}


@pytest.mark.parametrize("workers", reduced("02", "2"))
def test_with_our_results_allure_writes_only_tests_without_a_case(
    bench: Bench, workers: str
) -> None:
    run(bench, "-n", workers, "--bench-allure=all")
    folder = bench.path / "allure"
    ours = {history_id(f"toy/{example}/html/none") for example in ("ada", "bo", "cy")}
    allure_results = results(folder)
    # Three tests use each case, which has one of our results.
    assert {r["historyId"] for r in allure_results} >= ours
    others = [r for r in allure_results if r["historyId"] not in ours]
    assert sorted(result["name"] for result in others) == ["test_plain[1]", "test_plain[2]"]
    assert len(allure_results) == len(ours) + len(others)
    named = [a["source"] for r in others for a in r["attachments"]]
    assert len(named) == 2
    for name in named:
        assert (folder / name).read_text() == "kept"
    assert "captured" not in {path.read_text() for path in folder.glob("*-attachment*")}


def test_escape_codes_are_text_in_status_details(bench: Bench) -> None:
    bench.suite(
        """
import pytest

@pytest.mark.tablebench("toy")
def test_toy(case, answer):
    assert answer.text == "\\x1b[31m \\u202e"
"""
    )
    bench.run_apart("--model=echo/m", "--alluredir=allure")
    allure_results = results(bench.path / "allure")
    assert len(allure_results) == 3
    for result in allure_results:
        assert not {"\x1b", "\u202e"} & set(json.dumps(result["statusDetails"], ensure_ascii=False))
