"""seccomp: which system calls a program may make (Linux on x86_64 and aarch64).

A list of what is denied: processes, programs, sockets, signals to others, other processes'
memory, rights of files, limits, namespaces, memory outside the limits. A call that is newer than
this list is unknown to the program.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

# Name, number on x86_64, number on aarch64; from the kernel's asm/unistd_64.h and
# asm-generic/unistd.h.
_DENIED = """
execve 59 221        execveat 322 281       fork 57 -              vfork 58 -
socket 41 198        socketpair 53 199      connect 42 203         bind 49 200
listen 50 201        accept 43 202          accept4 288 242        sendto 44 206
sendmsg 46 211       sendmmsg 307 269       ptrace 101 117         kcmp 312 272
process_vm_readv 310 270                    process_vm_writev 311 271
process_madvise 440 440                     process_mrelease 448 448
tkill 200 130        rt_sigqueueinfo 129 138                       rt_tgsigqueueinfo 297 240
pidfd_open 434 434   pidfd_getfd 438 438    pidfd_send_signal 424 424
mount 165 40         umount2 166 39         move_mount 429 429     open_tree 428 428
fsopen 430 430       fsconfig 431 431       fsmount 432 432        fspick 433 433
mount_setattr 442 442                       pivot_root 155 41      chroot 161 51
unshare 272 97       setns 308 268          swapon 167 224         swapoff 168 225
keyctl 250 219       add_key 248 217        request_key 249 218    bpf 321 280
perf_event_open 298 241                     userfaultfd 323 282
io_uring_setup 425 425                      io_uring_enter 426 426
io_uring_register 427 427                   io_setup 206 0
init_module 175 105  finit_module 313 273   delete_module 176 106  kexec_load 246 104
kexec_file_load 320 294                     reboot 169 142         acct 163 89
quotactl 179 60      quotactl_fd 443 443    personality 135 92     modify_ldt 154 -
ioperm 173 -         iopl 172 -             syslog 103 116         vhangup 153 58
setuid 105 146       setgid 106 144         setreuid 113 145       setregid 114 143
setresuid 117 147    setresgid 119 149      setfsuid 122 151       setfsgid 123 152
setgroups 116 159    capset 126 91          setsid 112 157         setpgid 109 154
sethostname 170 161  setdomainname 171 162  settimeofday 164 170   clock_settime 227 112
clock_adjtime 305 266                       adjtimex 159 171       setrlimit 160 164
prctl 157 167        setpriority 141 140    ioprio_set 251 30      sched_setattr 314 274
sched_setaffinity 203 122                   sched_setscheduler 144 119
sched_setparam 142 118                      migrate_pages 256 238  move_pages 279 239
chmod 90 -           fchmod 91 52           fchmodat 268 53        fchmodat2 452 452
chown 92 -           fchown 93 55           lchown 94 -            fchownat 260 54
setxattr 188 5       lsetxattr 189 6        fsetxattr 190 7        setxattrat 463 463
removexattr 197 14   lremovexattr 198 15    fremovexattr 199 16    removexattrat 466 466
utime 132 -          utimes 235 -           utimensat 280 88       futimesat 261 -
truncate 76 45       mknod 133 -            mknodat 259 33         sync 162 81
shmget 29 194        msgget 68 186          semget 64 190          mq_open 240 180
mq_unlink 241 181    memfd_create 319 279   memfd_secret 447 447
name_to_handle_at 303 264                   open_by_handle_at 304 265
fanotify_init 300 262                       fanotify_mark 301 263
inotify_add_watch 254 27                    seccomp 317 277        lookup_dcookie 212 18
open_tree_attr 467 467                      file_setattr 469 469
"""
# Allowed with some arguments.
_KILL, _TGKILL = (62, 129), (234, 131)
_CLONE, _CLONE3 = (56, 220), (435, 435)
_PRLIMIT, _FCNTL, _IOCTL = (302, 261), (72, 25), (16, 29)

_NEWEST = 469
_THREAD = 0x00010000
_OWNERS = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: signals by way of a file
_TERMINALS = (0x5412, 0x8901, 0x8902)  # TIOCSTI types for others; FIOSETOWN, SIOCSPGRP as above

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7), "arm64": (1, 0xC00000B7)}
_EPERM, _ENOSYS = 1, 38
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

_LOAD, _EQUAL, _ABOVE, _BITS, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16


def supported() -> bool:
    """Whether the list knows this machine's system calls."""
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
    words = _DENIED.split()
    for at in range(0, len(words), 3):
        number = words[at + 1 + column]
        if number != "-":
            code += [(_EQUAL, 0, 1, int(number)), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    # The old way to make a thread says what it makes in its arguments, the new one in memory,
    # where no filter can look: without it, glibc takes the old one.
    code += [(_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    denied = (_RETURN, 0, 0, _ERRNO | _EPERM)
    allowed = (_RETURN, 0, 0, _ALLOW)
    for call in (_KILL, _TGKILL):
        code += _only(call[column], [(_LOAD, 0, 0, _argument(0)), (_EQUAL, 1, 0, pid)])
    code += _only(_CLONE[column], [(_LOAD, 0, 0, _argument(0)), (_BITS, 1, 0, _THREAD)])
    new_limits = [(_LOAD, 0, 0, _argument(2)), (_EQUAL, 0, 2, 0)]
    new_limits += [(_LOAD, 0, 0, _argument(2) + 4), (_EQUAL, 1, 0, 0)]
    code += _only(_PRLIMIT[column], new_limits)
    for call, values in ((_FCNTL, _OWNERS), (_IOCTL, _TERMINALS)):
        tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
        body = [(_LOAD, 0, 0, _argument(1)), *tests, allowed, denied]
        code += [(_EQUAL, 0, len(body), call[column]), *body]
    code += [(_ABOVE, 0, 1, _NEWEST), (_RETURN, 0, 0, _ERRNO | _ENOSYS), allowed]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _only(number: int, test: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Allow a call where a test skips one instruction at its end, and deny it otherwise."""
    body = [*test, (_RETURN, 0, 0, _ERRNO | _EPERM), (_RETURN, 0, 0, _ALLOW)]
    return [(_EQUAL, 0, len(body), number), *body]


def _argument(number: int) -> int:
    return _ARGUMENTS + 8 * number  # the low half: both machines are little-endian


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def restrict_calls() -> None:
    """Deny this process what the list says, for good. Raises `OSError`."""
    if not supported():
        raise OSError(f"no list of system calls for {platform.system()} on {platform.machine()}")
    code = filter_code(os.getpid())
    given = _Filter(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(22, 2, ctypes.byref(given), 0, 0) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")
