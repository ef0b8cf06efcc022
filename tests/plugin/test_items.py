"""Items: ids, order, selection, and what collection does not load."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.items import STARTER, ids
from tests.support.toy_bench import SUITE

MARKED = """
import pytest

@pytest.mark.tablebench("toy")
@pytest.mark.starter
def test_it(case, answer):
    pass
"""

# Ids


def test_hostile_ids_run_and_keep_the_true_example_id(bench):
    bench.data(toy=[["a b/é\n\x1b[31m", "How old is Ada?", ["36"]]])
    result = bench.run("--model=echo/any")
    result.assert_outcomes(passed=1)
    record = bench.record()
    assert record["example_id"] == "a b/é\n\x1b[31m"
    assert record["case_id"].isascii()
    assert record["case_id"].count("/") == 3


def test_ids_and_records_contain_perturbation_arguments(bench):
    result = bench.run(
        "-v",
        "--model=echo/any",
        "--bench-limit=1",
        "--bench-perturbation=truncate_rows[rows_to_keep=2]",
    )
    result.assert_outcomes(passed=1)
    record = bench.record()
    assert record["perturbation"] == "truncate_rows[rows_to_keep=2]"
    assert record["case_id"].startswith("toy/ada/html/truncate_rows")
    [[_, prompt]] = bench.calls("ask")
    assert prompt.count("<tr") == 1 + 2


def test_several_models_are_in_ids_and_have_a_folder_each(bench):
    result = bench.run("-v", "--bench-limit=1", "--model=echo/one", "--model=echo/two")
    result.assert_outcomes(passed=2)
    assert sorted(ids(result)) == ["ada-html-none-echo-one", "ada-html-none-echo-two"]
    folders = sorted(path.name for path in (bench.path / "run").iterdir())
    assert folders == ["echo-one", "echo-two"]
    for name in ("one", "two"):
        record = bench.record(f"run/echo-{name}")
        assert record["model"] == f"echo/{name}"
        assert record["case_id"] == f"toy/ada/html/none/echo-{name}"
        assert bench.facts(f"run/echo-{name}")["model"] == f"echo/{name}"


def test_a_model_named_twice_runs_once(bench):
    result = bench.run("--bench-limit=1", "--model=echo/one", "--model=echo/one")
    result.assert_outcomes(passed=1)
    assert bench.record()["case_id"] == "toy/ada/html/none"


# Order


def test_the_order_of_items_does_not_depend_on_the_hash_seed(bench, monkeypatch):
    bench.suite(STARTER + SUITE.split("import assert_exact_match")[1])
    orders = []
    for seed in ("0", "12345"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "--bench-limit=3"],
            capture_output=True,
            text=True,
            check=True,
            cwd=bench.path,
            timeout=60,
        )
        orders.append([line for line in done.stdout.splitlines() if "::" in line])
    assert len(orders[0]) == 2 * 3 * 7 * 5
    assert orders[0] == orders[1]


# Selection


def test_m_selects_by_mark(bench):
    bench.suite(MARKED)
    bench.run("--strict-markers", "-m", "starter", "--model=echo/any").assert_outcomes(passed=3)
    result = bench.run("-m", "torr", "--model=echo/any", results="other")
    result.assert_outcomes(deselected=3)
    assert not (bench.path / "other").exists()


def test_node_id_selects_one_case(bench):
    result = bench.run("--model=echo/any", "test_suite.py::test_toy[bo-html-none]")
    result.assert_outcomes(failed=1)
    assert bench.record()["example_id"] == "bo"


# Collection loads nothing


def test_collection_loads_no_example(bench):
    result = bench.run("--collect-only", "-q", "--model=echo/any")
    assert len(ids(result)) == 3
    assert bench.calls("open") == [["toy"]]
    assert bench.calls("example") == []
    assert bench.calls("ask") == []
    assert not (bench.path / "run").exists()


def test_an_example_is_loaded_once_for_all_serializers(bench):
    bench.run("--model=echo/any", "--bench-serializer=html,csv,json", "--bench-limit=2")
    assert bench.calls("example") == [["ada"], ["bo"]]


# Misuse


MISUSES = {
    "@pytest.mark.tablebench": "case, answer",
    "@pytest.mark.tablebench()": "case, answer",
    "@pytest.mark.tablebench('toy', 'other')": "case, answer",
    "@pytest.mark.tablebench('toy', treshold=1)": "case, answer",
    "@pytest.mark.tablebench(dataset='toy')": "case, answer",
    "@pytest.mark.tablebench('toy')": "",
}


def test_a_wrong_marker_is_refused_with_the_right_form(bench):
    for number, (mark, signature) in enumerate(MISUSES.items()):
        text = f"import pytest\n{mark}\ndef test_it({signature}):\n    pass\n"
        bench.suite(text, f"test_{number}.py")
    result = bench.run("--model=echo/any")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    right = re.compile(r"test_it: write @pytest.mark.tablebench\('dataset'\).*case.*answer")
    assert len([line for line in result.outlines if right.search(line)]) == len(MISUSES)
    assert_short_error(result, len(MISUSES))
    assert bench.calls("ask") == []


def test_a_marker_on_a_unittest_case_is_refused(bench):
    mark = "pytest.mark.tablebench('toy')"
    for place in ("method", "class", "module"):
        lines = [
            "import unittest, pytest",
            f"pytestmark = {mark}" if place == "module" else "",
            f"@{mark}" if place == "class" else "",
            "class TestIt(unittest.TestCase):",
            f"    @{mark}" if place == "method" else "",
            "    def test_it(self):\n        pass\n",
        ]
        bench.suite("\n".join(lines), f"test_{place}.py")
    result = bench.run("--model=echo/any")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    right = re.compile(r"write @pytest.mark.tablebench\('dataset'\).*unittest\.TestCase")
    assert len([line for line in result.outlines if right.search(line)]) == 3


def assert_short_error(result, count=1):
    text = result.stdout.str()
    assert "Traceback" not in text
    assert "plugin.py" not in text
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if " ERRORS " in line)
    end = next(n for n, line in enumerate(lines) if "short test summary" in line)
    assert end - start <= 1 + 5 * count


def test_an_unknown_dataset_in_a_marker_names_the_nearest(bench):
    bench.suite(STARTER.replace('"starter"', '"startr"'))
    result = bench.run("--model=echo/any")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*unknown dataset 'startr'; did you mean 'starter'*"])
    assert_short_error(result)


def test_a_dataset_of_a_deeper_conftest_is_found(bench):
    deep = bench.path / "tests/bench"
    deep.mkdir(parents=True)
    (bench.path / "conftest.py").rename(deep / "conftest.py")
    (bench.path / "toy.json").rename(deep / "toy.json")
    (bench.path / "test_suite.py").unlink(missing_ok=True)
    bench.suite(name="tests/bench/test_suite.py")
    options = ["--model=tablebench/lexical", "--bench-gate=all.no_answer <= 0.5"]
    result = bench.run(*options, "--bench-stop-when-decided")
    assert result.ret == 0, result.stdout.str()
    assert len(bench.records()) == 3


def test_the_case_fixture_without_a_marker_names_the_marker(bench):
    bench.suite("def test_it(case):\n    pass\n")
    result = bench.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*mark the test with @pytest.mark.tablebench('dataset')*"])


def test_the_marker_is_documented(bench):
    result = bench.pytester.runpytest_inprocess("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.tablebench(dataset, *"])
