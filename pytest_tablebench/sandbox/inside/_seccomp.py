"""seccomp: which system calls a program may make (Linux on x86_64 and aarch64).

The list names what Python, numpy, pandas and matplotlib need to compute, to read files and to
write some of their own. Everything else fails with EPERM: processes, programs, sockets, shared
memory, message queues, semaphores, locks, leases, rights of files, limits, name spaces. A call that
is newer than the list fails with ENOSYS, as on an older kernel, so libraries fall back.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

# Name, number on x86_64, number on aarch64; from the kernel's asm/unistd_64.h and
# asm-generic/unistd.h.
_ALLOWED = """
read 0 63               write 1 64              readv 19 65             writev 20 66
pread64 17 67           pwrite64 18 68          preadv 295 69           pwritev 296 70
preadv2 327 286         pwritev2 328 287        creat 85 -              close 3 57
close_range 436 436     lseek 8 62              ftruncate 77 46         fsync 74 82
fdatasync 75 83         fadvise64 221 223       sendfile 40 71          copy_file_range 326 285
stat 4 -                fstat 5 80              lstat 6 -               newfstatat 262 79
statx 332 291           statfs 137 43           fstatfs 138 44          access 21 -
faccessat 269 48        faccessat2 439 439      readlink 89 -           readlinkat 267 78
getdents 78 -           getdents64 217 61       getcwd 79 17            chdir 80 49
fchdir 81 50            mkdir 83 -              mkdirat 258 34          umask 95 166
pipe 22 -               pipe2 293 59            dup 32 23               dup2 33 -
dup3 292 24             poll 7 -                ppoll 271 73            select 23 -
pselect6 270 72         eventfd 284 -           eventfd2 290 19         epoll_create 213 -
epoll_create1 291 20    epoll_ctl 233 21        epoll_wait 232 -        epoll_pwait 281 22
epoll_pwait2 441 441    mmap 9 222              munmap 11 215           mremap 25 216
mprotect 10 226         madvise 28 233          msync 26 227            brk 12 214
rt_sigaction 13 134     rt_sigprocmask 14 135   rt_sigreturn 15 139     rt_sigpending 127 136
rt_sigtimedwait 128 137 rt_sigsuspend 130 133   sigaltstack 131 132     pause 34 -
restart_syscall 219 128 nanosleep 35 101        clock_nanosleep 230 115 clock_gettime 228 113
clock_getres 229 114    gettimeofday 96 169     time 201 -              times 100 153
alarm 37 -              getitimer 36 102        setitimer 38 103        futex 202 98
set_robust_list 273 99  set_tid_address 218 96  rseq 334 293            sched_yield 24 124
sched_getaffinity 204 123                       getcpu 309 168          getpid 39 172
getppid 110 173         gettid 186 178          getpgrp 111 -           getuid 102 174
geteuid 107 175         getgid 104 176          getegid 108 177         getresuid 118 148
getresgid 120 150       getgroups 115 158       uname 63 160            sysinfo 99 179
getrusage 98 165        getrlimit 97 163        getrandom 318 278       wait4 61 260
waitid 247 95           exit 60 93              exit_group 231 94
"""
# Their arguments are in memory, which a filter cannot read. Libraries fall back to other calls.
_ABSENT = """clone3 435 435  openat2 437 437"""
# Allowed with some arguments.
_OPEN, _OPENAT = (2, None), (257, 56)
_KILL, _TGKILL = (62, 129), (234, 131)
_CLONE, _PRLIMIT = (56, 220), (302, 261)
_FCNTL, _IOCTL, _PRCTL = (72, 25), (16, 29), (157, 167)

_NEWEST = 469
_O_PATH = 0x00200000  # opens a folder that Landlock would not let the program open
_THREAD = 0x00010000
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ: no locks, leases,
# notes about folders, nor signals by way of a file.
_OF_FILES = (0, 1, 2, 3, 4, 1030, 1032)
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2.
_OF_DEVICES = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
_OF_THREADS = (15, 16)  # PR_SET_NAME, PR_GET_NAME

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7), "arm64": (1, 0xC00000B7)}
_EPERM, _ENOSYS = 1, 38
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_KILL_PROCESS, _ERRNO = 0x80000000, 0x00050000
_SECCOMP = {"x86_64": 317, "aarch64": 277, "arm64": 277}
_CLONE3 = 435

_Instruction = tuple[int, int, int, int]

_LOAD, _EQUAL, _ABOVE, _BITS, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOWING, _DENYING = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | _EPERM)


def supported() -> bool:
    """Return whether the list has this machine's system calls."""
    return platform.system() == "Linux" and platform.machine() in _MACHINES


