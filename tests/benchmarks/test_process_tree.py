"""The account of a command's processes, on commands whose cost is known."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.process_tree import EACH_PSS, Cost, Sample, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's account of orphans")

BURN = """
import resource
while (used := resource.getrusage(resource.RUSAGE_SELF)).ru_utime + used.ru_stime < {seconds}:
    pass
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


class Gate:
    """Holds processes until all have come to it and each kind of sample has seen them there."""

    def __init__(self, folder: Path, processes: int) -> None:
        self.path = folder / "gate"
        self.arrived = folder / "arrived"
        os.mkfifo(self.path)
        self.arrived.touch()
        self.processes = processes
        self.samples = 0
        self.wait = (
            f"with open({str(self.arrived)!r}, 'a') as mark:\n    mark.write('x')\n"
            f"open({str(self.path)!r}).read()\n"
        )

    def progress(self) -> float:
        if len(self.arrived.read_text()) >= self.processes:
            self.samples += 1
        if self.samples > EACH_PSS + 1:
            with contextlib.suppress(OSError):  # nobody waits: not yet, or no longer
                os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        return float(self.samples)


def test_cpu_of_children_and_of_orphans_counts(tmp_path: Path) -> None:
    burn = python(BURN.format(seconds=0.3))
    code = (
        "import subprocess\n"
        f"subprocess.run({burn!r})\n"
        f"subprocess.Popen({burn!r}, start_new_session=True)\n"
    )
    cost = run(python(code), cwd=tmp_path)
    assert (cost.returncode, cost.left_over) == (0, 0)
    assert 0.6 <= cost.cpu_s < 1.2
    assert cost.linger_s > 0.1, "the orphan burned most of its time after the command had ended"


def test_memory_is_summed_over_the_tree(tmp_path: Path) -> None:
    gate = Gate(tmp_path, processes=2)
    hold = f"block = b'x' * (80 << 20)\n{gate.wait}"
    code = (
        "import subprocess\n"
        f"subprocess.run({python('import subprocess')!r})\n"
        f"both = [subprocess.Popen({python(hold)!r}) for _ in range(2)]\n"
        "[one.wait() for one in both]\n"
    )
    cost = run(python(code), cwd=tmp_path, progress=gate.progress)
    assert 160 <= cost.peak_rss_mb < 240
    assert cost.peak_pss_mb is not None
    assert 150 <= cost.peak_pss_mb <= cost.peak_rss_mb
    assert max(sample.processes for sample in cost.samples) == 3


def test_killing_ends_everything_at_once(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, signal, subprocess\n"
        f"child = subprocess.Popen({python('import signal; signal.pause()')!r},"
        " start_new_session=True)\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}\\n')\n"
        "signal.pause()\n"
    )
    cost = run(
        python(code), cwd=tmp_path, kill_when=lambda: pids.exists() and "\n" in pids.read_text()
    )
    assert cost.returncode == -9
    assert not any(psutil.pid_exists(int(pid)) for pid in pids.read_text().split())


def test_a_process_with_litellms_library_is_counted(tmp_path: Path) -> None:
    folder = tmp_path / "fastuuid"
    folder.mkdir()
    library = folder / "lib.so"
    library.write_bytes(b"\0" * 4096)
    gate = Gate(tmp_path, processes=1)
    held = (
        "import mmap\n"
        f"with open({str(library)!r}, 'rb') as file:\n"
        "    held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
        f"{gate.wait}\n"
    )
    code = f"import subprocess\nsubprocess.run({python(held)!r})\n"
    assert run(python(code), cwd=tmp_path, progress=gate.progress).litellm == 1
    other = tmp_path / "other"
    other.mkdir()
    gate = Gate(other, processes=1)
    assert run(python(gate.wait), cwd=tmp_path, progress=gate.progress).litellm == 0


def test_other_children_of_ours_are_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(python("input()"), stdin=subprocess.PIPE) as other:
        cost = run(python("import sys; sys.exit(3)"), cwd=tmp_path)
        assert cost.returncode == 3
        assert other.poll() is None
        other.communicate(b"\n")
    assert other.returncode == 0


def test_memory_is_read_off_by_progress() -> None:
    cost = Cost(
        samples=[
            Sample(0.2, 100.0, None, 1, None),
            Sample(0.4, 150.0, 120.0, 1, 0.1),
            Sample(0.6, 140.0, None, 1, 0.15),
            Sample(0.8, 200.0, 180.0, 1, 1.0),
        ]
    )
    assert cost.rss_mb_between(0.1, 0.2) == 150
    assert cost.rss_mb_between(0.9, 1.0) == 200
    assert cost.rss_mb_between(0.3, 0.8) is None
    assert (cost.peak_rss_mb, cost.peak_pss_mb) == (200, 180)
