"""allure-pytest in the same run: it writes the results of other tests, and leaves cases to us."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.reports.allure._results import history_id
from tests.support.matrix import reduced
from tests.support.toy_bench import Bench

SUITE = """
import allure
import pytest
from pytest_tablebench import assert_exact_match

@pytest.fixture(scope="module")
def shared():
    return 1

@pytest.mark.parametrize("number", [1, 2])
def test_plain(number, shared):
    allure.attach("kept", name="note")

@pytest.mark.tablebench("toy")
def test_toy(case, answer, shared):
    print("captured")
    with allure.step("a step"):
        assert_exact_match(case, answer)

@pytest.mark.tablebench("toy")
def test_labelled(case):
    pass
"""


@pytest.mark.parametrize("workers", reduced("02", "1"))
def test_allure_pytest_writes_only_tests_without_a_case(bench: Bench, workers: str) -> None:
    bench.suite(SUITE)
    result = bench.run("--model=echo/m", "--alluredir=allure", "-n", workers)
    result.assert_outcomes(passed=6, failed=2)
    folder = bench.path / "allure"
    ours = {history_id(f"toy/{example}/html/none") for example in ("ada", "bo", "cy")}
    results = [json.loads(path.read_text("utf-8")) for path in folder.glob("*-result.json")]
    # Two tests use each case, which has one result.
    assert sum(result["historyId"] in ours for result in results) == 3
    others = [result for result in results if result["historyId"] not in ours]
    assert sorted(result["name"] for result in others) == ["test_plain[1]", "test_plain[2]"]
    assert [(folder / a["source"]).read_text() for r in others for a in r["attachments"]] == (
        ["kept"] * 2
    )
    assert "captured" not in {path.read_text() for path in folder.glob("*-attachment*")}
    contents = [path.read_text("utf-8") for path in folder.glob("*-container.json")]
    children = [json.loads(text)["children"] for text in contents if '"shared"' in text]
    # The last item that uses the fixture is a case.
    assert {result["uuid"] for result in others} <= {uuid for uuids in children for uuid in uuids}
