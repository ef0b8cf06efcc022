"""Installed packages register datasets, formats, models, a strategy and a judged metric."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_tablebench.datasets import built_in_benchmarks
from tests.support.extensions import EXTENSIONS, Extended, install
from tests.support.toy_bench import SCORED
from tests.support.toy_bench import SUITE as MATCHED

SERIALIZERS = ["html", "csv", "json", "markdown", "indexed_row_major", "df", "concat"]
PERTURBATIONS = ["none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows"]
"""The grid of the ToRR paper, in its order."""

SUITE = (
    MATCHED.replace("@pytest", "@pytest.mark.harbours\n@pytest", 1).replace("toy", "ports")
    + MATCHED.replace("toy", "own")
    + MATCHED.replace("@pytest", "@pytest.mark.starter\n@pytest", 1).replace("toy", "starter")
)

CONFTEST = """
from pytest_tablebench.extend import Table, TableQuestions, table_question

BOATS = Table(["Boat", "Crew"], [["Wren", "3"], ["Tern", "5"]])

def pytest_tablebench_register_dataset(register):
    crew = [table_question("crew", BOATS, "How many sail on Tern?", ["5"])]
    register(TableQuestions("own", crew))
"""


CREWS = SCORED.replace("toy", "crews")

CREWS_CONFTEST = """
from pytest_tablebench.extend import Table, TableQuestions, table_question

BOATS = Table(["Boat", "Crew"], [["Wren", "3"], ["Tern", "5"]])

def pytest_tablebench_register_dataset(register):
    crew = [
        table_question("tern", BOATS, "How many sail on Tern?", ["5"]),
        table_question("wren", BOATS, "How many sail on Wren?", ["3"]),
    ]
    register(TableQuestions("crews", crew, metric="same_meaning"))
"""

PACKAGES = ("dataset", "serializer", "perturbation", "provider", "metric", "strategy")

ONE = ("--bench-serializer=csv", "--bench-perturbation=none")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages, installed by pip without a network."""
    return install(tmp_path_factory.mktemp("installed") / "packages", PACKAGES)


class Project:
    """A folder with a suite, in a process where the packages are installed."""

    def __init__(self, pytester: pytest.Pytester, suite: str, conftest: str) -> None:
        self._pytester, self.path = pytester, pytester.path
        pytester.makepyfile(test_suite=suite)
        pytester.makeconftest(conftest)

    def run(self, *arguments: str, results: str = "run") -> Extended:
        options = (f"--bench-results={results}", "--bench-store=none", "--bench-no-page")
        result = self._pytester.runpytest_inprocess("-pno:cacheprovider", *options, *arguments)
        output = result.stdout.str() + result.stderr.str()
        return Extended(int(result.ret), output, self.path, results)

    def script(self, name: str, **replies: str) -> str:
        """Return a scripted model with a reply for each text in a prompt; `_` is a space."""
        lines = [{"match": key.replace("_", " "), "text": text} for key, text in replies.items()]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.path / name).write_text(text, encoding="utf-8")
        return f"tablebench/scripted:{name}"


