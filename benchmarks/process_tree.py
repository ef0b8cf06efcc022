"""The cost of a command and all processes it starts: wall time, CPU, memory, litellm's share.

    cost = run([sys.executable, "-m", "pytest"], cwd=folder)

Processes that leave the command's session or lose their parent still count. On Linux this
process becomes the parent of such orphans, so that the kernel accounts for them; elsewhere their
CPU comes from the last sample.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

__all__ = ["Cost", "Sample", "Tree", "run"]

PR_SET_CHILD_SUBREAPER = 36

SAMPLE_S = 0.2
EACH_PSS = 5
"""Samples between two sums of shared pages, which take long because the kernel walks all pages."""

LITELLM_FILE = "/fastuuid/"
"""Part of a compiled package's path; in our runs only litellm imports it, at its start."""

LITELLM_COMMAND = "pytest_tablebench.executors.local.caller"
"""The processes that may import litellm, for systems that cannot list mapped files."""

LINGER_S = 30.0


@dataclass(frozen=True)
class Sample:
    """The tree at one moment; `pss_mb` counts shared pages once and is None in most samples."""

    at: float
    """Seconds since the start."""
    rss_mb: float
    pss_mb: float | None
    processes: int
    progress: float | None


@dataclass
class Cost:
    """The cost of a command and all processes it started."""

    started: float = 0.0
    """Unix time."""
    wall_s: float = 0.0
    """Until the command ended."""
    linger_s: float = 0.0
    """From then until its last process ended."""
    cpu_s: float = 0.0
    litellm_cpu_s: float = 0.0
    """The CPU of processes with litellm, by their last samples."""
    cpu_by_module: dict[str, float] = field(default_factory=dict)
    """The CPU of all processes, by the module after `-m`; other processes under an empty name."""
    litellm: int = 0
    """Processes seen with litellm loaded."""
    returncode: int = 0
    left_over: int = 0
    """Processes that had to be killed."""
    samples: list[Sample] = field(default_factory=list)

    @property
    def peak_rss_mb(self) -> float:
        """The highest sum of all resident sizes."""
        return max((sample.rss_mb for sample in self.samples), default=0.0)

    @property
    def peak_pss_mb(self) -> float | None:
        """The same with shared pages counted once; None if the system does not report it."""
        return max((s.pss_mb for s in self.samples if s.pss_mb is not None), default=None)

    def rss_mb_between(self, low: float, high: float) -> float | None:
        """Return the highest sum of resident sizes while the progress was in a range."""
        found = [s.rss_mb for s in self.samples if s.progress is not None]
        inside = [
            s.rss_mb for s in self.samples if s.progress is not None and low <= s.progress <= high
        ]
        return max(inside) if found and inside else None


class Tree:
    """A child of this process and all its descendants seen so far.

    Arguments:
        pid: the child's.
        others: this process's other children; any further one counts as an adopted orphan.
    """

    def __init__(self, pid: int, others: set[int]) -> None:
        self.root = psutil.Process(pid)
        self.others = others
        self.ours = psutil.Process()
        self.known: dict[psutil.Process, None] = {self.root: None}
        self.cpu: dict[psutil.Process, float] = {}
        self.modules: dict[psutil.Process, str] = {}
        self.with_litellm: set[psutil.Process] = set()

    def refresh(self) -> list[psutil.Process]:
        """Look for new descendants; return the running processes."""
        for process in list(self.known):
            with contextlib.suppress(psutil.Error):
                for child in process.children(recursive=True):
                    self.known.setdefault(child)
        for orphan in self.ours.children():
            if orphan.pid not in self.others:
                self.known.setdefault(orphan)
        return [process for process in self.known if _runs(process)]

    def sample(self, at: float, progress: float | None, *, shares: bool) -> Sample:
        rss = pss = 0
        has_pss = False
        running = self.refresh()
        for process in running:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    self.cpu[process] = times.user + times.system
                    rss += process.memory_info().rss
                if process not in self.modules:
                    self.modules[process] = _module(process.cmdline())
                if shares:
                    found = getattr(process.memory_full_info(), "pss", None)
                    has_pss |= found is not None
                    pss += found or 0
                if process not in self.with_litellm and _has_litellm(process):
                    self.with_litellm.add(process)
            except (psutil.Error, OSError):
                continue  # it ended meanwhile
        return Sample(at, rss / 2**20, pss / 2**20 if has_pss else None, len(running), progress)

    def kill(self) -> int:
        """Kill -9 all processes, the command first; return their number."""
        killed: set[psutil.Process] = set()
        while running := [process for process in self.refresh() if process not in killed]:
            for process in running:
                killed.add(process)
                with contextlib.suppress(psutil.Error):
                    process.send_signal(signal.SIGKILL)
        return len(killed)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _module(command: Sequence[str]) -> str:
    place = command.index("-m") + 1 if "-m" in command else len(command)
    return next(iter(command[place:]), "")


