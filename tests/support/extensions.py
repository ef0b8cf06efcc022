"""Install the example packages of `tests/extensions`, and run pytest with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import environment

EXTENSIONS = Path(__file__).resolve().parents[1] / "extensions"


def install(target: Path, names: Iterable[str]) -> Path:
    """Install packages of `tests/extensions` into a folder, and return it.

    pip builds them with the installed hatchling, without network and isolation. It builds from a
    copy of the sources, because a build leaves files behind.
    """
    pytest.importorskip("hatchling", reason="builds the packages with hatchling, without isolation")
    built = target / "sources"
    for name in names:
        for path in (EXTENSIONS / name).iterdir():
            if path.is_file():
                copy = built / name / path.name
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--no-compile")
    done = subprocess.run(
        [*command, *offline, "--target", str(target), *map(str, sorted(built.iterdir()))],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


@dataclass(frozen=True)
class Extended:
    """A finished run of pytest with installed extensions."""

    returncode: int
    output: str
    folder: Path
    results: str = "run"

    @property
    def records(self) -> list[dict[str, Any]]:
        text = (self.folder / self.results / "records.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def facts(self) -> dict[str, Any]:
        text = (self.folder / self.results / "run.json").read_text(encoding="utf-8")
        facts: dict[str, Any] = json.loads(text)
        return facts

    @property
    def items(self) -> list[str]:
        """The ids of the collected items, from between their brackets."""
        lines = [line for line in self.output.splitlines() if line.endswith("]")]
        return [line.partition("[")[2][:-1] for line in lines]


def run_extended(installed: Path, folder: Path, *arguments: str) -> Extended:
    """Run pytest in a folder, with extensions that are installed but not named."""
    path = os.pathsep.join(filter(None, (str(installed), os.environ.get("PYTHONPATH"))))
    options = ["-pno:cacheprovider", "--bench-results=run", "--bench-store=none", "--bench-no-page"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=folder,
        env=environment(None) | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Extended(done.returncode, done.stdout + done.stderr, folder)
