"""Folders that ordinary removal cannot remove."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_tablebench.util.leftovers import TemporaryFolder
from pytest_tablebench.util.removal import empty

NAME = "d" * 200


def make_deep(folder: Path, levels: int = 1100) -> None:
    """Make folders in each other, far deeper than a path may be long."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        for _ in range(levels):
            Path(NAME).mkdir()
            os.chdir(NAME)
        Path("file").write_text("deep", "ascii")
    finally:
        os.chdir(before)


def test_folders_deeper_than_a_path_may_be_are_removed(tmp_path: Path) -> None:
    make_deep(tmp_path)
    (tmp_path / "0.moved").mkdir()  # the name that a folder would get
    assert empty(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_folder_is_removed_however_deep_it_is() -> None:
    folder = TemporaryFolder()
    make_deep(folder.path)
    folder.remove()
    assert not folder.path.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_folders_without_rights_are_removed_and_links_are_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("kept", "ascii")
    folder = tmp_path / "emptied"
    (folder / "a" / "b" / "c").mkdir(parents=True)
    (folder / "a" / "link").symlink_to(kept)
    for path in (folder / "a" / "b" / "c", folder / "a" / "b", folder / "a"):
        path.chmod(0)
    assert empty(str(folder))
    assert list(folder.iterdir()) == []
    assert (kept / "file").read_text("ascii") == "kept"
