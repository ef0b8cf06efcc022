"""Threads of a program: the kernel asks the watching process about each new one (Linux).

A filter of seccomp sends each `clone` of the program to a descriptor that only the watching process
keeps. RLIMIT_NPROC would count all processes of the user, and does not apply to root.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import os
import socket
import struct

from pytest_tablebench.sandbox.inside._seccomp import notifying_code, restrict

MOST_THREADS = 100
"""Threads above which no further one starts.

Each of them may have one that was allowed and has not started, so there are never twice as many.
"""

_NEW_LISTENER = 1 << 3
_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND
_NOTICE_BYTES = 80
_REPLY = struct.Struct("=QqiI")
_CONTINUE = 1


def hand_over(line: int, is_possible: bool) -> None:
    """Let the process at the other end of a socket decide about each new thread of this one.

    That process gets no listener if it is not possible. Closes the socket.
    """
    with socket.socket(fileno=line) as end:
        listener = -1
        if is_possible:
            with contextlib.suppress(OSError):  # an old kernel, or another process listens already
                listener = restrict(notifying_code(), _NEW_LISTENER)
        if listener < 0:
            end.sendall(b"-")
            return
        socket.send_fds(end, [b"+"], [listener])
    os.close(listener)


class ThreadGate:
    """Decides about the threads of a program, in the process that watches it.

    Arguments:
        line: the other end of the socket of `hand_over`.
        child: the program's process.
    """

    def __init__(self, line: socket.socket, child: int) -> None:
        self._line = line
        self._child = child
        self._listener: int | None = None

    @property
    def number(self) -> int:
        """The descriptor to poll: the socket, later the listener."""
        return self._line.fileno() if self._listener is None else self._listener

    @property
    def is_open(self) -> bool:
        """Whether the kernel asks about each thread."""
        return self._listener is not None

    @property
    def count(self) -> int:
        """The number of threads; 0 if it is unknown."""
        try:
            with open(f"/proc/{self._child}/status", encoding="ascii", errors="replace") as file:
                return int(file.read().partition("\nThreads:")[2].split()[0])
        except (OSError, ValueError, IndexError):
            return 0

    def answer(self) -> bool:
        """Read a message, and reply to it; return False if none follows."""
        if self._listener is None:
            return self._receive()
        notice = array.array("B", bytes(_NOTICE_BYTES))
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notice, True)
            (name,) = struct.unpack_from("=Q", notice)
            error, flags = (0, _CONTINUE) if self.count < MOST_THREADS else (-errno.EAGAIN, 0)
            fcntl.ioctl(self._listener, _SEND, _REPLY.pack(name, 0, error, flags))
        except OSError as failure:  # ENOENT: the thread that asked has ended
            return failure.errno in {errno.ENOENT, errno.EINTR}
        return True

    def _receive(self) -> bool:
        try:
            _, numbers, _, _ = socket.recv_fds(self._line, 1, 1)
        except OSError:
            return False
        if numbers:
            self._listener = numbers[0]
        return False  # the listener has another number

    def close(self) -> None:
        """Close the descriptors; the program can start no further thread."""
        self._line.close()
        if self._listener is not None:
            os.close(self._listener)
