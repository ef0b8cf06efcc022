"""The package's own suites: where pytest finds them, and how they are named to people."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tablebench.commands._suites import check_and_run
from pytest_tablebench.util import suites
from pytest_tablebench.util.suites import located, module_name

ROOT = Path(__file__).parents[2]


def test_the_printed_command_for_a_folder_names_its_suite() -> None:
    check, run = check_and_run(Path("my data"))
    assert check == "check: tablebench check 'my data'"
    words = shlex.split(run.removeprefix("run: "))
    named = "pytest_tablebench.suites.test_own"
    assert words == ["pytest", "--pyargs", named, "--bench-data=my data"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("pytest_tablebench.suites", "suites"),
        ("pytest_tablebench.suites.test_own", "suites/test_own.py"),
        (
            "pytest_tablebench.suites.test_own::test_own[a.b-c]",
            "suites/test_own.py::test_own[a.b-c]",
        ),
    ],
)
def test_in_a_checkout_suite_names_are_paths_next_to_the_package(given: str, meant: str) -> None:
    assert located(given) == f"{ROOT}/{meant}"


@pytest.mark.parametrize("given", ["--pyargs", "other.suites", "pytest_tablebench.suites_of_mine"])
def test_other_arguments_are_unchanged(given: str) -> None:
    assert located(given) == given


def test_in_an_installed_package_suite_names_are_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest_tablebench/suites").mkdir(parents=True)
    monkeypatch.setattr(suites, "__file__", str(tmp_path / "pytest_tablebench/util/suites.py"))
    assert located("pytest_tablebench.suites") == "pytest_tablebench.suites"


def test_only_suites_of_the_package_have_a_module_name() -> None:
    assert module_name(ROOT / "suites/test_own.py") == "pytest_tablebench.suites.test_own"
    assert module_name(ROOT / "suites/notes.txt") is None
    assert module_name(ROOT / "tests/test_own.py") is None


def test_the_suggested_command_for_a_data_folder_runs_only_that_folder(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "prices.csv").write_text("product,price\ntea,3\n", encoding="utf-8")
    (shop / "questions.csv").write_text(
        "table,question,answer\nprices.csv,What does tea cost?,3\n", encoding="utf-8"
    )
    (tmp_path / "test_plain.py").write_text("def test_plain(): pass")
    small = ["--bench-serializer=csv", "--bench-perturbation=none", "--bench-store=none"]
    _, *lines = pytest_run(tmp_path, "--bench-data=shop", *small)
    [place] = [n for n, line in enumerate(lines) if line.startswith("no case was asked: ")]
    words = shlex.split(lines[place + 1])
    assert words[:3] == ["pytest", "--pyargs", "pytest_tablebench.suites.test_own"]
    _, *lines = pytest_run(tmp_path, *words[1:], "-rN")
    assert "tablebench: 1 case; grid 1 serializer x 1 perturbation" in lines


def pytest_run(folder: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return [str(done.returncode), *done.stdout.splitlines()]


def test_the_suggested_command_without_a_suite_runs_as_printed(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_plain.py").write_text("def test_plain(): pass")
    # No case of this perturbation is collected unless the option names it.
    small = ["--bench-limit=4", "--bench-serializer=csv", "--bench-perturbation=synonym_names"]
    code, *lines = pytest_run(tmp_path, "--model", "tablebench/lexical", *small)
    assert code == "0"
    [place] = [n for n, line in enumerate(lines) if line.startswith("no case was asked: ")]
    words = shlex.split(lines[place + 1])
    assert words[:3] == ["pytest", "--pyargs", "pytest_tablebench.suites"]
    assert set(words[3:]) == {"--bench-model=tablebench/lexical", *small}
    _, *lines = pytest_run(tmp_path, *words[1:], "--bench-dataset=starter_zh", "-rN", "-v")
    again = next(line for line in lines if line.startswith("run it again: "))
    # One of that run's cases is wrong, and its line runs it where it was printed.
    words = shlex.split(again.removeprefix("run it again: ").partition(" (all")[0])
    _, *lines = pytest_run(tmp_path, *words[1:])
    assert "1 failed" in lines[-1]


def test_the_command_that_repeats_a_case_keeps_the_settings_file(tmp_path: Path) -> None:
    settings = (
        '[tool.pytest.ini_options]\nbench_shots = "2"\nbench_gate = "starter.performance >= 0.99"\n'
    )
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    named = ("--pyargs", "pytest_tablebench.suites.test_starter")
    _, *lines = pytest_run(tmp_path, *named, "--bench-limit=4", "--bench-store=none", "-rN", "-v")
    again = next(line for line in lines if line.startswith("run it again: "))
    words = shlex.split(again.removeprefix("run it again: ").partition(" (all")[0])
    code, *lines = pytest_run(tmp_path, *words[1:])
    assert "1 failed" in lines[-1]
    assert f"rootdir: {tmp_path}" in lines
    assert any("shots 2" in line for line in lines)
    assert any("starter.performance >= 0.99" in line for line in lines)
    assert code != "0"
