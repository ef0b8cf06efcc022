"""Files written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tablebench.util.files import write_whole


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\u00e4\n", b"\xc3\xa4\n"),
        (b"\xff\r\n", b"\xff\r\n"),
        (["a", b"b", ""], b"ab"),
        ("", b""),
        ("\ud800", b"\\ud800"),  # a lone surrogate, which UTF-8 has not
    ],
)
@pytest.mark.parametrize("durable", [False, True])
def test_a_file_holds_the_content_and_stands_alone(tmp_path, content, expected, durable):
    (tmp_path / "file").write_text("old and longer", "utf-8")
    write_whole(tmp_path / "file", content, durable=durable)
    assert held(tmp_path) == {"file": expected}


def test_the_old_file_stands_while_the_new_one_is_written(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen = []

    def pieces() -> Iterator[bytes]:
        yield b"new"
        seen.append(path.read_bytes())

    write_whole(path, pieces())
    assert seen == [b"old"]
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_on_the_way_changes_nothing(tmp_path, error):
    (tmp_path / "file").write_bytes(b"old")

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise error

    with pytest.raises(error):
        write_whole(tmp_path / "file", pieces())
    assert held(tmp_path) == {"file": b"old"}


def test_a_place_that_cannot_be_written_is_an_os_error_and_leaves_nothing(tmp_path):
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder", b"x")  # a folder stands in its place
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "file", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
