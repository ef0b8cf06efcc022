"""The answer store with several processes, killed writers and full disks."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_tablebench.errors import StoreError
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.store import Store
from tests.support.present import present

ROOT = Path(__file__).parents[2]
COMMON = """
import os, sys
from pathlib import Path
from pytest_tablebench.errors import SettingsError, StoreError
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.store import Store
folder = Path(sys.argv[1])

def ask(text):
    return Request("m", (Message("user", text),), case_id=text)
"""
WRITE = """
store = Store.open(folder)
for number in range(int(sys.argv[3])):
    request = ask(f"{sys.argv[2]} {number}")
    store.put(request, Reply("to " + request.text + "é" * (number % 300)))
    print(number, flush=True)
"""


def ask(text: str) -> Request:
    return Request("m", (Message("user", text),), case_id=text)


def unmeasured() -> dict[str, str]:
    """Return an environment in which coverage neither writes files nor imports modules."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


def start(script: str, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMON + script, str(folder), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=unmeasured(),
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, problems = process.communicate(timeout=120)
    assert (process.returncode, problems) == (0, "")
    return out


def segments(path: Path) -> list[Path]:
    return sorted((path / "segments").iterdir())


def expected(name: str, number: int) -> Reply:
    return Reply(f"to {name} {number}" + "é" * (number % 300), from_store=True)


def test_a_reader_finds_the_answers_of_four_concurrent_writers(tmp_path):
    names, count = "abcd", 500
    with Store.open(tmp_path) as reader:
        writers = [start(WRITE, tmp_path, name, count) for name in names]
        seen = 0
        while any(writer.poll() is None for writer in writers):
            # Reading their reports also prevents their pipes from filling up.
            for writer in writers:
                if line := present(writer.stdout).readline():
                    reader.refresh()
                    name = names[writers.index(writer)]
                    found = reader.get(ask(f"{name} {int(line)}").key())
                    assert found == expected(name, int(line))
            assert len(reader) >= seen
            seen = len(reader)
        for writer in writers:
            finish(writer)
        reader.refresh()
        assert len(reader) == len(names) * count
        assert reader.warnings == []
    with Store.open(tmp_path) as again:
        for name in names:
            for number in range(count):
                assert again.get(ask(f"{name} {number}").key()) == expected(name, number)
        assert again.warnings == []
    assert len(segments(tmp_path)) == len(names)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("after", [1, 3, 40, 200])
def test_answers_of_a_killed_writer_are_kept(tmp_path, after):
    writer = start(WRITE, tmp_path, "a", 1_000_000)
    reported = [int(present(writer.stdout).readline()) for _ in range(after)]
    writer.kill()
    reported += [int(line) for line in present(writer.stdout).read().split("\n")[:-1]]
    assert writer.wait(timeout=60) == -signal.SIGKILL
    writer.communicate()
    with Store.open(tmp_path) as store:
        for number in reported:
            assert store.get(ask(f"a {number}").key()) == expected("a", number)
        assert len(reported) <= len(store) <= len(reported) + 1
        store.put(ask("after"), Reply("life goes on"))
    assert len(segments(tmp_path)) == 2


FULL = """
import resource
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
store = Store.open(folder)
put = 0
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
try:
    for number in range(1000):
        store.put(ask(str(number)), Reply("r" * 300))
        put += 1
except StoreError as error:
    print(error)
(path,) = (folder / "segments").iterdir()
assert path.read_bytes().endswith(b"\\n") and path.read_bytes().count(b"\\n") == put
for _ in range(3):
    try:
        store.put(ask("more"), Reply("r" * 300))
    except StoreError:
        continue
    raise SystemExit("a full disk has taken an answer")
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
store.put(ask("later"), Reply("there is room again"))
assert store.get(ask("later").key()) and store.get(ask("0").key())
assert store.get(ask("more").key()) is None and not store.warnings
print(put)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no RLIMIT_FSIZE")
def test_a_limit_on_file_size_loses_only_answers_beyond_it(tmp_path):
    message, put = finish(start(FULL, tmp_path)).splitlines()
    assert str(tmp_path) in message
    assert os.strerror(errno.EFBIG) in message
    assert "free disk space" in message
    assert "--bench-store" in message
    assert int(put) > 3
    with Store.open(tmp_path) as store:
        assert len(store) == int(put) + 1
        found = store.get(ask("later").key())
        assert found is not None
        assert found.text == "there is room again"
        assert store.warnings == []


@pytest.fixture
def small_disk(tmp_path):
    """Return a disk of 64 KiB, or skip if this system does not allow it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if sys.platform != "linux" or os.geteuid() != 0 or not mount or not umount:
        pytest.skip("only root can make a small disk, and only on Linux")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("this system does not let root mount a disk")
    yield disk
    subprocess.run([umount, str(disk)], check=True, capture_output=True)


def fill(store: Store) -> int:
    """Put replies until the disk is full; return how many were kept."""
    for number in range(1000):
        try:
            store.put(ask(str(number)), Reply("r" * 1500))
        except StoreError as error:
            assert os.strerror(errno.ENOSPC) in str(error)  # noqa: PT017 - the number is the point
            return number
    raise AssertionError("the disk is not full")


def test_on_a_full_disk_stored_answers_are_kept(small_disk):
    ballast = small_disk / "ballast"
    with Store.open(small_disk) as store:
        store.put(ask("first"), Reply("1"))
        ballast.write_bytes(b"x" * 40_000)
        put = fill(store)
        (path,) = segments(small_disk)
        assert path.read_bytes().count(b"\n") == put + 1
        assert path.read_bytes().endswith(b"\n")
        assert store.get(ask("first").key()) is not None
        ballast.unlink()
        store.put(ask("last"), Reply("2"))
    with Store.open(small_disk) as store:
        assert len(store) == put + 2
        assert store.get(ask("last").key()) == Reply("2", from_store=True)
        assert store.warnings == []


def test_a_disk_without_room_for_a_segment_is_a_warning(tmp_path):
    with Store.open(tmp_path / "store") as store:
        shutil.rmtree(tmp_path / "store")
        (tmp_path / "store").write_text("no folder any more")
        with pytest.raises(StoreError, match="cannot be kept"):
            store.put(ask("a"), Reply("1"))
        (tmp_path / "store").unlink()
        store.put(ask("a"), Reply("1"))
        assert store.get(ask("a").key()) == Reply("1", from_store=True)


# Failures of single writes


def test_a_line_written_in_several_pieces_is_whole(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:7]))
    with Store.open(tmp_path) as store:
        store.put(ask("a"), Reply("1"))
        store.put(ask("b"), Reply("2"))
    monkeypatch.undo()
    with Store.open(tmp_path) as store:
        assert len(store) == 2
        assert store.get(ask("b").key()) == Reply("2", from_store=True)


