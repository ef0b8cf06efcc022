"""What killed runs leave among the temporary files goes with the next run, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tablebench.util import leftovers
from pytest_tablebench.util.leftovers import STORES, TemporaryFolder, sweep

OWNER = """
import sys
from pytest_tablebench.util.leftovers import TemporaryFolder

print(TemporaryFolder().path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def aged(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_the_store_of_a_killed_run_is_removed_and_that_of_a_living_one_stays(place: Path) -> None:
    owners = [
        subprocess.Popen(
            [sys.executable, "-c", OWNER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(place), "TMP": str(place), "TEMP": str(place)},
        )
        for _ in range(2)
    ]
    try:
        paths = [Path(owner.stdout.readline().strip()) for owner in owners if owner.stdout]
        for path in paths:
            (path / "segments").mkdir()
            (path / "segments" / "one.jsonl").write_bytes(b"{}\n")
        owners[0].kill()
        owners[0].wait(60)
        sweep(place)
        assert [path.exists() for path in paths] == [False, True]
        assert (paths[1] / "segments" / "one.jsonl").exists()
    finally:
        for owner in owners:
            owner.kill()
            owner.communicate()
    sweep(place)
    assert list(place.iterdir()) == []


def test_a_store_of_this_process_stays_until_it_is_removed(place: Path) -> None:
    folder = TemporaryFolder()
    sweep(place)
    assert folder.path.is_dir()
    for _ in range(2):
        folder.remove()
    assert list(place.iterdir()) == []


def test_what_nobody_can_hold_is_left_behind_after_a_day(place: Path) -> None:
    young, old, foreign = (place / name for name in (f"{STORES}a", f"{STORES}b", "somebodys"))
    for path in (young, old, foreign):
        path.mkdir()
    for path in (old, foreign):
        aged(path, leftovers._OLD_S + 60)
    sweep(place)
    assert {path.name for path in place.iterdir()} == {young.name, foreign.name}


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_no_link_is_followed(place: Path) -> None:
    precious = place / "precious"
    precious.mkdir()
    (precious / "in-use").write_bytes(b"")
    (place / f"{STORES}x").symlink_to(precious)
    sweep(place)
    assert (precious / "in-use").exists()
