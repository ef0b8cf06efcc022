"""The package as a wheel, and environments with it: other Pythons, other dependencies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runs import environment

ROOT = Path(__file__).resolve().parents[2]

WHEEL = "python -m pip wheel --no-deps --wheel-dir dist ."
"""The command of the README that builds the package."""

VERSIONS = ("3.14", "3.13", "3.12", "3.11")
"""Newest first."""

_UNREACHABLE = ("failed to fetch", "dns error", "could not connect", "error sending request")


def execute(
    *command: str | Path, cwd: Path, seconds: float = 240
) -> subprocess.CompletedProcess[str]:
    """Run a program in a clean environment and capture its output."""
    variables = {name: value for name, value in environment(None).items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=seconds,
        check=False,
    )


def build_wheel(folder: Path, source: Path = ROOT) -> Path:
    """Build the wheel of a source tree as the README says, with the installed tools."""
    _, *words = WHEEL.split()
    words[-2:] = [str(folder / "dist"), str(source)]
    options = ["--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    done = execute(sys.executable, *words, *options, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    [path] = folder.glob("dist/*.whl")
    return path


def interpreter(version: str) -> Path | None:
    """Return an installed Python of a version such as 3.12; None without one."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [str(path) for path in pyenv.glob(f"versions/{version}.*/bin/python")]
    if on_path := shutil.which(f"python{version}"):
        candidates.append(on_path)
    for path in candidates:
        command = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:  # pyenv may have a shim without its Python
            return Path(path)
    return None


def make_environment(folder: Path, python: Path | str, *requirements: str | Path) -> Path:
    """Return the interpreter of a new environment, made by uv; skip without a package index."""
    uv = pytest.importorskip("uv", reason="uv makes environments in seconds").find_uv_bin()
    made = execute(uv, "venv", "--quiet", "--python", python, folder, cwd=folder.parent)
    assert made.returncode == 0, made.stderr
    python_path = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = execute(
        uv, "pip", "install", "--quiet", "--python", python_path, *requirements,
        cwd=folder.parent, seconds=600,
    )  # fmt: skip
    if done.returncode and any(text in done.stderr.lower() for text in _UNREACHABLE):
        pytest.skip(f"no package index answers: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return python_path
