"""Records on a failing disk are whole or absent, and a damaged line loses only its own record."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results import RunFolder, read_records
from pytest_tablebench.util.notices import Notices
from tests.support.run_folders import record, write_run

LINES = [record(name, "csv", "none", 1.0).to_line() for name in "abc"]


def examples(folder: Path) -> list[str]:
    return [record.example_id for record in read_records(folder)]


def test_a_record_written_in_several_pieces_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    folder = RunFolder(tmp_path / "run")
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:100]))
    for line in LINES:
        folder.append(line)
    folder.close()
    assert (tmp_path / "run/records.jsonl").read_text("ascii") == "".join(LINES)


@pytest.mark.parametrize("cut_off", [True, False])
def test_a_record_that_does_not_fit_leaves_the_others_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut_off: bool
) -> None:
    write = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) <= 100:
            raise OSError(errno.ENOSPC, "no room")
        return write(file, data[: len(data) - 100])

    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    folder = RunFolder(tmp_path / "run")
    folder.append(LINES[0])
    with monkeypatch.context() as failing:
        failing.setattr(os, "write", full)
        if not cut_off:
            failing.setattr(os, "ftruncate", broken)
        with pytest.raises(OSError, match="no room"):
            folder.append(LINES[1])
    folder.append(LINES[2])
    folder.close()
    notices = Notices()
    assert examples(tmp_path / "run") == ["a", "c"]
    notices.close()
    if cut_off:
        assert (tmp_path / "run/records.jsonl").read_text("ascii") == LINES[0] + LINES[2]
        assert notices.texts == []
    else:
        [notice] = notices.texts
        assert "records.jsonl: line 2 is damaged and left out" in notice


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be removed there")
@pytest.mark.parametrize("replaced", [False, True])
def test_a_removed_records_file_is_an_error(tmp_path: Path, replaced: bool) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.append(LINES[0])
    path = tmp_path / "run/records.jsonl"
    path.rename(tmp_path / "elsewhere")
    if replaced:
        path.write_bytes(b"")
    with pytest.raises(OSError, match=r"records\.jsonl was removed or replaced"):
        folder.append(LINES[1])
    folder.close()


# Reading


def damage(folder: Path, *numbers: int) -> None:
    """Cut the lines with these numbers short; numbers start at 1."""
    path = folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for number in numbers:
        lines[number - 1] = lines[number - 1][:40] + b"\n"
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    "bad", [b"{", b"\xff", b"[" * 100_000, b"null", b'{"schema": 1}', b"1" * 5000]
)
def test_a_damaged_line_is_skipped_and_named(tmp_path: Path, bad: bytes) -> None:
    folder = write_run(tmp_path / "run", {"a": [1.0, 0.0, 1.0, 1.0]})
    path = folder / "records.jsonl"
    first, _, *rest = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([first, bad, *rest]))
    notices = Notices()
    for _ in range(2):  # the second reading adds no notice
        assert len(list(read_records(folder))) == 3
    notices.close()
    assert notices.texts == [
        f"{path}: line 2 is damaged and left out; its case counts as not recorded"
    ]


def test_many_damaged_lines_give_one_notice(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", {name: [1.0] * 4 for name in "abc"})
    damage(folder, *range(3, 11))
    notices = Notices()
    assert len(list(read_records(folder))) == 4
    notices.close()
    [notice] = notices.texts
    assert "8 lines are damaged and left out (3, 4, 5, 6, 7, ...)" in notice


def test_a_file_without_a_readable_record_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", {"a": [1.0] * 4})
    damage(folder, 1, 2, 3, 4)
    with pytest.raises(SettingsError, match=r"no record can be read \(damaged: line 1, 2, 3, 4\)"):
        list(read_records(folder))


@pytest.mark.parametrize("command", ["report", "rejudge", "compare"])
def test_every_command_skips_a_damaged_line_with_one_notice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    scores = {name: [1.0, 0.0, 1.0, 1.0] for name in "abcdef"}
    first, second = (write_run(tmp_path / name, scores) for name in ("first", "second"))
    damage(second, 2)
    more = {
        "report": ["--no-plots", str(second)],
        "rejudge": [str(second), "--bench-gate=toy.pass_rate>=0.1"],
        "compare": [str(first), str(second)],
    }
    code = main([command, *more[command]])
    shown = capsys.readouterr()
    assert code in {0, 10, 11}, shown
    notice_lines = [line for line in shown.err.splitlines() if "damaged" in line]
    assert notice_lines == [
        f"tablebench: {second}/records.jsonl: line 2 is damaged and left out; its case counts as "
        f"not recorded"
    ]
