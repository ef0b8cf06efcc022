"""The command that runs a dataset folder, as `tablebench new` and `generate` print it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pytest_tablebench.commands import _suites
from pytest_tablebench.commands._suites import check_and_run

SUITE = Path(__file__).parents[2] / "suites" / "test_own.py"


def named(folder: Path) -> list[str]:
    check, run = check_and_run(folder)
    assert check.startswith("look for mistakes: tablebench check ")
    return shlex.split(run.removeprefix("run: "))


def test_a_checkout_names_the_suite_beside_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_suites, "find_spec", lambda _: None)
    monkeypatch.chdir(tmp_path)
    assert named(Path("my data")) == ["pytest", str(SUITE), "--bench-data", "my data"]
    monkeypatch.chdir(SUITE.parents[1])
    assert named(Path("x"))[1] == "suites/test_own.py"


def test_an_installed_package_has_the_suites_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_suites, "find_spec", lambda name: name)
    assert named(Path("x"))[1:3] == ["--pyargs", "pytest_tablebench.suites"]
