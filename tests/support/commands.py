"""Run a command of `tablebench` in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.cli import main


def command(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Run a command; return its exit code, output and errors."""
    capsys.readouterr()
    code = main([*map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err
