"""Installed packages register datasets, formats and models."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.datasets import built_in_benchmarks
from tests.support.extensions import EXTENSIONS, Extended, install, run_extended

SERIALIZERS = ["html", "csv", "json", "markdown", "indexed_row_major", "df", "concat"]
PERTURBATIONS = ["none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows"]
"""The grid of the ToRR paper, in its order."""

SUITE = """
import pytest
from pytest_tablebench import assert_exact_match

@pytest.mark.harbours
@pytest.mark.tablebench("ports")
def test_ports(case, answer):
    assert_exact_match(case, answer)

@pytest.mark.tablebench("own")
def test_own(case, answer):
    assert_exact_match(case, answer)

@pytest.mark.starter
@pytest.mark.tablebench("starter")
def test_starter(case, answer):
    assert_exact_match(case, answer)
"""

CONFTEST = """
from pytest_tablebench.extend import Table, TableQuestions, table_question

BOATS = Table(["Boat", "Crew"], [["Wren", "3"], ["Tern", "5"]])

def pytest_tablebench_register_dataset(register):
    crew = [table_question("crew", BOATS, "How many sail on Tern?", ["5"])]
    register(TableQuestions("own", crew))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the four packages, installed by pip without a network."""
    names = ("dataset", "serializer", "perturbation", "provider")
    return install(tmp_path_factory.mktemp("installed") / "packages", names)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["dataset", "serializer", "perturbation", "provider"])
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


def test_registered_formats_join_the_grids_of_their_datasets(
    installed: Path, project: Path
) -> None:
    run = run_extended(installed, project, "--collect-only", "-q", "--bench-limit=1")
    assert run.returncode == 0, run.output
    # The dataset of a package has the built-in formats and its own.
    assert grid(run, "ports") == ([*SERIALIZERS, "lines"], PERTURBATIONS)
    # The tables of the project have all formats that join grids.
    serializers, perturbations = grid(run, "own")
    assert serializers == [*SERIALIZERS, "lines", "bars"]  # packages by their names
    assert perturbations == [*PERTURBATIONS, "repeat_header"]
    # The grid of a built-in dataset does not depend on installed packages.
    assert grid(run, "starter") == (SERIALIZERS, PERTURBATIONS)


def test_a_dataset_of_a_package_is_run_and_scored(installed: Path, project: Path) -> None:
    only = ("--bench-dataset=ports", "--bench-serializer=lines", "--bench-perturbation=none")
    run = run_extended(installed, project, "--model=lastcell/x", *only)
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


def test_records_name_the_serializer_and_perturbation_of_a_package(
    installed: Path, project: Path
) -> None:
    run = run_extended(installed, project, "--model=lastcell/x", "--bench-dataset=own")
    records = {(r["serializer"], r["perturbation"]): r for r in run.records}
    assert len(run.records) == len(records) == 9 * 6
    assert records["bars", "none"]["raw"] == "5"
    # The header is repeated below the rows: its last name is the last cell.
    assert records["bars", "repeat_header"]["raw"] == "Crew"
    assert set(run.facts["grid"]["serializers"]) == {*SERIALIZERS, "bars", "lines"}
    assert run.facts["grid"]["perturbations"] == [*PERTURBATIONS, "repeat_header"]


def test_options_accept_names_of_packages_and_suggest_them(installed: Path, project: Path) -> None:
    named = ("--bench-serializer=backwards,bars", "--bench-perturbation=repeat_header[times=2]")
    some = ("--bench-dataset=starter,own", "--bench-limit=1", "--bench-shots=0")
    gate = "--bench-gate=own[backwards].pass_rate <= 0"
    run = run_extended(installed, project, "--model=lastcell/x", *named, *some, gate)
    shown = [(r["dataset"], r["serializer"], r["perturbation"]) for r in run.records]
    assert sorted(shown) == [
        (dataset, serializer, "repeat_header[times=2]")
        for dataset in ("own", "starter")
        for serializer in ("backwards", "bars")
    ]
    unknown = run_extended(installed, project, "--bench-serializer=bar")
    assert unknown.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--bench-serializer: unknown serializer 'bar'; did you mean 'bars'" in unknown.output


def test_the_marker_of_a_registered_benchmark_can_be_selected(
    installed: Path, project: Path
) -> None:
    some = ("--collect-only", "-q", "--bench-serializer=html", "--bench-perturbation=none")
    run = run_extended(installed, project, "--strict-markers", "-m", "harbours", *some)
    assert run.items == ["most-html-none", "count-html-none"]
    markers = run_extended(installed, project, "--markers").output
    assert [line for line in markers.splitlines() if line.endswith(" benchmark")] == [
        f"@pytest.mark.{name}: a suite of the {name} benchmark"
        for name in (*(benchmark.name for benchmark in built_in_benchmarks()), "harbours")
    ]
