"""The folder that a command writes: left unfinished, finished, of others."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.folder import RUN, UNFINISHED, output_folder, run_folders
from tests.support.run_folders import write_run


def interrupted(out: Path, command: str = "merge") -> None:
    with contextlib.suppress(KeyboardInterrupt), output_folder(out, command):
        (out / "part").mkdir()
        (out / RUN).write_text("{}")
        raise KeyboardInterrupt


def test_the_same_command_replaces_what_it_left(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    interrupted(out)
    interrupted(out)
    with output_folder(out, "merge"):
        assert [path.name for path in out.iterdir()] == [UNFINISHED]
        (out / RUN).write_text("{}")
    assert [path.name for path in out.iterdir()] == [RUN]


@pytest.mark.parametrize("left", ["finished", "other command", "linked mark", "file"])
def test_other_content_is_not_changed(tmp_path: Path, left: str) -> None:
    out = tmp_path / "out"
    if left == "file":
        out.write_text("")
    elif left == "finished":
        with output_folder(out, "merge"):
            (out / RUN).write_text("{}")
    else:
        interrupted(out, "rejudge" if left == "other command" else "merge")
    if left == "linked mark":
        (out / UNFINISHED).rename(tmp_path / "mark")
        (out / UNFINISHED).symlink_to(tmp_path / "mark")
    before = sorted(tmp_path.rglob("*"))
    with (
        pytest.raises(SettingsError, match=r"^--out: .*choose another folder"),
        output_folder(out, "merge"),
    ):
        pass
    assert sorted(tmp_path.rglob("*")) == before


def test_a_command_that_still_runs_keeps_its_folder(tmp_path: Path) -> None:
    with (
        output_folder(tmp_path, "merge"),
        pytest.raises(SettingsError, match="another process is writing"),
        output_folder(tmp_path, "merge"),
    ):
        pass


@pytest.mark.parametrize("words", [["merge", "run"], ["rejudge", "run"]])
def test_commands_replace_what_they_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", {"a": [1.0]}, configurations=[("html", "none")])
    interrupted(tmp_path / "out", words[0])
    assert main([*words, "-o", "out"]) == 0
    assert main(["report", "out"]) == 0
    assert not (tmp_path / "out" / UNFINISHED).exists()
    assert main([*words, "-o", "out"]) == 2  # it is finished


def test_an_unfinished_run_is_no_part_of_a_merge(tmp_path: Path) -> None:
    interrupted(tmp_path / "merged")
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / RUN).write_text("{}")
    assert run_folders(tmp_path) == [tmp_path / "part"]