def _has_litellm(process: psutil.Process) -> bool:
    maps = Path(f"/proc/{process.pid}/maps")
    if maps.parent.is_dir():
        return LITELLM_FILE in maps.read_text(encoding="utf-8", errors="replace")
    return LITELLM_COMMAND in " ".join(process.cmdline())


def adopt_orphans() -> bool:
    """Become the parent of orphaned descendants; return False if the system cannot do it."""
    if sys.platform != "linux":
        return False
    refused: int = ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return refused == 0


def _reap(tree: Tree) -> None:
    """Wait for ended adopted children, so that their CPU is accounted for."""
    for child in tree.ours.children():
        if child.pid not in tree.others and child != tree.root:
            with contextlib.suppress(psutil.Error, ChildProcessError):
                if child.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(child.pid, os.WNOHANG)


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    output: Path | None = None,
    progress: Callable[[], float] | None = None,
    kill_when: Callable[[], bool] | None = None,
) -> Cost:
    """Run a command to its end and measure its whole process tree.

    Arguments:
        output: receives its standard output and error.
        progress: called at each sample; its value is kept with the sample.
        kill_when: called at each sample; if it returns true, all processes are killed (signal 9).
    """
    adopted = adopt_orphans()
    others = {child.pid for child in psutil.Process().children()}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = Cost(started=time.time())
    start = time.perf_counter()
    with (output or Path(os.devnull)).open("wb") as sink:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    tree = Tree(process.pid, others)
    ended = threading.Event()

    def wait() -> None:
        process.wait()
        cost.wall_s = time.perf_counter() - start
        ended.set()

    waiter = threading.Thread(target=wait, name="waiter")
    waiter.start()
    number = 0
    while not ended.wait(SAMPLE_S):
        # `progress` is called first, so that killing follows `kill_when` at once.
        if kill_when is not None and kill_when():
            tree.kill()
            break
        figure = progress() if progress is not None else None
        shares = number % EACH_PSS == 0
        cost.samples.append(tree.sample(time.perf_counter() - start, figure, shares=shares))
        number += 1
    waiter.join()
    while time.perf_counter() - start - cost.wall_s < LINGER_S and (running := tree.refresh()):
        psutil.wait_procs(running, timeout=SAMPLE_S)
        _reap(tree)
    cost.linger_s = time.perf_counter() - start - cost.wall_s
    cost.left_over = tree.kill()
    _reap(tree)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    reaped = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cost.cpu_s = reaped if adopted else sum(tree.cpu.values())
    cost.returncode = process.returncode
    cost.litellm = len(tree.with_litellm)
    for one, used in tree.cpu.items():
        module = tree.modules.get(one, "")
        cost.cpu_by_module[module] = cost.cpu_by_module.get(module, 0.0) + used
    cost.litellm_cpu_s = sum(tree.cpu.get(process, 0.0) for process in tree.with_litellm)
    return cost
