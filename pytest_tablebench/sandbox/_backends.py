"""The kinds of sandboxes, in the order in which they are tried.

Each starts the same process (`inside/serve.py`), which forks for each program. They differ in the
isolation of that process, and in the rights that a program's process must drop before it begins.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest_tablebench
from pytest_tablebench.sandbox.inside._folder import ReadablePaths, places
from pytest_tablebench.sandbox.inside._libraries import Installed, installed

_PACKAGE = Path(pytest_tablebench.__file__).parent
_MODULES = ("sandbox/inside", "util/removal.py")
"""All of the package that the sandbox loads."""
_IN_CONTAINER = "/opt/tablebench"
_IN_BUBBLEWRAP = "/run/tablebench-programs"
_TMP = "/tmp"  # noqa: S108 - in a container, where it is empty


@dataclass(frozen=True)
class Backend:
    """A kind of sandbox.

    Arguments:
        name: as `tablebench sandbox` shows it.
        holds: a short description.
        parts: the steps of a program's own process, in addition to the limits.
        absent: returns why this machine lacks it, or None if it may work.
        command: returns the command line of the process that forks, given the folder below which
            programs work.
        own_folder: an empty folder inside the sandbox, if programs work there.
        own_libraries: whether it has its own libraries instead of this machine's.
    """

    name: str
    holds: str
    parts: frozenset[str]
    absent: Callable[[], str | None]
    command: Callable[[str], Sequence[str]]
    own_folder: str = ""
    own_libraries: bool = False


@cache
def host_libraries() -> Installed:
    """Return the libraries of this machine that programs may import."""
    return installed()


@cache
def host_places() -> ReadablePaths:
    """Return what programs may read of this machine; never this package."""
    return places(host_libraries().paths, [str(_PACKAGE)])


def backends(container: str | None = None, *, unsafe: bool = False) -> list[Backend]:
    """Return those to try, in order.

    Arguments:
        container: the image to run programs in; None: no container.
        unsafe: whether a process with limits alone is the last resort.
    """
    candidates = [_landlock(), _bubblewrap(), _seatbelt()]
    if container is not None:
        candidates.insert(0, _container(container))
    if unsafe:
        candidates.append(_bare())
    return candidates


def _python(root: Path | str, executable: str) -> list[str]:
    """Return the command that serves, without anything of the user's environment.

    The packages above its modules are empty, so none of our other modules is loaded or readable.
    """
    start = [
        "import sys, types",
        "for name in ('', '.sandbox', '.util'):",
        "    module = sys.modules['pytest_tablebench' + name] = types.ModuleType(name)",
        f"    module.__path__ = [{str(root)!r} + name.replace('.', '/')]",
        "from pytest_tablebench.sandbox.inside.serve import main",
        "main()",
    ]
    return [executable, "-I", "-B", "-X", "utf8", "-c", "\n".join(start)]


def _interpreter(_: str = "") -> list[str]:
    # -S: no code of installed packages runs, and no folder of packages is searched.
    program, *rest = _python(_PACKAGE, sys.executable)
    return [program, "-S", *rest]


def _landlock() -> Backend:
    def absent() -> str | None:
        if sys.platform != "linux":
            return f"it is a part of Linux, and this is {platform.system()}"
        from pytest_tablebench.sandbox.inside import _landlock as landlock
        from pytest_tablebench.sandbox.inside import _seccomp as seccomp

        if landlock.version() < 1:
            return "the kernel has no Landlock, or it is switched off"
        if not seccomp.supported():
            return f"no list of system calls for {platform.machine()}"
        return None

    parts = frozenset({"landlock", "seccomp"})
    return Backend("landlock", "Landlock with seccomp, in the kernel", parts, absent, _interpreter)


def _bubblewrap() -> Backend:
    def absent() -> str | None:
        return None if shutil.which("bwrap") else "bwrap is not installed: install bubblewrap"

    def command(_: str) -> list[str]:
        places = host_places()
        # The interpreter itself: a virtual environment's is a link to it.
        program = os.path.realpath(sys.executable)
        before = [program, *places.whole]
        after = [*places.libraries, *(str(_PACKAGE / name) for name in _MODULES)]
        empty = [word for path in places.hidden for word in ("--tmpfs", path)]
        bubblewrap = shutil.which("bwrap") or "bwrap"
        sealed = [word for path in (*places.hidden, "/dev", "/") for word in ("--remount-ro", path)]
        return [
            bubblewrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
            "--tmpfs", _IN_BUBBLEWRAP, "--dev", "/dev", "--proc", "/proc",
            *_bound(before), *empty, *_bound(after), *sealed,
            "--chdir", _IN_BUBBLEWRAP, "--", program, *_interpreter()[1:],
        ]  # fmt: skip

    held = "bubblewrap: name spaces of its own, with seccomp where the kernel has it"
    return Backend("bubblewrap", held, frozenset(), absent, command, own_folder=_IN_BUBBLEWRAP)


def _bound(paths: Sequence[str]) -> list[str]:
    return [word for path in paths for word in ("--ro-bind-try", path, path)]


def _quoted(path: str) -> str:
    """Return a real path as a profile of Seatbelt quotes it."""
    return json.dumps(os.path.realpath(path), ensure_ascii=False)


def _subpaths(paths: Sequence[str]) -> str:
    return " ".join(f"(subpath {path})" for path in dict.fromkeys(map(_quoted, paths)))


def _seatbelt() -> Backend:
    def absent() -> str | None:
        if sys.platform != "darwin":
            return f"it is a part of macOS, and this is {platform.system()}"
        return None if shutil.which("sandbox-exec") else "sandbox-exec is not installed"

    def command(folder: str) -> list[str]:
        places = host_places()
        folders = [*places.whole, sys.prefix, sys.base_prefix, "/System", "/usr/lib"]
        sites = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
        hidden = _subpaths([str(_PACKAGE), *places.hidden, *sites])
        after = [*places.libraries, *(str(_PACKAGE / name) for name in _MODULES), folder]
        # It compares real paths, and macOS has folders for temporary files behind links.
        program, base, job_folder = map(_quoted, (sys.executable, sys.base_prefix, folder))
        profile = (
            "(version 1)(deny default)(allow process-fork)(allow sysctl-read)"
            f"(allow file-read-metadata)(allow file-read* {_subpaths(folders)} "
            '(literal "/dev/null") (literal "/dev/urandom") (literal "/"))'
            # The last rule that fits a path decides.
            f"(deny file-read-data {hidden})(allow file-read* {_subpaths(after)})"
            f'(allow file-write* (subpath {job_folder}) (literal "/dev/null"))'
            f"(allow process-exec (literal {program}) (subpath {base}))"
            "(allow signal (target self) (target children))"
        )
        return ["sandbox-exec", "-p", profile, *_interpreter()]

    return Backend("seatbelt", "Seatbelt, in macOS", frozenset(), absent, command)


def _container(image: str) -> Backend:
    def engine() -> str | None:
        return next(filter(None, map(shutil.which, ("podman", "docker"))), None)

    def absent() -> str | None:
        return None if engine() else "neither podman nor docker is installed"

    def command(_: str) -> list[str]:
        return [
            engine() or "docker", "run", "--rm", "--interactive", "--network=none", "--read-only",
            "--tmpfs=/tmp:rw,size=512m", "--cap-drop=ALL", "--security-opt=no-new-privileges",
            "--pids-limit=64", "--user=65534:65534", "--env=HOME=/tmp", "--env=MPLBACKEND=Agg",
            "--env=OPENBLAS_NUM_THREADS=1", "--pull=never",
            *(f"--volume={_PACKAGE / name}:{_IN_CONTAINER}/{name}:ro" for name in _MODULES),
            "--workdir=/tmp",
            "--entrypoint=python3", image, *_python(_IN_CONTAINER, "")[1:],
        ]  # fmt: skip

    held = "a container without network, with Landlock and seccomp where the kernel has them"
    return Backend(
        "container", held, frozenset(), absent, command, own_folder=_TMP, own_libraries=True
    )


def _bare() -> Backend:
    def absent() -> str | None:
        return "this system cannot fork processes" if platform.system() == "Windows" else None

    held = "NO ISOLATION: a process with limits, which can read and send what you can"
    return Backend("bare", held, frozenset({"bare"}), absent, _interpreter)
