"""How the suites are run from any folder: as part of the package, or from a checkout."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest_tablebench
from pytest_tablebench.util.names import printable


def check_and_run(folder: Path) -> list[str]:
    """Return the commands for a folder that is a dataset, a line each."""
    shown = quoted(folder)
    return [
        f"look for mistakes: tablebench check {shown}",
        f"run: pytest {suite('test_own.py')} --bench-data {shown}",
    ]


def quoted(path: Path) -> str:
    """Return a path as a shell takes it."""
    return printable(shlex.quote(str(path)))


def suite(name: str) -> str:
    """Return what pytest is given: an editable install has the suites beside the package.

    `name` is the file of the suite there; installed as such, all suites are named.
    """
    beside = Path(pytest_tablebench.__file__).resolve().parents[1] / "suites" / name
    if find_spec("pytest_tablebench.suites") is None and beside.is_file():
        here = Path.cwd()
        return quoted(beside.relative_to(here) if beside.is_relative_to(here) else beside)
    return "--pyargs pytest_tablebench.suites"
