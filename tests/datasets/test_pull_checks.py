"""What a pull accepts and where it puts it: checksums, disks and folders, archives."""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pytest_tablebench.datasets.pull import File
from pytest_tablebench.datasets.pull import _files as archive_module
from pytest_tablebench.datasets.pull._files import unpack
from pytest_tablebench.datasets.pull._upstream import Licence, Upstream
from pytest_tablebench.errors import DataError
from tests.support.pulls import FINQA, LOCK, QTSUMM, TEST, UPSTREAM, WIKITQ, Place, sha256
from tests.support.upstream_server import COMMIT, Fault, tarball

# Checksums


def known(place: Place, digest: str) -> None:
    """Let the table of sources have one file with a known checksum."""
    source = Upstream(
        "finqa", "github", "czyssrs/FinQA", UPSTREAM["finqa"].revision, pinned=True,
        licence=Licence("MIT", ""), files=(File(TEST, sha256=digest),),
    )  # fmt: skip
    place.upstreams = {"finqa": source}


def test_a_known_checksum_must_fit(place: Place) -> None:
    known(place, sha256(FINQA[TEST]))
    place.server.fault(TEST, Fault(corrupt=True))
    message = place.refused("finqa")
    assert sha256(FINQA[TEST]) in message
    assert "discarded" in message
    assert place.files("finqa") == {}
    place.pull("finqa")
    assert place.files("finqa") == {TEST: FINQA[TEST]}
    assert not any("not known" in line for line in place.said)


def test_a_wrong_download_leaves_the_old_file(place: Place) -> None:
    known(place, sha256(FINQA[TEST]))
    old = place.data / "finqa" / TEST
    old.parent.mkdir(parents=True)
    old.write_bytes(FINQA[TEST])
    place.server.fault(TEST, Fault(corrupt=True))
    place.refused("finqa")
    assert place.files("finqa") == {TEST: FINQA[TEST]}


def test_the_checksum_that_the_hub_states_must_fit(place: Place) -> None:
    name = "qtsumm_test.json"
    place.server.large_files[name] = sha256(QTSUMM[name])
    place.server.always(name, Fault(corrupt=True))
    assert sha256(QTSUMM[name]) in place.refused("qtsumm")
    assert name not in place.files("qtsumm")
    place.server.always(name, None)
    place.pull("qtsumm")
    assert place.files("qtsumm") == QTSUMM


@pytest.mark.parametrize("name", ["finqa", "wikitq"])
def test_what_came_first_is_what_later_downloads_must_be(place: Place, name: str) -> None:
    place.pull(name)
    if name == "finqa":
        gone, files, change = TEST, FINQA, place.finqa
    else:
        gone, files, change = "csv/200-csv/1.tsv", WIKITQ, place.wikitq
    (place.data / name / gone).unlink()
    change({**files, gone: b"new upstream"})
    message = place.refused(name)
    assert sha256(b"new upstream") in message
    assert sha256(files[gone]) in message
    assert "move" in message
    rest = {path: content for path, content in files.items() if path != gone}
    assert place.files(name) == rest
    change(files)
    place.pull(name)
    assert place.files(name) == files


def test_the_same_files_packed_differently_are_the_same(place: Place) -> None:
    place.pull("wikitq")
    (place.data / "wikitq/csv/200-csv/1.tsv").unlink()
    place.wikitq(dict(reversed(WIKITQ.items())), top="WikiTableQuestions-abc")
    place.pull("wikitq")
    assert place.files("wikitq") == WIKITQ


def test_a_recorded_file_that_upstream_no_longer_has(place: Place) -> None:
    place.pull("wikitq")
    (place.data / "wikitq/csv/200-csv/1.tsv").unlink()
    less = {name: content for name, content in WIKITQ.items() if name != "csv/201-csv/2.tsv"}
    place.wikitq(less)
    assert "no longer in" in place.refused("wikitq")
    assert "csv/201-csv/2.tsv" in place.files("wikitq")


