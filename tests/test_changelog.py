"""CHANGELOG.md: the version has a section, and the fragments of the next one are well-formed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
FRAGMENTS = ROOT / "changelog.d"

pytestmark = pytest.mark.skipif(not FRAGMENTS.exists(), reason="no checkout: changelog.d is absent")


def fragments() -> dict[str, str]:
    found = [path for path in FRAGMENTS.iterdir() if path.name != "README.md"]
    return {path.name: path.read_text(encoding="utf-8") for path in found}


def test_this_version_has_a_section_and_every_section_is_in_order() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    titles = re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", text, re.M)
    versions = [Version(title) for title in titles]
    assert len(titles) == len(re.findall(r"^## ", text, re.M)), "a section is a version and a day"
    assert versions == sorted(set(versions), reverse=True)
    assert versions[0] == Version(project["version"])
    assert text.count("<!-- releases -->\n") == 1
    between = text.partition("<!-- releases -->\n")[2].partition("## ")[0]
    assert not between.strip(), "a change goes into a fragment in changelog.d"


def test_towncrier_makes_a_section_of_all_fragments() -> None:
    pytest.importorskip("towncrier", reason="towncrier is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "## 9.9.9 (" in done.stdout
    drafted = " ".join(done.stdout.split())
    for name, text in fragments().items():
        assert " ".join(text.split()) in drafted, name
