"""The wheel on other Pythons and with the lowest allowed dependencies.

`make test-versions` and `make test-lowest` run all of it; a usual run takes one other Python.
"""

from __future__ import annotations

import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.support.matrix import FULL, reduced
from tests.support.runs import SUITE
from tests.support.wheels import (
    ROOT,
    VERSIONS,
    build_wheel,
    execute,
    interpreter,
    make_environment,
)

pytest.importorskip("build", reason="builds the wheel with the `build` package")

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
OTHERS = [version for version in VERSIONS if version != HERE]

IMPORTS = """
import importlib, pkgutil, warnings
import pytest_tablebench

warnings.filterwarnings("error", module=r"pytest_tablebench\\b")
found = pkgutil.walk_packages(pytest_tablebench.__path__, "pytest_tablebench.")
# This module runs only inside the sandbox.
names = [module.name for module in found if module.name != "pytest_tablebench.strategies._runner"]
for name in names:
    importlib.import_module(name)
print(len(names))
"""

VERSIONS_OF = """
import json, sys
from importlib import metadata

print(json.dumps({name: metadata.version(name) for name in sys.argv[1:]}))
"""

TOOLS = ("cryptography", "hypothesis", "pytest-randomly", "pytest-rerunfailures")
"""Tools of these tests."""

LOWEST = ("litellm", "pandas", "pytest")
"""Packages whose lowest allowed version no other requirement raises."""

TESTS = (
    *(f"tests/metrics/test_{name}.py" for name in ("charts", "fin_qa", "treb", "typed_languages")),
    "tests/models/test_wire_contract.py",
    "tests/serializers",
    "tests/tables",
)
"""Tests in which libraries do the work; litellm makes all calls in releases that are not tested."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def measured(python: Path | str, folder: Path) -> tuple[dict[str, Any], str]:
    """Run twenty cases with the built-in model; return records by case id, and the figures."""
    folder.mkdir()
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    done = execute(
        python, "-m", "pytest", "test_suite.py", "--bench-limit", "5",
        "--bench-serializer", "csv,df,html,json",
        "--bench-perturbation", "none", "--bench-results", "run", "-p", "no:cacheprovider",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines = (folder / "run/records.jsonl").read_text(encoding="utf-8").splitlines()
    records = {record["case_id"]: record for record in map(json.loads, lines)}
    assert len(records) == 20
    for record in records.values():
        del record["latency_s"]
    assert (folder / "run/report.html").exists()
    return records, (folder / "run/summary.json").read_text(encoding="utf-8")


def imported(python: Path, folder: Path) -> None:
    """Import every module; a warning in our modules is an error."""
    done = execute(python, "-c", IMPORTS, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 400


@pytest.mark.parametrize("version", reduced(OTHERS, "another"))
def test_another_python_gives_the_same_records(version: str, wheel: Path, tmp_path: Path) -> None:
    versions = OTHERS if version == "another" else [version]
    interpreter_path = next(filter(None, map(interpreter, versions)), None)
    if interpreter_path is None:
        pytest.skip(f"not installed: Python {' or '.join(versions)}")
    python = make_environment(
        tmp_path / "venv", interpreter_path, "--constraint", ROOT / "constraints.txt", wheel
    )
    imported(python, tmp_path)
    theirs, ours = measured(python, tmp_path / "its"), measured(sys.executable, tmp_path / "own")
    assert theirs == ours


def lowest_versions() -> dict[str, str]:
    """Return the lower bounds in pyproject.toml of the packages in `LOWEST`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = map(Requirement, project["dependencies"])
    return {
        requirement.name: bound.version
        for requirement in requirements
        if requirement.name in LOWEST
        for bound in requirement.specifier
        if bound.operator == ">="
    }


@pytest.mark.skipif(not FULL, reason="`make test-lowest` runs it: four minutes")
def test_the_lowest_dependencies_give_the_same_records(wheel: Path, tmp_path: Path) -> None:
    interpreter_path = interpreter("3.11")
    if interpreter_path is None:
        pytest.skip("not installed: Python 3.11")
    tools = [f"{name}=={metadata.version(name)}" for name in TOOLS]
    # uv takes the lowest versions of requirements that are named to it, not of a wheel's.
    python = make_environment(
        tmp_path / "venv", interpreter_path, "--resolution", "lowest-direct",
        "--requirement", ROOT / "pyproject.toml", "--extra", "benchmarks", wheel, *tools,
    )  # fmt: skip
    done = execute(python, "-c", VERSIONS_OF, *LOWEST, cwd=tmp_path)
    installed = {name: Version(text) for name, text in json.loads(done.stdout).items()}
    assert installed == {name: Version(text) for name, text in lowest_versions().items()}
    imported(python, tmp_path)
    theirs, _ = measured(python, tmp_path / "its")
    assert theirs == measured(sys.executable, tmp_path / "own")[0]
    done = execute(
        python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, cwd=ROOT, seconds=1800
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    versions = ", ".join(f"{name} {version}" for name, version in installed.items())
    sys.stdout.write(f"{versions}: {done.stdout.splitlines()[-1]}\n")