class Failing:
    """An `os.write` that writes `room` bytes of a line and then raises an error."""

    def __init__(self, error: BaseException, room: int) -> None:
        self.error, self.room, self.write = error, room, os.write

    def __call__(self, file: int, data: bytes) -> int:
        if not self.room:
            raise self.error
        written = self.write(file, data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("room", [0, 1, 100, 10_000])
@pytest.mark.parametrize("cut_off", [True, False])
def test_after_a_failed_write_the_next_line_is_whole(tmp_path, monkeypatch, room, cut_off):
    with Store.open(tmp_path) as store:
        store.put(ask("a"), Reply("1"))
        with monkeypatch.context() as failing:
            failing.setattr(os, "write", Failing(OSError(errno.EIO, "broken"), room))
            if not cut_off:
                failing.setattr(os, "ftruncate", Failing(OSError(errno.EIO, "broken"), 0))
            for _ in range(2):
                with pytest.raises(StoreError, match="broken"):
                    store.put(ask("b"), Reply("2" * 20_000))
        for text in ("c", "d"):
            store.put(ask(text), Reply(text))
            assert store.get(ask(text).key()) == Reply(text, from_store=True)
    with Store.open(tmp_path) as store:
        found = [store.get(ask(text).key()) is not None for text in "abcd"]
        assert found == [True, False, True, True]
        torn = room and not cut_off
        assert len(store.warnings) == bool(torn)


def test_an_interrupt_after_the_last_byte_loses_nothing(tmp_path, monkeypatch):
    write = os.write

    def interrupted(file: int, data: bytes) -> int:
        write(file, data)
        raise KeyboardInterrupt

    with Store.open(tmp_path) as store:
        store.put(ask("a"), Reply("1"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.put(ask("b"), Reply("2"))
        store.put(ask("c"), Reply("3"))
        for text, reply in (("a", "1"), ("b", "2"), ("c", "3")):
            assert store.get(ask(text).key()) == Reply(reply, from_store=True)
    with Store.open(tmp_path) as store:
        assert len(store) == 3
        assert store.warnings == []


FORK = """
store = Store.open(folder)
store.put(ask("parent"), Reply("1"))
child = os.fork()
if not child:
    store.put(ask("child"), Reply("2"))
    os._exit(0)
for number in range(100):
    store.put(ask(str(number)), Reply("1"))
assert os.waitpid(child, 0)[1] == 0
store.refresh()
assert store.get(ask("child").key()).text == "2"
assert not store.warnings
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_writes_a_separate_segment(tmp_path):
    finish(start(FORK, tmp_path))
    assert sorted(path.read_bytes().count(b"\n") for path in segments(tmp_path)) == [1, 101]


# Read-only


READ_ONLY = """
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    (folder / "probe").touch()
except PermissionError:
    pass
else:
    raise SystemExit("this folder can be written")
try:
    Store.open(folder)
except SettingsError as error:
    print(error)
with Store.open(None, [folder]) as store:
    print(store.get(ask("a").key()).text, store.warnings)
    store.refresh()
    print(store.explain(ask("b")))
"""


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="permissions of this system are others")
def test_a_layer_without_write_permission_is_read():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)  # outside `tmp_path`, which other users cannot enter
        with Store.open(folder) as store:
            store.put(ask("a"), Reply("1"))
        (path,) = segments(folder)
        before = (path.read_bytes(), path.stat().st_mtime_ns, folder.stat().st_mtime_ns)
        path.chmod(0o444)
        path.parent.chmod(0o555)
        folder.chmod(0o555)
        try:
            refused, served, explained = finish(start(READ_ONLY, folder)).splitlines()
        finally:
            folder.chmod(0o755)
            path.parent.chmod(0o755)
        assert refused.startswith(f"--bench-store: cannot write into {folder}")
        assert "--bench-store-readonly" in refused
        assert served == "1 []"
        assert explained == "no answer of this case is stored"
        assert segments(folder) == [path]
        assert (path.read_bytes(), path.stat().st_mtime_ns, folder.stat().st_mtime_ns) == before


def test_importing_the_store_loads_no_heavy_library():
    script = COMMON + "import json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script, "."],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=unmeasured(),
    )
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert loaded & {"litellm", "numpy", "pandas", "sqlite3", "pickle", "tenacity"} == set()
