"""The content of the wheel, and runs of the installed package without the checkout."""

from __future__ import annotations

import configparser
import json
import os
import re
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from tests.support.wheels import ROOT, build_wheel, execute

pytest.importorskip("build", reason="builds the wheel with the `build` package")
pytest.importorskip("hatchling", reason="builds the wheel with hatchling, without isolation")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_contains_only_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [points] = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        entries = configparser.ConfigParser()
        entries.read_string(archive.read(points).decode())
        described = archive.read(metadata).decode()
        for name in ("tables", "questions"):
            path = f"pytest_tablebench/datasets/starter/{name}.jsonl"
            packed = archive.read(path)
            assert packed == (ROOT / path).read_bytes()
    assert dict(entries["pytest11"]) == {"tablebench": "pytest_tablebench.plugin"}
    assert dict(entries["console_scripts"]) == {"tablebench": "pytest_tablebench.cli:main"}
    assert re.search(r"^Name: pytest-tablebench$", described, re.M)

    suites = {path.name for path in (ROOT / "suites").glob("*.py")}
    assert {"__init__.py", "test_starter.py", "test_torr.py"} <= suites
    assert {f"pytest_tablebench/suites/{name}" for name in suites} <= set(names)
    assert "pytest_tablebench/py.typed" in names
    # The wheel contains every module of the package.
    modules = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "pytest_tablebench").rglob("*.py")
    }
    assert modules <= set(names)

    info = points.split("/")[0]
    assert {name.split("/")[0] for name in names} == {"pytest_tablebench", info}
    assert len(names) == len(set(names))
    for name in names:
        assert "__pycache__" not in name
        assert "/tests/" not in name
        # Tables of the benchmarks are downloaded, because their licences differ. Published figures
        # are no data of a benchmark.
        if re.fullmatch(r"pytest_tablebench/papers/\w+\.csv", name):
            continue
        ours = name.startswith("pytest_tablebench/")
        code, data = (".py", ".css", ".js", ".html", ".j2"), (".jsonl", ".json", ".toml", ".csv")
        allowed = (*code, *data, ".typed")
        fonts = "pytest_tablebench/serializers/picture/fonts/"
        assert not ours or name.endswith(allowed) or name.startswith(fonts), name
        if name.endswith((".jsonl", ".csv")):
            # Written for this project.
            written_here = (
                *("datasets/starter/", "datasets/treb/instructions.jsonl"),
                "datasets/folder/example/",
            )
            assert name.removeprefix("pytest_tablebench/").startswith(written_here), name


def test_the_metadata_of_the_wheel_equals_pyproject(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        # Raises for fields that are unknown or wrong by the packaging specifications.
        described = Metadata.from_email(archive.read(name), validate=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert str(described.version) == project["version"]
    assert wheel.name == f"pytest_tablebench-{project['version']}-py3-none-any.whl"
    assert str(described.requires_python) == project["requires-python"]
    assert described.license_expression == "MIT"
    assert described.license_files == ["LICENSE"]
    assert described.description_content_type == "text/markdown"
    assert described.description == (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(described.provides_extra or ()) == set(project["optional-dependencies"])
    requirements = {Requirement(text) for text in project["dependencies"]}
    assert {each for each in described.requires_dist or () if each.marker is None} == requirements
    for each in requirements:
        assert each.specifier, f"{each.name}: no lower bound, so the oldest release would do"


def test_the_source_distribution_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    done = execute(
        sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, ROOT, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
    [source] = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert tops == {
        *("pytest_tablebench", "suites", "tests", "README.md", "LICENSE", "CHANGELOG.md"),
        *("pyproject.toml", "PKG-INFO", ".gitignore"),
    }


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and the dependencies of this one."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home, with_pip=False, symlinks=os.name == "posix")
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    where = execute(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home
    )
    site = Path(where.stdout.strip())
    assert site.is_relative_to(home)
    # The packages of the environment come first on the path. `addsitedir` would also run the .pth
    # files of this one, and with them the editable installation of the checkout.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    done = execute(
        python, "-m", "pip", "install", "--no-deps", "--no-index", "--force-reinstall",
        "--ignore-installed", "--disable-pip-version-check", wheel, cwd=home,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return python


def test_the_installed_package_is_imported(installed: Path, tmp_path: Path) -> None:
    done = execute(
        installed,
        "-c",
        "import pytest_tablebench, pytest_tablebench.suites as s, importlib.metadata as m;"
        "print(pytest_tablebench.__file__); print(s.__file__);"
        "print(m.distribution('pytest-tablebench').locate_file('.'))",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    home = installed.parents[1]
    assert all(Path(line).is_relative_to(home) for line in done.stdout.splitlines())


def test_the_suites_run_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    empty, data = tmp_path / "empty", tmp_path / "data"
    empty.mkdir()
    data.mkdir()
    done = execute(
        installed, "-m", "pytest", "--bench-limit", "1", "--bench-data", data,
        "-p", "no:cacheprovider", "-rs", cwd=empty,
    )  # fmt: skip
    # The built-in model may be wrong in some configurations.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "starter" in done.stdout
    lines = done.stdout.splitlines()
    [line] = [text for text in lines if text.startswith("skipped, no data: ")]
    command = installed.with_name("tablebench")
    assert f"more datasets (`{command} list` has the command for each)" in line
    for dataset in ("wikitq", "tabfact"):
        assert f"tablebench pull {dataset} --bench-data={data}" in done.stdout  # by -rs
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "suites").glob("test_*.py")]
    suites = re.findall(
        r'^@pytest\.mark\.tablebench\("(?!starter)|benchmark=', "".join(texts), re.M
    )
    assert len(suites) >= 2
    assert f"{len(suites)} skipped" in done.stdout
    [entry] = list(empty.iterdir())
    assert entry.name == "tablebench-results"
    [run] = list(entry.iterdir())
    records = (run / "records.jsonl").read_text(encoding="ascii").splitlines()
    assert len(records) == 3 * 35
    assert {json.loads(line)["benchmark"] for line in records} == {
        *("starter", "starter_skills", "starter_zh")
    }
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert (facts["status"], facts["exit_code"]) == ("complete", done.returncode)


def test_the_command_is_installed(installed: Path, tmp_path: Path) -> None:
    command = installed.parent / ("tablebench.exe" if os.name == "nt" else "tablebench")
    assert command.is_file()
    done = execute(command, "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "tablebench" in done.stdout
