"""How programs of this environment are called in commands that people paste."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_tablebench.util.programs import program

BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    ("path", "folder", "shown"),
    [
        (str(BIN), BIN.parent, "tablebench"),
        ("/nowhere", BIN.parent.parent, f"{BIN.parent.name}/{BIN.name}/tablebench"),
        ("/nowhere", BIN.parent / "lib", str(BIN / "tablebench")),
    ],
)
def test_a_program_is_called_by_path_if_its_name_is_not_found(
    monkeypatch: pytest.MonkeyPatch, path: str, folder: Path, shown: str
) -> None:
    monkeypatch.setenv("PATH", path)
    monkeypatch.chdir(folder)
    program.cache_clear()
    try:
        assert program("tablebench") == shown
        assert program("no-such-program") == "no-such-program"
    finally:
        program.cache_clear()
