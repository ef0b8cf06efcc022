"""Rooms import only public names; class names are unique and variables have clear names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pytest_tablebench"

ROOMS = [
    "results",
    "reports",
    "papers",
    "session",
    "hooks",
    "plugin",
    "registry",
    "cli",
    "commands",
    "audit",
    "interchange",
    "config",
    "store",
    "errors",
    "executors",
    "datasets",
    "generate",
    "sandbox",
    "util",
    "tables",
    "serializers",
    "metrics",
    "models",
    "strategies",
    "running",
]
"""Rooms that these tests check."""

# fmt: off
VAGUE = frozenset({
    "found", "one", "own", "told", "said", "asked", "wanted", "given", "known", "way", "what",
    "who", "here", "there",
})
# fmt: on
"""Names that do not say what the variable contains."""


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module, by its dotted name below the package."""
    modules = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = ast.parse(path.read_text(encoding="utf-8"))
    return modules


def room_of(module: str) -> str:
    return module.partition(".")[0]


def imported_names(tree: ast.Module) -> Iterator[str]:
    """Yield the modules and names that a module imports from the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        prefix = f"{PACKAGE.name}."
        yield from (name.removeprefix(prefix) for name in names if name.startswith(prefix))


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def bound_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of each variable and argument."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def test_rooms_import_only_public_names_of_each_other() -> None:
    private = {
        f"{module} imports {name}"
        for module, tree in trees().items()
        for name in imported_names(tree)
        if room_of(name) != room_of(module) and is_private(name)
    }
    assert private == set()


@pytest.mark.parametrize("room", ROOMS)
def test_class_names_are_unique(room: str) -> None:
    places: dict[str, list[str]] = {}
    for module, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(module)
    shared = {
        name: modules
        for name, modules in places.items()
        if len(modules) > 1 and room in map(room_of, modules)
    }
    assert shared == {}


@pytest.mark.parametrize("room", ROOMS)
def test_no_variable_has_a_vague_name(room: str) -> None:
    vague = [
        f"{module}:{line} {name}"
        for module, tree in trees().items()
        if room_of(module) == room
        for line, name in bound_names(tree)
        if name in VAGUE
    ]
    assert vague == []
