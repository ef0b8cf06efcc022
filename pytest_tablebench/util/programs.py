"""Names of programs and suites in commands that a user can paste."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]

SUITES = "pytest_tablebench.suites"
"""The name for `pytest --pyargs`; `pytest_tablebench.suites.test_starter` is a suite."""


def located(argument: str) -> str:
    """Return an argument of pytest; a suite of an editable checkout becomes its path.

    In an editable installation the suites are next to the package, where no import finds them.
    """
    name, colons, test = argument.partition("::")
    if f"{name}.".startswith(f"{SUITES}."):
        path = _PACKAGE.parent.joinpath("suites", *name.split(".")[2:])
        if not (_PACKAGE / "suites").is_dir() and path.parent.is_dir():
            return f"{path if path.is_dir() else path.with_suffix('.py')}{colons}{test}"
    return argument


def suite_files() -> list[Path]:
    """Return the files of the suites, in the order in which pytest collects them."""
    inside = _PACKAGE / "suites"
    return sorted((inside if inside.is_dir() else _PACKAGE.parent / "suites").glob("test_*.py"))


def module_name(path: Path) -> str | None:
    """Return the name of a suite of the package for `pytest --pyargs`, or None."""
    folder = path.resolve().parent
    if path.suffix == ".py" and folder in (_PACKAGE / "suites", _PACKAGE.parent / "suites"):
        return f"{SUITES}.{path.stem}"
    return None


@cache
def program(name: str) -> str:
    """Return a program of this environment by name, or by path if the shell would not find it.

    The path, such as `.venv/bin/tablebench`, is needed if the environment is not activated.
    """
    beside = Path(sys.executable).parent / name
    on_path = shutil.which(name)
    is_found = on_path is not None and os.path.realpath(on_path) == os.path.realpath(beside)
    if is_found or not beside.exists():
        return name
    relative = os.path.relpath(beside)
    return str(beside) if relative.startswith(os.pardir) else relative
