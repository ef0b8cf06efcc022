"""What a program's process gives up before the program begins."""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
import struct
import sys
import sysconfig
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from pytest_tablebench.sandbox.inside._landlock import restrict_files, version
from pytest_tablebench.sandbox.inside._seccomp import restrict_calls, supported

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
OPEN_FILES = 64
_MIB = 1 << 20
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_CAPSET = {"x86_64": 126, "aarch64": 91, "arm64": 91}


@lru_cache(maxsize=1)
def readable() -> tuple[str, ...]:
    """Return the paths a program may read: Python's libraries, shared ones, fonts, time zones."""
    found = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"]
    found += ["/usr/share/fonts", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime"]
    return tuple(dict.fromkeys(filter(None, found)))


def end_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends, however that comes about."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def confine(folder: str, limits: Mapping[str, Any], parts: Collection[str]) -> None:
    """Take from this process all that a program does not need.

    `parts` are those that must hold: `landlock`, `seccomp`. Both are set up where the system has
    them. Raises `OSError` where one that must hold cannot be.
    """
    _limit(limits)
    if sys.platform != "linux":
        return
    _drop_capabilities()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if "landlock" in parts or ("bare" not in parts and version() > 0):
        restrict_files(readable(), folder, DEVICES)
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


def _set(what: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, not above the one that is there."""
    there = resource.getrlimit(what)[1]
    hard = soft if hard is None else hard
    if there != resource.RLIM_INFINITY:
        soft, hard = min(soft, there), min(hard, there)
    resource.setrlimit(what, (soft, hard))


def _address_space() -> int | None:
    """Return the bytes of this process's address space; None where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None


def _drop_capabilities() -> None:
    """Give up what root can do beyond other users; there is nothing to give up for others."""
    number = _CAPSET.get(os.uname().machine)
    if number is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, none = struct.pack("=Ii", 0x20080522, 0), struct.pack("=6I", *[0] * 6)
    if libc.syscall(number, header, none) != 0:
        raise OSError(ctypes.get_errno(), "the capabilities of root cannot be given up")


def _prctl(what: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(what, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {what}: {os.strerror(number)}")
