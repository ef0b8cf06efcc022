"""Hostile programs reach no target, and the sandbox continues."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench.metrics.steps import Execute, Execution, Limits
from pytest_tablebench.sandbox import Backend, backends, choose
from pytest_tablebench.sandbox._worker import SandboxProcess
from pytest_tablebench.sandbox.inside._confine import WITHOUT_NOTICES
from tests.sandbox.hostile import (
    SECRET,
    World,
    all_backends,
    attack,
    left_behind,
    world,
)
from tests.sandbox.hostile_programs import HOSTILE, START, STOPPED
from tests.support.sandboxes import shared_sandbox

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534


@pytest.fixture(scope="module")
def backend() -> Backend:
    tried = choose(backends())
    if tried[-1].why is not None:
        pytest.skip("; ".join(f"{one.backend.name}: {one.why}" for one in tried))
    return tried[-1].backend


@pytest.fixture(scope="module")
def worker(backend: Backend) -> Iterator[SandboxProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", SECRET)
        made = SandboxProcess(backend, warm=False)
        made.start()
    yield made
    made.close()


@pytest.fixture(scope="module")
def where() -> Iterator[World]:
    with world() as made:
        yield made


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_reaches_no_target(
    name: str, worker: SandboxProcess, where: World
) -> None:
    found = attack(worker, where, name)
    assert found.harm == ()
    assert found.outcome in HOSTILE[name][0]
    assert found.kept == ()
    assert found.outcome == "ok" or found.error
    after = worker.run(Execute("print('fine')"))
    assert (after.outcome, after.output) == ("ok", "fine\n")
    assert left_behind(worker) == []


@pytest.mark.parametrize("name", ["bare", "landlock"])
def test_threads_are_counted_if_the_kernel_does_not_ask_about_them(name: str, where: World) -> None:
    made = {other.name: other for other in backends(unsafe=True)}[name]
    worker = SandboxProcess(replace(made, parts=made.parts | {WITHOUT_NOTICES}), warm=False)
    program = f"{START}{HOSTILE['fills the machine with threads'][1]}\nimport time\ntime.sleep(60)"
    ran = worker.run(Execute(program, {"world.json": where.described()}))
    worker.close()
    assert (ran.outcome, ran.error) == ("threads", "more than its limit of threads")


OTHER_WALLS = ("bubblewrap", "bubblewrap alone")


@pytest.mark.parametrize("name", OTHER_WALLS)
def test_a_hostile_program_reaches_no_target_in_bubblewrap(
    name: str, where: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    worker = SandboxProcess(present(name), warm=False)
    try:
        worker.start()
        for program, (outcomes, _) in HOSTILE.items():
            if outcomes != STOPPED:
                attacked = attack(worker, where, program)
                assert (attacked.harm, attacked.kept) == ((), ()), program
                assert attacked.outcome in outcomes, program
        # Nothing can be written outside the folder of the programs, and nothing remains in it.
        ran = worker.run(Execute(WRITES_ANYWHERE))
    finally:
        worker.close()
    assert (ran.outcome, ran.output) == ("ok", "")


WRITES_ANYWHERE = """
import os, sys
for folder in ("/", "/dev", "/dev/shm", "/tmp", "/run", "/usr/lib/python3", os.path.dirname(os.__file__)):
    try:
        with open(os.path.join(folder, "new"), "w"): print("wrote in", folder)
    except OSError: pass
