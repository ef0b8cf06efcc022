"""The choice of a sandbox backend, and the escape test."""

from __future__ import annotations

import json
import os
import platform
import struct
import sys
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.errors import ModelError
from pytest_tablebench.metrics.steps import Execute
from pytest_tablebench.sandbox import Backend, Sandbox, _sandbox, backends, choose
from pytest_tablebench.sandbox._sandbox import ESCAPE, Tried, escapes
from pytest_tablebench.sandbox._worker import SandboxProcess
from pytest_tablebench.sandbox.inside import _seccomp

BARE = backends(unsafe=True)[-1]


def test_the_escape_test_reports_a_backend_without_isolation() -> None:
    worker = SandboxProcess(BARE, warm=False)
    try:
        # The forking process is killed, so its report is lost, but its effects are visible.
        found = {"it killed its parent", "it reached the network", "it wrote outside its folder"}
        assert set(escapes(worker)) == found
        # The same program without its last two lines.
        files = {"probe.json": json.dumps(NOBODYS).encode()}
        ran = worker.run(Execute("", files, runner=ESCAPE.partition('attempt("it sent')[0]))
    finally:
        worker.close()
    assert [str(one).split(":")[0] for one in ran.value] == [
        "it wrote outside its folder",
        "it overwrote a file of yours",
        "it read a file of yours",
        "it made a socket to the world",
        "it started a process",
        "it saw your variable PATH",
    ]


NOBODYS = {"secret": "/dev/null", "outside": "/dev/null", "port": 9, "names": ["PATH"]}


def test_the_first_backend_that_passes_is_used() -> None:
    def absent() -> str:
        return "it is not here"

    missing = Backend("missing", "", frozenset(), absent, BARE.command)
    tried = choose([missing, BARE, BARE])
    assert [(one.backend.name, one.why) for one in tried] == [
        ("missing", "it is not here"),
        ("bare", None),
    ]
    assert len(choose([missing, BARE, BARE], every=True)) == 3


def test_a_container_is_tried_first_and_no_isolation_last_on_request() -> None:
    assert [one.name for one in backends()] == ["landlock", "bubblewrap", "seatbelt"]
    asked = [one.name for one in backends("image", unsafe=True)]
    assert asked == ["container", "landlock", "bubblewrap", "seatbelt", "bare"]


def test_a_backend_that_does_not_start_has_a_reason() -> None:
    broken = Backend(
        "broken",
        "",
        frozenset(),
        lambda: None,
        lambda _: [sys.executable, "-c", "raise SystemExit('no such image')"],
    )
    [tried] = choose([broken])
    assert tried.why == "it does not start: no such image"


def test_without_a_sandbox_no_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sandbox, "choose", lambda _: [Tried(BARE, "it is not here")])
    sandbox = Sandbox()
    for _ in range(2):
        with pytest.raises(ModelError, match="bare: it is not here") as raised:
            sandbox.run(Execute("print(1)"))
        assert raised.value.reason == "no_sandbox"
    sandbox.close()


