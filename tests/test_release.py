"""The release check, the built package, and files that hosts read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.file_schemas import check_schema
from tests.support.scripts import load_script

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / ".ci" / "project.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="no checkout: .ci is absent")

SCHEMAS = {
    ".github/dependabot.yml": "vendor.dependabot",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    ".github/ISSUE_TEMPLATE/wrong-verdict.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/bug.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/benchmark.yml": "vendor.github-issue-forms",
    ".readthedocs.yaml": "vendor.readthedocs",
    "CITATION.cff": "vendor.citation-file-format",
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script(SCRIPT, "project")


@pytest.fixture
def project(script: ModuleType, tmp_path: Path) -> Path:
    """Return a project that is ready for the release of version 2.0.0."""
    for name in ("pyproject.toml", "CITATION.cff", "constraints.txt", *script.COPIES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    for name, pattern, line in (
        ("pyproject.toml", r'^version = ".*"$', 'version = "2.0.0"'),
        ("CITATION.cff", r"^version: .*$", "version: 2.0.0"),
    ):
        path = tmp_path / name
        path.write_text(re.sub(pattern, line, path.read_text("utf-8"), flags=re.M), "utf-8")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 2.0.0 (2030-01-01)\n", "utf-8")
    (tmp_path / "changelog.d").mkdir()
    return tmp_path


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_the_owner_is_copied_from_one_file_into_the_others(
    script: ModuleType, project: Path
) -> None:
    address = "https://github.com/{}/pytest-tablebench"
    if script.owner(project) == script.PLACEHOLDER:
        [problem] = script.problems("v2.0.0", project)
        assert problem.startswith("pyproject.toml: set the owner in [project.urls]")
    else:
        replace(project / "pyproject.toml", script.owner(project), script.PLACEHOLDER)
    repository = f'Repository = "{address.format(script.PLACEHOLDER)}"'
    replace(project / "pyproject.toml", repository, f'Repository = "{address.format("acme")}"')
    unwritten = [problem.partition(":")[0] for problem in script.problems("v2.0.0", project)]
    assert script.write_owner(project) == unwritten
    assert unwritten
    assert list(script.problems("v2.0.0", project)) == []
    assert "acme/pytest-tablebench/.github/workflows/model-gate.yml@COMMIT" in (
        project / "docs/example-repository/.github/workflows/tables.yml"
    ).read_text("utf-8")


def test_the_release_check_names_everything_that_is_missing(
    script: ModuleType, project: Path
) -> None:
    replace(project / "pyproject.toml", script.owner(project), "acme")
    script.write_owner(project)
    replace(project / "CHANGELOG.md", "2.0.0", "1.9.0")
    (project / "changelog.d" / "+more.feature.md").write_text("More.\n", "utf-8")
    replace(project / "CITATION.cff", "version: 2.0.0", "version: 1.9.0")
    pins = script.pins(project / "constraints.txt")
    replace(project / "constraints.txt", f"pytest=={pins['pytest']}\n", "pytest==1.0\n")
    problems = list(script.problems("v2.0.1", project))
    assert [problem.partition(":")[0] for problem in problems] == [
        "tag v2.0.1", "CHANGELOG.md", "changelog.d", "CITATION.cff",
        "requirements/runs.txt", "requirements/tests.txt",
    ]  # fmt: skip
    assert problems[-1].endswith("pytest differ; run `make locks`")


def test_every_locked_package_has_digests_and_the_version_of_the_constraints(
    script: ModuleType,
) -> None:
    constraints = script.pins(ROOT / "constraints.txt")
    for name in ("runs", "tests", "uv"):
        path = ROOT / "requirements" / f"{name}.txt"
        blocks = re.split(r"^(?=\w)", path.read_text("utf-8"), flags=re.M)[1:]
        assert blocks
        assert [block for block in blocks if not re.search(r"--hash=sha256:\w{64}", block)] == []
        pins = script.pins(path)
        assert len(pins) == len(blocks)
        assert {name: pin for name, pin in pins.items() if constraints.get(name, pin) != pin} == {}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_follows_the_schema_of_its_reader(name: str) -> None:
    check_schema(ROOT / name, SCHEMAS[name])


@pytest.mark.skipif(os.name == "nt", reason="the release is built by a shell script")
def test_the_package_is_built_and_installed_in_an_empty_environment(tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx", reason="cyclonedx-bom is not installed")
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode != 0:
        pytest.skip("no git checkout")
    for name in listing.stdout.splitlines():
        if not name.startswith("tests/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    done = subprocess.run(
        [tmp_path / ".ci" / "dist", sys.executable],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        check=False,
    )
    if "dns error" in done.stderr or "Could not find a version" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 cases" in done.stdout
    assert "The gate holds." in done.stdout
    assert {path.suffix for path in (tmp_path / "dist").iterdir()} == {".whl", ".gz"}
    components = json.loads((tmp_path / "build" / "sbom.json").read_text("utf-8"))["components"]
    assert {"litellm", "pytest", "syrupy"} <= {component["name"] for component in components}
    assert all(component["version"] for component in components)


def test_the_screenshots_show_the_current_report() -> None:
    module = load_script(ROOT / "docs" / "screenshots.py", "screenshots")
    facts = json.loads(module.FACTS.read_text("utf-8"))
    assert facts["sources"] == module.digest(), "the report has changed: run `make screenshots`"
    for name in ("terminal.svg", "page.png", "page-dark.png"):
        assert (module.FOLDER / name).stat().st_size > 10_000
