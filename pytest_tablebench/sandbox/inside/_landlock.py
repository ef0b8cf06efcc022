"""Landlock: which files the kernel lets this process open from here on (Linux 5.13 and later).

System calls and structures are those of <linux/landlock.h>; docs.kernel.org/userspace-api/landlock
describes each version of the interface.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every architecture
_PATH_BENEATH = 1

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_MAKE_DIR, _MAKE_REG, _TRUNCATE = 1 << 7, 1 << 8, 1 << 14

_READ = _READ_FILE | _READ_DIR
# Without removal: a file without a name would escape the count of files.
_WORK = _READ | _WRITE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
_CHANGE = _WRITE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
_OF_FILES = _WRITE_FILE | _READ_FILE | _TRUNCATE

_FILE_RIGHTS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
"""The rights over files that each version added."""
_NET = (1 << 2) - 1  # version 4: binding and connecting TCP
_SCOPES = (1 << 2) - 1  # version 6: abstract sockets, signals


def version() -> int:
    """Return the version of the kernel's interface, or 0."""
    number = _call(_CREATE, None, 0, 1)
    return max(number, 0)


def read_rules(readable: Iterable[str], base: str, devices: Iterable[str]) -> int:
    """Return a set of rules: read below `readable`, and work below `base`.

    It is made once and applied to each program's process by `restrict_files`. Paths that do not
    exist are left out. Raises `OSError` if the kernel refuses.
    """
    have = version()
    if have < 1:
        raise OSError("the kernel has no Landlock, or it is switched off")
    handled = sum(rights for since, rights in _FILE_RIGHTS if since <= have)
    attributes = struct.pack("=QQQ", handled, _NET if have >= 4 else 0, _SCOPES if have >= 6 else 0)
    size = 24 if have >= 6 else 16 if have >= 4 else 8
    rules = _checked(_call(_CREATE, attributes, size, 0), "rules")
    for path in readable:
        _allow(rules, path, _READ & handled)
    for path in devices:
        _allow(rules, path, (_READ_FILE | _WRITE_FILE) & handled)
    _allow(rules, base, _WORK & handled)
    return rules


def restrict_files(rules: int, writable: str, devices: Iterable[str]) -> None:
    """Let this process and its children open only what the rules and `writable` both allow.

    Nothing is executed, removed or linked any more, not even below `writable`. Raises `OSError`
    if the kernel refuses.
    """
    have = version()
    _checked(_call(_RESTRICT, rules, 0), "restriction")
    handled = _CHANGE & sum(rights for since, rights in _FILE_RIGHTS if since <= have)
    changes = _checked(_call(_CREATE, struct.pack("=Q", handled), 8, 0), "rules")
    try:
        for path in devices:
            _allow(changes, path, _WRITE_FILE)
        _allow(changes, writable, handled)
        _checked(_call(_RESTRICT, changes, 0), "restriction")
    finally:
        os.close(changes)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        _checked(_call(_ADD_RULE, rules, _PATH_BENEATH, rule, 0), path)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    words = [
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
    ]
    status: int = libc.syscall(ctypes.c_long(number), *words)
    return status


def _checked(status: int, action: str) -> int:
    if status < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {action}: {os.strerror(number)}")
    return status