PID = 123
CALLS = {
    # Name: number on x86_64 and aarch64, arguments, and the kernel's answer.
    "read": ((0, 63), (), "allowed"),
    "openat": ((257, 56), (0, 0, os.O_RDWR | os.O_CREAT), "allowed"),
    "openat, O_PATH": ((257, 56), (0, 0, 0x200000 | os.O_CLOEXEC), "EPERM"),
    "open, O_PATH": ((2, None), (0, 0x200000), "EPERM"),
    "openat2": ((437, 437), (), "ENOSYS"),
    "a thread": ((56, 220), (0x3D0F00,), "allowed"),
    "a fork": ((56, 220), (0x1200011,), "EPERM"),
    "fork": ((57, None), (), "EPERM"),
    "clone3": ((435, 435), (), "ENOSYS"),
    "execve": ((59, 221), (), "EPERM"),
    "socket": ((41, 198), (), "EPERM"),
    "shmget": ((29, 194), (), "EPERM"),
    "shmat": ((30, 196), (), "EPERM"),
    "shmctl": ((31, 195), (), "EPERM"),
    "shmdt": ((67, 197), (), "EPERM"),
    "msgget": ((68, 186), (), "EPERM"),
    "msgctl": ((71, 187), (), "EPERM"),
    "msgrcv": ((70, 188), (), "EPERM"),
    "msgsnd": ((69, 189), (), "EPERM"),
    "semget": ((64, 190), (), "EPERM"),
    "semctl": ((66, 191), (), "EPERM"),
    "semtimedop": ((220, 192), (), "EPERM"),
    "semop": ((65, 193), (), "EPERM"),
    "mq_open": ((240, 180), (), "EPERM"),
    "mq_unlink": ((241, 181), (), "EPERM"),
    "mq_timedsend": ((242, 182), (), "EPERM"),
    "mq_timedreceive": ((243, 183), (), "EPERM"),
    "flock": ((73, 32), (), "EPERM"),
    "fallocate": ((285, 47), (), "EPERM"),
    "fcntl, F_DUPFD_CLOEXEC": ((72, 25), (0, 1030), "allowed"),
    "fcntl, F_SETFL": ((72, 25), (0, 4), "allowed"),
    "fcntl, F_SETLK": ((72, 25), (0, 6), "EPERM"),
    "fcntl, F_SETLKW": ((72, 25), (0, 7), "EPERM"),
    "fcntl, F_SETOWN": ((72, 25), (0, 8), "EPERM"),
    "fcntl, F_OFD_SETLK": ((72, 25), (0, 37), "EPERM"),
    "fcntl, F_SETLEASE": ((72, 25), (0, 1024), "EPERM"),
    "fcntl, F_NOTIFY": ((72, 25), (0, 1026), "EPERM"),
    "ioctl, TCGETS": ((16, 29), (0, 0x5401), "allowed"),
    "ioctl, TIOCSTI": ((16, 29), (0, 0x5412), "EPERM"),
    "prctl, PR_SET_NAME": ((157, 167), (15,), "allowed"),
    "prctl, PR_SET_DUMPABLE": ((157, 167), (4,), "EPERM"),
    "kill, itself": ((62, 129), (PID,), "allowed"),
    "kill, another": ((62, 129), (PID + 1,), "EPERM"),
    "tgkill, itself": ((234, 131), (PID,), "allowed"),
    "prlimit64, reads its limits": ((302, 261), (0, 7, 0), "allowed"),
    "prlimit64, by its number": ((302, 261), (PID, 7, 0), "allowed"),
    "prlimit64, of another": ((302, 261), (PID + 1, 7, 0), "EPERM"),
    "prlimit64, sets": ((302, 261), (0, 7, 1 << 40), "EPERM"),
    "the newest in the list": ((469, 469), (), "EPERM"),
    "a newer one": ((470, 470), (), "ENOSYS"),
    "one of x32": ((0x40000000, None), (), "ENOSYS"),
}
ANSWERS = {0x7FFF0000: "allowed", 0x50001: "EPERM", 0x50026: "ENOSYS", 0x80000000: "killed"}
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def answer(code: bytes, architecture: int, number: int, arguments: tuple[int, ...]) -> str:
    """Return the answer of a filter to a system call, interpreted as by the kernel."""
    filled = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, architecture, 0, *filled)
    instructions = list(struct.iter_unpack("=HBBI", code))
    place = value = 0
    while True:
        operation, if_true, if_false, operand = instructions[place]
        place += 1
        if operation == 0x20:  # load a word
            [value] = struct.unpack_from("=I", data, operand)
        elif operation == 0x06:  # return
            return ANSWERS[operand]
        else:
            tests = {0x15: value == operand, 0x25: value > operand, 0x45: bool(value & operand)}
            place += if_true if tests[operation] else if_false


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_allows_only_system_calls_that_programs_need(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    code = _seccomp.filter_code(PID)
    assert len(code) // 8 < 4096  # the limit of the kernel
    column = list(ARCHITECTURES).index(machine)
    answers = {
        name: answer(code, ARCHITECTURES[machine], number, arguments)
        for name, (numbers, arguments, _) in CALLS.items()
        if (number := numbers[column]) is not None
    }
    assert answers == {name: CALLS[name][2] for name in answers}
    assert answer(code, 0x40000003, 0, ()) == "killed"  # the numbers of another architecture


def test_the_command_names_the_backend_that_passes(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["sandbox"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["landlock", "bubblewrap", "seatbelt"]
    used = [line.split()[0] for line in lines[:3] if line.split()[1] == "used"]
    assert len(used) == (code == 0)
    assert "cpu_s 10" in lines[-1]


def test_a_container_has_no_network_no_rights_and_no_writable_folder() -> None:
    command = backends("an/image:1")[0].command("")
    image = command.index("an/image:1")
    assert command[1:3] == ["run", "--rm"]
    assert {
        "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
        "--user=65534:65534", "--pids-limit=64", "--pull=never", "--entrypoint=python3",
    } < set(command[:image])  # fmt: skip
    # It can read only the modules of the sandbox from the machine, and cannot change them.
    shown = [word for word in command if word.startswith(("--volume", "--mount", "-v"))]
    assert [word.split(":")[1:] for word in shown] == [
        ["/opt/tablebench/sandbox/inside", "ro"],
        ["/opt/tablebench/util/removal.py", "ro"],
    ]
    assert command[image + 1] == "-I"
    assert "sandbox.inside.serve" in command[-1]


def test_seatbelt_allows_only_libraries_and_the_programs_folder(tmp_path: Path) -> None:
    folder = tmp_path / 'with a "quote'
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder)
    [backend] = [one for one in backends() if one.name == "seatbelt"]
    name, flag, profile, *python = backend.command(str(link))
    assert (name, flag, python[0]) == ("sandbox-exec", "-p", sys.executable)
    assert profile.startswith("(version 1)(deny default)")
    own = f'(subpath "{tmp_path.resolve()}/with a \\"quote")'
    assert f'(allow file-write* {own} (literal "/dev/null"))' in profile
    assert profile.count(own) == 2  # read and written
    assert "network" not in profile
    assert "mach" not in profile


def test_a_started_sandbox_runs_the_first_program_in_its_process() -> None:
    before = processes_started()
    sandbox = Sandbox(workers=1)
    try:
        sandbox.start()
        started = processes_started()
        assert len(started - before) == 1
        assert sandbox.run(Execute("print(1)")).output == "1\n"
        assert processes_started() == started
    finally:
        sandbox.close()


def processes_started() -> set[str]:
    """Return the processes that this one started and that still run."""
    return set(
        " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split()
    )
