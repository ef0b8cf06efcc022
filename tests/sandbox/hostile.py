"""Hostile programs and the targets that they try to reach.

The targets are a secret, an answer store, a server, and the process that started the sandbox. A
program prints `ESCAPED` if it has reached one. `python -m tests.sandbox.hostile BACKEND` runs the
programs that end and prints their results as JSON, for a test as another user.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest_tablebench
from pytest_tablebench.metrics.steps import Execute, Execution, Limits
from pytest_tablebench.sandbox import Backend, backends
from pytest_tablebench.sandbox._worker import SandboxProcess
from pytest_tablebench.sandbox.inside._confine import WITHOUT_LANDLOCK
from tests.sandbox.hostile_programs import HOSTILE, START, STOPPED

PACKAGE = Path(pytest_tablebench.__file__).resolve().parent
GOLD = next((PACKAGE / "datasets" / "starter").rglob("*.json*"))

LIMITS = Limits(cpu_s=1, wall_s=1.5, memory_mib=128, output_bytes=100_000, disk_mib=8, files=20)

SECRET = "a-key-that-nobody-may-see"


@dataclass(frozen=True)
class World:
    """The targets."""

    folder: Path
    port: int

    @property
    def secret(self) -> Path:
        return self.folder / "secret"

    @property
    def store(self) -> Path:
        return self.folder / "answers.jsonl"

    def described(self) -> bytes:
        told = {
            "folder": str(self.folder),
            "secret": str(self.secret),
            "store": str(self.store),
            "home": str(self.folder),
            "port": self.port,
            "pid": os.getpid(),
            "word": SECRET,
            "package": str(PACKAGE),
            "gold": str(GOLD),
        }
        return json.dumps(told).encode()

    def harm(self, found: Execution) -> list[str]:
        """Return what a program has reached."""
        said = [line for line in found.output.splitlines() if line.startswith("ESCAPED")]
        said += ["it saw the secret"] if SECRET in found.output else []
        if self.secret.read_text("ascii") != SECRET or self.store.read_text("ascii") != "answers":
            said.append("it changed a file")
        if sorted(path.name for path in self.folder.iterdir()) != [
            ".ssh", "answers.jsonl", "secret",
        ]:  # fmt: skip
            said.append("it changed a folder")
        return said


@contextmanager
def world() -> Iterator[World]:
    """Create the targets, accessible to every user, so that only the sandbox protects them."""
    with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as server:
        made = World(Path(name), server.getsockname()[1])
        (made.folder / ".ssh").mkdir()
        made.secret.write_text(SECRET, "ascii")
        (made.folder / ".ssh/id").write_text(SECRET, "ascii")
        made.store.write_text("answers", "ascii")
        for path in (made.folder, *made.folder.rglob("*")):
            path.chmod(0o777)
        yield made
        server.settimeout(0)
        try:
            server.accept()[0].close()
        except OSError:
            return
        raise AssertionError("a program has reached the server")


@dataclass(frozen=True)
class Found:
    """The result of a hostile program."""

    outcome: str
    error: str
    harm: tuple[str, ...]
    kept: tuple[str, ...]


def attack(worker: SandboxProcess, where: World, name: str) -> Found:
    """Run a hostile program and return its result."""
    task = Execute(
        START + HOSTILE[name][1], {"world.json": where.described()}, LIMITS, keeps=("kept",)
    )
    ran = worker.run(task)
    return Found(ran.outcome, ran.error, tuple(where.harm(ran)), tuple(ran.files))


def left_behind(worker: SandboxProcess) -> list[str]:
    """Return the files in the folder of a worker's programs."""
    folder = worker.folder
    return [] if folder is None else [path.name for path in folder.iterdir()]


def all_backends() -> dict[str, Backend]:
    """Return the backends by name; bubblewrap as on a kernel without Landlock."""
    made = {one.name: one for one in backends()}
    parts = frozenset({WITHOUT_LANDLOCK})
    made["bubblewrap alone"] = replace(made["bubblewrap"], name="bubblewrap alone", parts=parts)
    return made


def main() -> None:
    backend = all_backends()[sys.argv[1]]
    worker = SandboxProcess(backend, warm=False)
    os.environ["OPENAI_API_KEY"] = SECRET
    with world() as where:
        names = [name for name, (may_be, _) in HOSTILE.items() if may_be != STOPPED]
        found = {name: asdict(attack(worker, where, name)) for name in names}
    left = left_behind(worker)
    worker.close()
    sys.stdout.write(json.dumps({"user": os.getuid(), "found": found, "left": left}))


if __name__ == "__main__":
    main()
