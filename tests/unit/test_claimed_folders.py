"""Run folders of runs that begin at the same moment: each has its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results import RunFolder, _folder, read_run


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_of_two_runs_that_found_one_folder_empty_only_one_has_it(tmp_path, monkeypatch):
    # Both have looked before either of them writes.
    monkeypatch.setattr(_folder, "check_writable", lambda path: [])
    first = RunFolder(tmp_path)
    with pytest.raises(SettingsError, match="already holds a run"):
        RunFolder(tmp_path)
    first.write_run({"model": "first"})
    with pytest.raises(SettingsError, match="already holds a run"):
        RunFolder(tmp_path)
    first.append("{}\n")
    first.close()
    assert read_run(tmp_path)["model"] == "first"
    assert below(tmp_path) == ["records.jsonl", "run.json"]
