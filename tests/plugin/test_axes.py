"""The cases of a run: datasets, grid, examples, demonstrations and registered parts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from tests.support.items import collected
from tests.support.runs import environment
from tests.support.toy_bench import ADA, BO, SUITE, read_lines

ROOT = Path(__file__).resolve().parents[2]

# Axes


def test_datasets_not_named_are_deselected_and_never_opened(bench):
    bench.data(toy=[ADA], other=[BO])
    bench.suite(SUITE + SUITE.replace("toy", "other"))
    result = bench.run("--model=echo/any", "--bench-dataset=toy")
    result.assert_outcomes(passed=1, deselected=1)
    assert bench.calls("open") == [["toy"]]


def test_the_option_overrides_the_limit_of_the_dataset(bench):
    bench.adapt(("limit = None", "limit = 1"))
    assert collected(bench) == ["ada-html-none"]
    assert collected(bench, "--bench-limit=2") == ["ada-html-none", "bo-html-none"]
    assert collected(bench, "--bench-limit=all") == [f"{n}-html-none" for n in ("ada", "bo", "cy")]
    bench.run("--model=echo/any", "--bench-limit=all")
    assert bench.facts()["limit"] == "all"


def test_a_sample_depends_on_the_seed_and_is_recorded(bench):
    bench.data(toy=[[f"e{n:02}", f"Question {n}?", ["36"]] for n in range(30)])
    first, other = (collected(bench, "--bench-sample=5", f"--bench-seed={n}") for n in (1, 2))
    assert len(first) == 5
    assert other != first == sorted(first) != collected(bench, "--bench-limit=5")
    bench.run("--model=echo/any", "--bench-sample=5", "--bench-seed=1")
    assert [f"{record['example_id']}-html-none" for record in bench.records()] == first
    assert bench.facts()["sample"] == 5
    assert len(collected(bench, "--bench-sample=9", "--bench-limit=all")) == 9


def test_configs_per_example_draws_some_configurations_for_each_example(bench):
    grid = ("--bench-serializer=html,csv,json", "--bench-perturbation=none,transpose")
    result = bench.run("--model=echo/any", "--bench-configs-per-example=2", *grid)
    records = bench.records()
    assert len(records) == 3 * 2
    assert {record["example_id"] for record in records} == {"ada", "bo", "cy"}
    places = {(record["serializer"], record["perturbation"]) for record in records}
    assert len(places) == 6  # three examples use up the grid's six once
    assert bench.facts()["configs_per_example"] == 2
    result.stdout.fnmatch_lines(["toy: 2 of 6 configurations per example; *"])


# Demonstrations


@pytest.mark.parametrize("shots", [0, 3])
def test_shots_sets_the_number_of_demonstrations(bench, shots):
    bench.run("--model=echo/any", "--bench-limit=1", f"--bench-shots={shots}")
    [[_, prompt]] = bench.calls("ask")
    shown = re.findall(r"Question: Demonstration (\d)\?\s+Answer: shown (\d)", prompt)
    assert len(shown) == shots
    assert all(question == answered for question, answered in shown)
    assert len(set(shown)) == shots
    assert prompt.rstrip().endswith("Answer:")
    assert "Answer: 36" not in prompt


def prompts(bench, *arguments):
    (bench.path / "calls.log").unlink(missing_ok=True)
    folder = f"run-{len(list(bench.path.glob('run-*')))}"
    bench.run("--model=echo/any", "--bench-shots=2", *arguments, results=folder)
    return bench.calls("ask")


def test_a_prompt_does_not_depend_on_the_other_cases_of_the_run(bench):
    everything = dict(prompts(bench, "--bench-perturbation=none,shuffle_rows"))
    [[case_id, alone]] = prompts(bench, "--bench-perturbation=shuffle_rows", "-k", "cy")
    assert everything[case_id] == alone
    # The seed decides which demonstrations are drawn.
    for seed, is_equal in ((0, True), (1, False)):
        [[_, other]] = prompts(bench, "--bench-limit=1", f"--bench-seed={seed}")
        assert (other == everything["toy/ada/html/none"]) is is_equal


def _shown(demos: str, example_id: str) -> list[list[str]]:
    """Return the questions of the demonstrations under each perturbation, in prompt order."""
    settings = Settings(demos=demos, shots=3, limit=8)  # type: ignore[arg-type]
    runner = Runner(settings, builtin_registry())
    shown = []
    for perturbation in ("none", "shuffle_rows", "transpose"):
        case = Case("starter", example_id, "csv", perturbation, "m", "id")
        prompt = runner.renderer.task(case).prompt
        assert isinstance(prompt, str)
        shown.append(re.findall(r"Question: (.*)", prompt)[:-1])
    return shown


def test_fixed_demonstrations_are_the_same_in_all_configurations():
    source = Starter().open(Path())
    ids = source.example_ids(8)
    for example_id in ids:
        fixed = _shown("fixed", example_id)
        assert all(len(questions) == 3 for questions in fixed)
        assert fixed[0] == fixed[1] == fixed[2]
        # Without a perturbation both modes draw the same demonstrations.
        assert _shown("perturbed", example_id)[0] == fixed[0]
    changing = [_shown("perturbed", example_id) for example_id in ids]
    assert any(shown[0] != shown[2] for shown in changing)


# Registered parts


def test_a_run_uses_the_serializer_perturbation_and_metric_of_a_conftest(bench):
    bench.adapt(
        add="""
from pytest_tablebench import Score

def pytest_tablebench_register_serializer(register):
    register("shouting", lambda table: "!".join(table.header).upper())

def pytest_tablebench_register_perturbation(register):
    def first_rows(table, *, seed=0, count=1):
        return table.replace(rows=table.rows[:count], header=[*table.header[:-1], f"Years{count}"])
    register("first_rows", first_rows)

def pytest_tablebench_register_metric(register, register_postprocessor):
    register("length", lambda prediction, references, **_: Score(len(prediction) / 8))
"""
    )
    bench.suite(
        SUITE.replace(
            "assert_exact_match(case, answer)", "assert_score(case, answer, part='length')"
        ).replace("assert_exact_match", "assert_score")
    )
    result = bench.run(
        "--model=echo/any",
        "--bench-limit=1",
        "--bench-serializer=shouting",
        "--bench-perturbation=first_rows[count=2]",
        "--bench-threshold=toy=0.3",
    )
    # The reply has two of eight characters: 0.25. The record has the score of the dataset's metric.
    result.assert_outcomes(failed=1)
    [[_, prompt]] = bench.calls("ask")
    assert "NAME!YEARS2" in prompt
    record = bench.record()
    assert list(record["checks"].values()) == [False]
    assert (record["metric"], record["score"]) == ("exact_match", 1.0)
    assert record["serializer"] == "shouting"


# A data folder elsewhere


def test_a_data_folder_outside_the_project_collects_no_other_tests(tmp_path):
    root, data = tmp_path / "project", tmp_path / "elsewhere/data"
    data.mkdir(parents=True)
    shutil.copytree(ROOT / "suites", root / "suites")
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    (root / "tests").mkdir()
    (root / "tests/test_own.py").write_text("def test_own(): pass")
    options = ("--bench-dataset=starter", "--bench-limit=1", "--bench-serializer=csv")
    command = [sys.executable, "-m", "pytest", "--bench-data=../elsewhere/data", *options]
    done = subprocess.run(
        [*command, "--bench-perturbation=none"],
        cwd=root,
        env=environment(None),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "test_own" not in done.stdout
    [run] = (root / "tablebench-results").iterdir()
    assert len(read_lines(run / "records.jsonl")) == 1
