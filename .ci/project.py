"""Whether the project is ready for a release, and the owner of its repository.

`project.py release-check [TAG]` lists what is still to set, and exits with 1 if anything is.
`project.py owner` writes the owner that pyproject.toml names into the other files that need it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

PLACEHOLDER = "OWNER"
"""Where the owner's name belongs until it is set."""

COPIES = (
    "pyproject.toml",
    "CONTRIBUTING.md",
    ".github/CODEOWNERS",
    "docs/example-repository/requirements.txt",
    "docs/example-repository/.github/workflows/tables.yml",
    "docs/example-repository/.github/workflows/versions.yml",
)
"""Files that contain the owner's name as well; `owner` writes it there."""

BY_HAND = (
    "at the package index: a trusted publisher (workflow release.yml, environment pypi)",
    "at GitHub: an environment pypi with a reviewer, private vulnerability reports, protected tags",
    "at Read the Docs: the project imported from this repository",
)
"""What no file of the checkout shows."""


def project(root: Path = ROOT) -> dict[str, Any]:
    """Return the table `[project]` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def owner(root: Path = ROOT) -> str:
    """Return the owner of the repository, from its address in pyproject.toml."""
    address = project(root)["urls"]["Repository"]
    match = re.fullmatch(r"https://github\.com/([\w.-]+)/pytest-tablebench", address)
    if match is None:
        sys.exit(f"pyproject.toml: [project.urls] Repository is no GitHub address: {address}")
    return match[1]


def write_owner(root: Path = ROOT) -> list[str]:
    """Replace the placeholder in all copies; return the files that changed."""
    name, changed = owner(root), []
    for copy in COPIES:
        path = root / copy
        text = path.read_text("utf-8")
        if (replaced := re.sub(rf"\b{PLACEHOLDER}\b", name, text)) != text:
            path.write_text(replaced, "utf-8")
            changed.append(copy)
    return changed


def pins(path: Path) -> dict[str, str]:
    """Return the version of each package that a requirements file pins."""
    lines = re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text("utf-8"), re.M)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in lines}


def problems(tag: str | None = None, root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each thing that is still to set before `tag` can be released."""
    version = project(root)["version"]
    if tag and tag != f"v{version}":
        yield f"tag {tag}: pyproject.toml has version {version}; the tag must be v{version}"
    if owner(root) == PLACEHOLDER:
        yield "pyproject.toml: set the owner in [project.urls], then run `make owner`"
    else:
        for copy in COPIES:
            if re.search(rf"\b{PLACEHOLDER}\b", (root / copy).read_text("utf-8")):
                yield f"{copy}: run `make owner`"
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## {re.escape(version)} \(", changelog, re.M):
        command = f"towncrier build --yes --version {version}"
        yield f"CHANGELOG.md: no section for {version}; run `{command}`"
    fragments = [path for path in (root / "changelog.d").iterdir() if path.name != "README.md"]
    if fragments:
        yield f"changelog.d: {len(fragments)} changes are in no section; run towncrier"
    citation = (root / "CITATION.cff").read_text("utf-8")
    if not re.search(rf'^version: "?{re.escape(version)}"?$', citation, re.M):
        yield f"CITATION.cff: version is not {version}"
    constraints = pins(root / "constraints.txt")
    for path in sorted((root / "requirements").glob("*.txt")):
        stale = [name for name, pin in pins(path).items() if constraints.get(name, pin) != pin]
        if stale:
            yield f"requirements/{path.name}: {', '.join(stale)} differ; run `make locks`"


def main(arguments: list[str]) -> int:
    """Run one of the two commands."""
    match arguments:
        case ["owner"]:
            for changed in write_owner():
                sys.stdout.write(f"{changed}: owner is {owner()}\n")
            return 0
        case ["release-check", *rest] if len(rest) <= 1:
            listed = list(problems(next(filter(None, rest), None)))
            for line in listed:
                sys.stdout.write(f"still to set: {line}\n")
            for line in BY_HAND:
                sys.stdout.write(f"not visible from here: {line}\n")
            sys.stdout.write(f"{len(listed)} still to set\n")
            return bool(listed)
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
