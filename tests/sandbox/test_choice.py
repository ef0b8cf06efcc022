"""Which way to shut programs in is chosen, and what the escape test sees."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.errors import ModelError
from pytest_tablebench.metrics.steps import Execute
from pytest_tablebench.sandbox import Backend, Sandbox, _sandbox, backends, choose
from pytest_tablebench.sandbox._probe import ESCAPE, Tried, escapes
from pytest_tablebench.sandbox._worker import Worker
from pytest_tablebench.sandbox.inside import _seccomp

BARE = backends(unsafe=True)[-1]


def test_the_escape_test_sees_that_nothing_is_held() -> None:
    worker = Worker(BARE, warm=False)
    try:
        # The process that forks is gone, so the program's own list is; what it did is seen.
        found = {"it killed its parent", "it reached the network", "it wrote outside its folder"}
        assert set(escapes(worker)) == found
        # The same program, but for its last two lines.
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


def test_the_first_that_holds_is_used() -> None:
    def absent() -> str:
        return "it is not here"

    missing = Backend("missing", "", frozenset(), absent, BARE.command)
    tried = choose([missing, BARE, BARE])
    assert [(one.backend.name, one.why) for one in tried] == [
        ("missing", "it is not here"),
        ("bare", None),
    ]
    assert len(choose([missing, BARE, BARE], every=True)) == 3


def test_a_container_comes_first_and_no_isolation_last_and_only_when_asked_for() -> None:
    assert [one.name for one in backends()] == ["landlock", "bubblewrap", "seatbelt"]
    asked = [one.name for one in backends("image", unsafe=True)]
    assert asked == ["container", "landlock", "bubblewrap", "seatbelt", "bare"]


def test_what_does_not_start_says_why() -> None:
    broken = Backend(
        "broken",
        "",
        frozenset(),
        lambda: None,
        lambda _: [sys.executable, "-c", "raise SystemExit('no such image')"],
    )
    [tried] = choose([broken])
    assert tried.why == "it does not start: no such image"


def test_without_a_sandbox_no_program_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sandbox, "choose", lambda _: [Tried(BARE, "it is not here")])
    sandbox = Sandbox()
    for _ in range(2):
        with pytest.raises(ModelError, match="bare: it is not here") as raised:
            sandbox.run(Execute("print(1)"))
        assert raised.value.reason == "no_sandbox"
    sandbox.close()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_one_that_the_kernel_takes(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_seccomp.platform, "machine", lambda: machine)
    code = _seccomp.filter_code(123)
    instructions = [code[at : at + 8] for at in range(0, len(code), 8)]
    assert len(instructions) < 4096
    for place, instruction in enumerate(instructions):
        if instruction[0] & 0x07 == 0x05:  # a jump ends inside
            assert place + 1 + max(instruction[2], instruction[3]) < len(instructions)
    assert int.from_bytes(instructions[-1][4:], "little") == 0x7FFF0000


def test_the_command_says_what_holds(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["sandbox"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["landlock", "bubblewrap", "seatbelt"]
    used = [line.split()[0] for line in lines[:3] if line.split()[1] == "used"]
    assert len(used) == (code == 0)
    assert "cpu_s 10" in lines[-1]


def test_a_container_is_started_without_network_rights_and_places_to_write() -> None:
    command = backends("an/image:1")[0].command("")
    image = command.index("an/image:1")
    assert command[1:3] == ["run", "--rm"]
    assert {
        "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
        "--user=65534:65534", "--pids-limit=64", "--pull=never", "--entrypoint=python3",
    } < set(command[:image])  # fmt: skip
    # Nothing of the machine but this package is seen, and that cannot be written.
    [shown] = [word for word in command if word.startswith(("--volume", "--mount", "-v"))]
    assert shown.endswith("/pytest_tablebench:ro")
    assert command[image + 1] == "-I"
    assert "sandbox.inside.serve" in command[-1]


def test_seatbelt_denies_all_but_reading_libraries_and_the_programs_folder(tmp_path: Path) -> None:
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
