"""Restriction of a program's process before the program begins."""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
import struct
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pytest_tablebench.sandbox.inside._landlock import read_rules, restrict_files, version
from pytest_tablebench.sandbox.inside._seccomp import restrict_calls, supported
from pytest_tablebench.sandbox.inside._threads import hand_over

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
OPEN_FILES = 64
WITHOUT_LANDLOCK = "without Landlock"
"""A part that tests ask for: everything is as on a kernel that has no Landlock."""
WITHOUT_NOTICES = "without notices"
"""A part that tests ask for: everything is as on a kernel that does not ask about threads."""

_MIB = 1 << 20
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CAPSET = {"x86_64": 126, "aarch64": 91, "arm64": 91}
_SIGACTION = {"x86_64": 13, "aarch64": 134, "arm64": 134}
_INTERNAL_SIGNALS = (32, 33)
"""Signals that glibc keeps for threads: its `sigaction` refuses them."""


def end_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends for any reason."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def reset_internal_signals() -> None:
    """Give glibc's two internal signals their default effect, which is to end the process (Linux).

    glibc's `posix_spawn` lets a new process ignore them, and so do all that it starts. GNU make
    starts commands with it. Without this, a program could send itself such a signal and
    continue.
    """
    number = _SIGACTION.get(os.uname().machine) if sys.platform == "linux" else None
    if number is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    default, mask_bytes = bytes(32), 8  # SIG_DFL without flags, and an empty mask
    for internal in _INTERNAL_SIGNALS:
        libc.syscall(number, internal, default, None, mask_bytes)


def hide_memory(*, hidden: bool) -> None:
    """Forbid or allow other processes of this user to look into this one (Linux)."""
    if sys.platform == "linux":
        _prctl(_PR_SET_DUMPABLE, int(not hidden))


def file_rules(parts: frozenset[str], readable: Iterable[str], base: str) -> int | None:
    """Return Landlock's rules for all programs; None if it is neither required nor available.

    Raises `OSError`.
    """
    if "landlock" not in parts and (parts & {"bare", WITHOUT_LANDLOCK} or version() < 1):
        return None
    return read_rules(readable, base, DEVICES)


def confine(
    folder: str, limits: Mapping[str, Any], parts: Collection[str], rules: int | None, asking: int
) -> None:
    """Drop all rights of this process that a program does not need.

    `parts` are required: `landlock`, `seccomp`. Others are set up if the system has them. `rules`
    come from `file_rules`, `asking` is the socket for `hand_over`. Raises `OSError` if a required
    part cannot be set up.
    """
    _limit(limits)
    if sys.platform != "linux":
        os.close(asking)
        return
    _drop_capabilities()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    hand_over(asking, supported() and WITHOUT_NOTICES not in parts)
    if rules is not None:
        restrict_files(rules, folder, DEVICES)
        os.close(rules)  # a program that held them could add to them
    if "seccomp" in parts or ("bare" not in parts and supported()):
        restrict_calls()


def _limit(limits: Mapping[str, Any]) -> None:
    seconds = math.ceil(limits["cpu_s"])
    disk = int(limits["disk_mib"] * _MIB)
    _set(resource.RLIMIT_CPU, seconds, seconds + 1)
    _set(resource.RLIMIT_FSIZE, disk)
    _set(resource.RLIMIT_NOFILE, OPEN_FILES)
    _set(resource.RLIMIT_CORE, 0)
    if (taken := _address_space()) is not None:
        _set(resource.RLIMIT_AS, taken + int(limits["memory_mib"] * _MIB))


def _set(limit: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, at most the current hard limit."""
    ceiling = resource.getrlimit(limit)[1]
    hard = soft if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(limit, (soft, hard))


def _address_space() -> int | None:
    """Return the bytes of this process's address space; None if unknown."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None


def _drop_capabilities() -> None:
    """Drop the capabilities of root; other users have none."""
    number = _CAPSET.get(os.uname().machine)
    if number is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, none = struct.pack("=Ii", 0x20080522, 0), struct.pack("=6I", *[0] * 6)
    if libc.syscall(number, header, none) != 0:
        raise OSError(ctypes.get_errno(), "the capabilities of root cannot be given up")


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")
