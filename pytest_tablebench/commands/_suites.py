"""Commands that run the package's suites from any folder."""

from __future__ import annotations

import shlex
from pathlib import Path

from pytest_tablebench.util.programs import SUITES, program


def check_and_run(folder: Path) -> list[str]:
    """Return the commands for a dataset folder, one per line."""
    shown = quoted(folder)
    return [
        f"check: {program('tablebench')} check {shown}",
        f"run: {program('pytest')} --pyargs {SUITES}.test_own --bench-data={shown}",
    ]


def quoted(path: Path) -> str:
    """Return a path, quoted for a shell."""
    return shlex.quote(str(path))