@pytest.mark.parametrize(("name", "path"), [("finqa", TEST), ("wikitq", "csv/200-csv/1.tsv")])
def test_a_file_of_ones_own_is_never_overwritten(place: Place, name: str, path: str) -> None:
    own = place.data / name / path
    own.parent.mkdir(parents=True)
    own.write_bytes(b"my own")
    message = place.refused(name)
    assert f"{own} was not put there by this command" in message
    assert own.read_bytes() == b"my own"
    own.write_bytes(FINQA[TEST] if name == "finqa" else WIKITQ[path])
    place.pull(name)
    assert place.files(name) == (FINQA if name == "finqa" else WIKITQ)


# Disks and folders


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(place: Place) -> None:
    part = place.data / "finqa/dataset/test.json.part"
    part.parent.mkdir(parents=True)
    tag = part.with_name(part.name + ".etag")
    tag.write_text('"tag"')
    part.symlink_to("/dev/full")
    place.server.always(TEST, Fault(headers={"ETag": '"tag"'}))
    message = place.refused("finqa")
    assert str(place.data / "finqa" / TEST) in message
    assert "No space left" in message


def test_a_folder_that_is_a_file(place: Place) -> None:
    place.data.write_text("a file")
    message = place.refused("finqa")
    assert str(place.data / "finqa") in message
    assert "cannot be written" in message
    assert place.server.asked == []


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_a_folder_that_must_not_be_written(place: Place) -> None:
    place.data.mkdir()
    place.data.chmod(0o500)
    try:
        assert "Permission denied" in place.refused("finqa")
    finally:
        place.data.chmod(0o700)


@pytest.mark.parametrize("name", ["csv/201-csv", ".tablebench-pull.unpacked"])
def test_an_archive_that_could_not_be_unpacked_or_put_in_place_is_not_fetched_again(
    place: Place, name: str
) -> None:
    blocked = place.data / "wikitq" / name
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where a folder is needed")
    assert "cannot be written" in place.refused("wikitq")
    blocked.unlink()
    place.server.forget()
    place.pull("wikitq")
    assert place.server.asked == []
    assert place.files("wikitq") == WIKITQ


def test_two_pulls_in_one_folder(place: Place) -> None:
    (place.data / "finqa").mkdir(parents=True)
    with FileLock(place.data / "finqa/.tablebench-pull.busy"):
        assert "another `tablebench pull` is running" in place.refused("finqa")
    place.pull("finqa")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 99}, "newer version"),
        ({"revision": "0" * 40}, "move .* away"),
        ({"files": None}, "not a record of a pull"),
        ({"files": {"../../outside": "0" * 64}}, "not a record of a pull"),
        ({"surprise": 1}, "not a record of a pull"),
        ("[]", "not a record"),
        ('{"schema"', "not valid JSON"),
    ],
)
def test_a_record_that_does_not_fit(place: Place, change: Any, words: str) -> None:
    place.pull("finqa")
    text = change if isinstance(change, str) else json.dumps(place.lock("finqa") | change)
    (place.data / "finqa" / LOCK).write_text(text)
    with pytest.raises(DataError, match=words):
        place.pull("finqa")


# Archives


WANTED = (File("data/test.tsv"), File("csv/*/*.tsv"))
SOUND = {"data/test.tsv": b"test", "csv/1/1.tsv": b"one"}