try: print(*(set(os.listdir("..")) - {"program"}), end="")
except OSError: pass
"""  # noqa: E501 - a program's line


def present(name: str) -> Backend:
    """Return a backend, or skip the test if this machine lacks it."""
    backend = all_backends()[name]
    why = backend.absent() or choose([backend])[0].why
    if why is not None:
        pytest.skip(f"{name}: {why}")
    return backend


def ordinary_python() -> str | None:
    """Return a python of this version that every user can start."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin")):
        if path is not None:
            try:
                subprocess.run([path, "-I", "-c", ""], check=True, user=NOBODY, group=NOBODY)
            except OSError:
                continue
            return path
    return None


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="the other tests are an ordinary user's"
)
@pytest.mark.parametrize("name", ["landlock", *OTHER_WALLS])
def test_hostile_programs_of_an_ordinary_user_reach_no_target(name: str) -> None:
    backend = present(name)
    python = ordinary_python()
    if python is None:
        pytest.skip("no python of this version that an ordinary user may start")
    libraries = [str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))]
    done = subprocess.run(
        [python, "-B", "-m", "tests.sandbox.hostile", backend.name],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env={"PYTHONPATH": os.pathsep.join(libraries), "PATH": os.environ["PATH"]},
    )
    told = json.loads(done.stdout)
    assert told["user"] == NOBODY
    assert len(told["found"]) >= 60
    for program, found in told["found"].items():
        assert (found["harm"], found["kept"]) == ([], []), program
        assert found["outcome"] in HOSTILE[program][0], program
    assert told["left"] == []


CHART = Execute(
    "plt.bar([1, 2], [3, 4])",
    runner="import matplotlib.pyplot as plt\nexec(program)\n"
    "value = [bar.get_height() for bar in plt.gca().patches]",
)

PATCHES = """
import builtins, json, os, sys
import matplotlib.pyplot as plt
class Liar:
    patches = ()
    def __getattr__(self, name): return self
    def __call__(self, *given, **named): return self
for module in list(sys.modules.values()):
    for name in ("_report", "_run", "confine", "grown", "left", "remove", "_serve", "_send"):
        if hasattr(module, name): setattr(module, name, lambda *given, **named: None)
plt.gca = Liar()
json.dumps = json.loads = lambda *given, **named: '"a lie"'
builtins.exec = builtins.compile = builtins.open = Liar()
os.write = os._exit = os.fork = os.read = Liar()
"""


def test_a_program_that_patches_the_reading_of_values_falsifies_only_its_own(
    backend: Backend,
) -> None:
    sandbox = shared_sandbox()
    if sandbox.backend.name != backend.name:
        raise AssertionError("two sandboxes were chosen differently")
    ran = sandbox.run(Execute(PATCHES, runner=CHART.runner, limits=Limits(cpu_s=2, wall_s=4)))
    assert ran.outcome in {"ok", "error", "killed", "timeout"}
    assert ran.files == {}
    told = sandbox.run(CHART)
    assert (told.outcome, told.value, told.output) == ("ok", [3, 4], "")


def test_a_program_has_no_access_to_the_previous_program(worker: SandboxProcess) -> None:
    worker.run(Execute("open('left', 'w').close()\nimport sys\nsys.path.append('mine')"))
    ran = worker.run(Execute("import os, sys\nprint(os.listdir(), 'mine' in sys.path)"))
    assert ran.output == "[] False\n"


def test_the_results_of_a_program_are_plain_values(worker: SandboxProcess) -> None:
    runner = "import math\nvalue = {'a': [1, 2.5, math.nan, None, 'é'], 'program': program}"
    ran = worker.run(Execute("text", runner=runner))
    assert ran.outcome == "ok"
    assert repr(ran.value) == "{'a': [1, 2.5, nan, None, 'é'], 'program': 'text'}"
    ran = worker.run(Execute("", runner="value = object()"))
    assert (ran.outcome, ran.value) == ("error", None)
    assert ran.error == "TypeError: its value contains object, which JSON does not have"


def test_a_dead_process_is_replaced(backend: Backend) -> None:
    worker = SandboxProcess(backend, warm=False)
    try:
        worker.start()
        worker.kill()
        assert worker.run(Execute("print(1)")).outcome == "lost"
        again = worker.run(Execute("print(1)"))
        assert replace(again, seconds=None) == Execution("ok", "1\n")
        assert again.seconds == pytest.approx(0, abs=30)
    finally:
        worker.close()