@pytest.fixture
def packages(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the packages importable in this process and in those of the calls."""
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.setenv("PYTHONPATH", str(installed), prepend=os.pathsep)


@pytest.fixture
def project(pytester: pytest.Pytester, packages: None) -> Project:
    return Project(pytester, SUITE, CONFTEST)


@pytest.fixture
def crews(pytester: pytest.Pytester, packages: None) -> Project:
    return Project(pytester, CREWS, CREWS_CONFTEST)


@pytest.mark.parametrize("name", PACKAGES)
def test_an_example_package_is_one_short_module_and_its_metadata(name: str) -> None:
    files = sorted(path.name for path in (EXTENSIONS / name).iterdir() if path.is_file())
    assert files == ["pyproject.toml", f"tablebench_example_{name}.py"]
    module = (EXTENSIONS / name / files[1]).read_text(encoding="utf-8")
    assert len(module.splitlines()) < 100


def grid(run: Extended, dataset: str) -> tuple[list[str], list[str]]:
    """Return the serializers and perturbations of a dataset's items, in order."""
    prefix = {"ports": "most", "own": "crew", "starter": "fin-01-lookup-1"}[dataset]
    parts = [
        item.removeprefix(f"{prefix}-").split("-")
        for item in run.items
        if item.startswith(f"{prefix}-")
    ]
    return list(dict.fromkeys(p[0] for p in parts)), list(dict.fromkeys(p[1] for p in parts))


def test_registered_formats_join_the_grids_of_their_datasets(project: Project) -> None:
    run = project.run("--collect-only", "-q", "--bench-limit=1")
    assert run.returncode == 0, run.output
    # The dataset of a package has the built-in formats and its own.
    assert grid(run, "ports") == ([*SERIALIZERS, "lines"], PERTURBATIONS)
    # The tables of the project have all formats that join grids.
    serializers, perturbations = grid(run, "own")
    assert serializers == [*SERIALIZERS, "lines", "bars"]  # packages by their names
    assert perturbations == [*PERTURBATIONS, "repeat_header"]
    # The grid of a built-in dataset does not depend on installed packages.
    assert grid(run, "starter") == (SERIALIZERS, PERTURBATIONS)


def test_a_dataset_of_a_package_is_run_and_scored(project: Project) -> None:
    only = ("--bench-dataset=ports", "--bench-serializer=lines", "--bench-perturbation=none")
    run = project.run("--model=lastcell/x", *only)
    # The last cell of the table is 7: wrong for the first question, right for the second.
    outcomes = [(r["case_id"], r["benchmark"], r["raw"], r["outcome"]) for r in run.records]
    assert outcomes == [
        ("ports/most/lines/none", "harbours", "7", "wrong"),
        ("ports/count/lines/none", "harbours", "7", "right"),
    ]
    assert run.facts["model"] == "lastcell/x"
    assert run.facts["grid"]["serializers"] == ["lines"]
    assert run.facts["grid"]["perturbations"] == ["none"]
    assert run.returncode == 1


def test_options_accept_names_of_packages_and_suggest_them(project: Project) -> None:
    named = ("--bench-serializer=backwards,bars", "--bench-perturbation=repeat_header[times=2]")
    some = ("--bench-dataset=starter,own", "--bench-limit=1", "--bench-shots=0")
    gate = "--bench-gate=own[backwards].pass_rate <= 0"
    run = project.run("--model=lastcell/x", *named, *some, gate)
    shown = [(r["dataset"], r["serializer"], r["perturbation"]) for r in run.records]
    assert sorted(shown) == [
        (dataset, serializer, "repeat_header[times=2]")
        for dataset in ("own", "starter")
        for serializer in ("backwards", "bars")
    ]
    # The header is repeated below the rows: its last name is the last cell.
    [raw] = [r["raw"] for r in run.records if (r["dataset"], r["serializer"]) == ("own", "bars")]
    assert raw == "Crew"
    unknown = project.run("--bench-serializer=bar")
    assert unknown.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--bench-serializer: unknown serializer 'bar'; did you mean 'bars'" in unknown.output


def test_the_marker_of_a_registered_benchmark_can_be_selected(project: Project) -> None:
    some = ("--collect-only", "-q", "--bench-serializer=html", "--bench-perturbation=none")
    run = project.run("--strict-markers", "-m", "harbours", *some)
    assert run.items == ["most-html-none", "count-html-none"]
    markers = project.run("--markers").output
    assert [line for line in markers.splitlines() if line.endswith(" benchmark")] == [
        f"@pytest.mark.{name}: a suite of the {name} benchmark"
        for name in (*(benchmark.name for benchmark in built_in_benchmarks()), "harbours")
    ]


def test_a_judge_is_called_only_if_the_words_differ(crews: Project) -> None:
    model = crews.script("model.jsonl", on_Tern="five", on_Wren="3")
    judge = crews.script("judge.jsonl", Answer="Yes, it is.")
    options = (f"--model={model}", *ONE)
    run = crews.run(*options, f"--bench-judge={judge}")
    assert run.returncode == 0, run.output
    tern, wren = run.records
    assert (tern["raw"], tern["score"], tern["part"]) == ("five", 1.0, "meaning")
    assert tern["parts"] == {"words": 0.0, "meaning": 1.0}
    assert [step["model"] for step in tern["steps"]] == [None, judge]
    assert (wren["raw"], wren["parts"]) == ("3", {"words": 1.0, "meaning": 1.0})
    without = crews.run(*options, results="without")
    assert without.returncode == 1
    reasons = {record["raw"]: record["reason"] for record in without.records}
    assert reasons == {"five": "not_judged", "3": None}


def test_the_second_round_of_a_strategy_uses_the_first_reply(crews: Project) -> None:
    replies = {"Your_notes:_the_second_row": "5", "Do_not_answer_yet": "the second row"}
    model = crews.script("model.jsonl", **replies)
    run = crews.run(f"--model={model}", *ONE, "--bench-strategy=notes", "-k=tern")
    assert run.returncode == 0, run.output
    [record] = run.records
    assert (record["strategy"], record["raw"], record["outcome"]) == ("notes", "5", "right")
    assert [step["kind"] for step in record["steps"]] == ["ask", "ask"]