def filter_code(pid: int) -> bytes:
    """Return the filter of one process, as BPF for the kernel."""
    column, architecture = _MACHINES[platform.machine()]
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in _numbers(_ALLOWED, column):
        code += [(_EQUAL, 0, 1, number), _ALLOWING]
    for number in _numbers(_ABSENT, column):
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    for call, argument in ((_OPEN, 1), (_OPENAT, 2)):
        code += _only(call[column], [*_load(argument), (_BITS, 0, 1, _O_PATH)])
    for call in (_KILL, _TGKILL):
        code += _only(call[column], [*_load(0), (_EQUAL, 1, 0, pid)])
    code += _only(_CLONE[column], [*_load(0), (_BITS, 1, 0, _THREAD)])
    code += _only(_PRLIMIT[column], _own_limits(pid))
    for call, argument, values in (
        (_FCNTL, 1, _OF_FILES),
        (_IOCTL, 1, _OF_DEVICES),
        (_PRCTL, 0, _OF_THREADS),
    ):
        tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
        code += _only(call[column], [*_load(argument), *tests])
    code += [(_ABOVE, 0, 1, _NEWEST), (_RETURN, 0, 0, _ERRNO | _ENOSYS), _DENYING]
    return _packed(code)


def notifying_code() -> bytes:
    """Return a filter that sends `clone` to its listener, unless another filter denies it."""
    column, architecture = _MACHINES[platform.machine()]
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, 4, architecture),
        (_LOAD, 0, 0, _NUMBER),
        (_EQUAL, 1, 0, _CLONE[column]),
        (_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, _NOTIFY),
        _ALLOWING,
    ]
    return _packed(code)


def _packed(code: list[_Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _numbers(calls: str, column: int) -> list[int]:
    words = calls.split()
    return [int(number) for number in words[1 + column :: 3] if number != "-"]


def _own_limits(pid: int) -> list[_Instruction]:
    """Return the test whether `prlimit64` only reads the limits of this process."""
    return [
        *_load(0),
        (_EQUAL, 1, 0, 0),
        (_EQUAL, 0, 4, pid),
        *_load(2),
        (_EQUAL, 0, 2, 0),
        (_LOAD, 0, 0, _argument_offset(2) + 4),
        (_EQUAL, 1, 0, 0),
    ]


def _only(number: int | None, test: list[_Instruction]) -> list[_Instruction]:
    """Allow a call if its test jumps over the next instruction, else deny it."""
    if number is None:
        return []
    body = [*test, _DENYING, _ALLOWING]
    return [(_EQUAL, 0, len(body), number), *body]


def _load(argument: int) -> list[_Instruction]:
    return [(_LOAD, 0, 0, _argument_offset(argument))]


def _argument_offset(number: int) -> int:
    return _ARGUMENTS + 8 * number  # the low half: both machines are little-endian


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def restrict_calls() -> None:
    """Restrict this process permanently to the calls in the list. Raises `OSError`."""
    if not supported():
        raise OSError(f"no list of system calls for {platform.system()} on {platform.machine()}")
    restrict(filter_code(os.getpid()))


def restrict(code: bytes, flags: int = 0) -> int:
    """Add a filter to this process; return what the kernel returns. Raises `OSError`."""
    program = _Filter(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    # SECCOMP_SET_MODE_FILTER
    number: int = libc.syscall(_SECCOMP[platform.machine()], 1, flags, ctypes.byref(program))
    if number < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"seccomp: {os.strerror(error)}")
    return number
