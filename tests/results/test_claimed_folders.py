"""Runs that begin at the same moment have separate run folders."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results import RunFolder, folder, read_facts
from pytest_tablebench.results.folder import claim_folder
from pytest_tablebench.session._kept_run import KeptRun, run_paths

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def kept_run(base: Path, *models: str) -> KeptRun:
    settings = Settings(models=models or ("m",))
    return KeptRun(settings, run_paths(settings, base, NOW))


def names(run: KeptRun) -> list[str]:
    return [path.name for path in run.paths.values()]


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_sessions_that_start_in_the_same_second_have_separate_folders(tmp_path):
    first, second = kept_run(tmp_path), kept_run(tmp_path)
    assert below(tmp_path) == []
    for run in (first, second):
        run.claim()
        run.claim()
    assert (names(first), names(second)) == (["20260102-030405-m"], ["20260102-030405-m-2"])
    assert all(path.is_dir() for run in (first, second) for path in run.paths.values())


def test_each_model_gets_the_next_free_name(tmp_path):
    kept_run(tmp_path, "b").claim()
    both = kept_run(tmp_path, "a", "b")
    both.claim()
    assert names(both) == ["20260102-030405-a", "20260102-030405-b-2"]


def test_folders_that_stay_empty_are_removed(tmp_path):
    used, unused = kept_run(tmp_path, "a", "b"), kept_run(tmp_path / "deep", "a", "b")
    for run in (used, unused):
        run.claim()
    (used.paths["b"] / "run.json").write_text("{}", encoding="utf-8")
    for run in (used, unused):
        run.reap()
    kept = "tablebench-results/20260102-030405-b"
    assert below(tmp_path) == ["tablebench-results", kept, f"{kept}/run.json"]


@given(taken=st.sets(st.integers(1, 6)), files=st.sets(st.integers(1, 6)))
def test_the_first_free_name_is_taken(tmp_path_factory, taken, files):
    path = tmp_path_factory.mktemp("claims") / "name"
    paths = {1: path, **{number: path.with_name(f"name-{number}") for number in range(2, 9)}}
    for number in taken:
        paths[number].mkdir()
    for number in files - taken:
        paths[number].write_text("in the way")
    free = min(set(paths) - taken - files)
    assert claim_folder(path) == (paths[free], [paths[free]])
    assert paths[free].is_dir()


def test_a_folder_that_cannot_be_created_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SettingsError, match=r"cannot write into .*choose another folder"):
        claim_folder(tmp_path / "file" / "run")


def test_only_one_of_two_runs_claims_a_folder_that_both_found_empty(tmp_path, monkeypatch):
    # Both check the folder before either of them writes.
    monkeypatch.setattr(folder, "check_writable", lambda path: [])
    first = RunFolder(tmp_path)
    with pytest.raises(SettingsError, match="already contains a run"):
        RunFolder(tmp_path)
    first.write_run({"model": "first"})
    with pytest.raises(SettingsError, match="already contains a run"):
        RunFolder(tmp_path)
    first.append("{}\n")
    first.close()
    assert read_facts(tmp_path).entries["model"] == "first"
    assert below(tmp_path) == ["records.jsonl", "run.json"]