def member(name: str, content: bytes = b"evil", **changes: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for attribute, value in changes.items():
        setattr(info, attribute, value)
    return info, content


def test_unpacking(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    folder = member("top/csv/1", b"", type=tarfile.DIRTYPE)
    archive.write_bytes(tarball({**SOUND, "csv/1/2/3.tsv": b"deeper", "x": b""}, extra=[folder]))
    assert unpack(archive, WANTED, tmp_path / "out") == (sorted(SOUND), COMMIT)
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) == 2
    assert (tmp_path / "out/csv/1/1.tsv").read_bytes() == b"one"


@pytest.mark.parametrize(
    "extra",
    [
        member("top/csv/../evil.tsv"),
        member("top/csv/..\\..\\x/evil.tsv"),
        member("top/csv/1/2.tsv", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("top/csv/1/2.tsv", b"", type=tarfile.LNKTYPE, linkname="top/data/test.tsv"),
        member("top/csv/1/2.tsv", b"", type=tarfile.FIFOTYPE),
        member("top/csv/1/2.tsv", b"", type=tarfile.CHRTYPE),
        member("top/csv/1/1.tsv"),
        member("other/csv/1/1.tsv"),
    ],
    ids=["up", "backslash", "symlink", "hardlink", "fifo", "device", "twice", "two tops"],
)
def test_a_hostile_archive_is_refused(tmp_path: Path, extra: tuple[tarfile.TarInfo, bytes]) -> None:
    archive, out = tmp_path / "a.tar.gz", tmp_path / "in/out"
    archive.write_bytes(tarball(SOUND, extra=[extra]))
    with pytest.raises(DataError, match=r"a\.tar\.gz"):
        unpack(archive, WANTED, out)
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and out not in path.parents]
    assert outside == [archive]


def test_what_is_not_wanted_does_no_harm(tmp_path: Path) -> None:
    archive, out = tmp_path / "a.tar.gz", tmp_path / "in/out"
    extra = [
        member("top/../../evil"),
        member("/etc/evil"),
        member("top/csv", b"", type=tarfile.SYMTYPE, linkname=str(tmp_path)),
    ]
    archive.write_bytes(tarball(SOUND, extra=extra))
    assert unpack(archive, WANTED, out)[0] == sorted(SOUND)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "in"]


@pytest.mark.parametrize("wanted", [True, False])
def test_an_archive_that_unpacks_to_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    monkeypatch.setattr(archive_module, "MAX_UNPACKED", 1_000_000)
    archive = tmp_path / "a.tar.gz"
    name = "csv/1/2.tsv" if wanted else "bomb"
    archive.write_bytes(tarball({name: bytes(2_000_000), **SOUND}))
    assert archive.stat().st_size < 10_000
    with pytest.raises(DataError, match="more than any dataset"):
        unpack(archive, WANTED, tmp_path / "out")
    assert not (tmp_path / "out/csv/1/2.tsv").exists()


@pytest.mark.parametrize("missing", SOUND)
def test_an_archive_without_what_is_wanted(tmp_path: Path, missing: str) -> None:
    archive = tmp_path / "a.tar.gz"
    rest = {name: content for name, content in SOUND.items() if name != missing}
    archive.write_bytes(tarball(rest))
    with pytest.raises(DataError, match=r"contains no data/test\.tsv|contains nothing like csv"):
        unpack(archive, WANTED, tmp_path / "out")


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("damage", ["cut", "noise"])
def test_a_damaged_archive(tmp_path: Path, share: float, damage: str) -> None:
    archive = tmp_path / "a.tar.gz"
    content = bytearray(tarball({**SOUND, "csv/2/2.tsv": os.urandom(5000)}))
    at = int(len(content) * share)
    if damage == "cut":
        del content[at:]
    else:
        content[at : at + 20] = bytes(byte ^ 0xFF for byte in content[at : at + 20])
    archive.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.tar\.gz"):
        unpack(archive, WANTED, tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"no archive", io.BytesIO(b"\x1f\x8b").read()])
def test_a_bad_archive_is_thrown_away_and_nothing_put_in_place(
    place: Place, content: bytes
) -> None:
    place.server.fault("master", Fault(body=content))
    assert "damaged archive" in place.refused("wikitq")
    assert place.files("wikitq") == {}
    assert not (place.data / "wikitq/.tablebench-pull.tar.gz").exists()
    place.pull("wikitq")
    assert place.files("wikitq") == WIKITQ
