"""Imports follow the order of rooms in docs/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pytest_tablebench"

ROOMS = [
    "extend",
    "plugin",
    "cli",
    "commands",
    "hooks",
    "session",
    "reports",
    "papers",
    "documents",
    "interchange",
    "audit",
    "claims",
    "running",
    "results",
    "strategies",
    "executors",
    "sandbox",
    "store",
    "models",
    "registry",
    "hookspecs",
    "datasets",
    "generate",
    "metrics",
    "serializers",
    "tables",
    "config",
    "errors",
    "util",
]
"""From the top down; a room imports only from rooms after it."""

UP_FOR_TYPES = {"registry", "hookspecs"}
"""Rooms that may use types from rooms above them, because they name registered objects."""


@cache
def modules() -> list[tuple[str, Path]]:
    """Return the dotted name below the package and the file of every module."""
    named = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        named.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return named


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def import_nodes(path: Path) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Return every import of a module, and whether it is for types only."""
    nodes = nodes_of(path)
    typing = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    kinds = (ast.Import, ast.ImportFrom)
    return [(node, id(node) in typing) for node in nodes if isinstance(node, kinds)]


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the room of each import from the package, and whether it is for types only."""
    for node, typing in import_nodes(path):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.module is not None and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "pytest_tablebench" and rest:
                yield rest.partition(".")[0], typing


def test_every_module_is_in_a_room() -> None:
    top = {name.partition(".")[0] for name, _ in modules()} - {""}
    assert top == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_down(room: str) -> None:
    up = {
        f"{name} imports {other}"
        for name, path in modules()
        if name.partition(".")[0] == room
        for other, typing in imports(path)
        if other in ROOMS
        and ROOMS.index(other) < ROOMS.index(room)
        and not (typing and room in UP_FOR_TYPES)
    }
    assert up == set()


def test_only_the_verdict_module_judges_gates() -> None:
    judging = {
        name
        for name, path in modules()
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"judge_gates", "cut_short", "exit_code"}
    }
    # A migration judges its own claims about two runs, not the gates of a run.
    assert judging == {"claims.verdict", "claims.migration._judge"}


def test_rooms_below_the_session_do_not_import_pytest() -> None:
    below = ROOMS[ROOMS.index("session") + 1 :]
    knows = {
        name
        for name, path in modules()
        if name.partition(".")[0] in below
        for node, _ in import_nodes(path)
        if (isinstance(node, ast.Import) and any(a.name == "pytest" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "pytest")
    }
    assert knows == set()


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return the modules that a module imports, directly or through others."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph[ahead.pop()] - reached
        reached |= new
        ahead.extend(new)
    return reached


def circles(graph: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """Return the groups of modules in which each one imports itself through the others."""
    reached = {name: reachable(graph, name) for name in graph}
    return {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }


def imported_modules(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a module imports."""
    names = {name for name, _ in modules()}
    for node, _ in import_nodes(path):
        if isinstance(node, ast.Import):
            candidates = [alias.name for alias in node.names]
        else:
            parts = path.relative_to(ROOT).with_suffix("").parts
            base = ".".join(parts[: len(parts) - node.level]) if node.level else ""
            base = ".".join(filter(None, (base, node.module)))
            candidates = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        inner = (name.partition(".")[2] for name in candidates if name.startswith(PACKAGE.name))
        yield from names.intersection(inner)


BY_NAME = {
    *("hooks.collection", "executors.local.broker", "interchange.every_eval_ever"),
    *("commands.data", "commands.generate"),
}
"""Modules that are started, or found, by their names."""


def test_a_module_that_only_its_room_imports_begins_with_an_underscore() -> None:
    files = {name: path for name, path in modules() if path.name != "__init__.py"}
    rooms: dict[str, set[str]] = {name: set() for name in files}
    for name, path in modules():
        for other in imported_modules(path):
            if other in files and other != name:
                rooms[other].add(name.partition(".")[0])
    own = {name for name, users in rooms.items() if users == {name.partition(".")[0]}}
    assert {name for name in own if "._" not in name} == BY_NAME


def test_a_circle_of_imports_is_one_group_of_modules() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}
    assert circles(graph) == {("a", "b", "c")}


def test_there_are_no_circles_of_imports() -> None:
    # An __init__ re-exports names of its modules, so it is left out.
    files = {name: path for name, path in modules() if path.name != "__init__.py"}
    graph = {
        name: {other for other in imported_modules(path) if other in files}
        for name, path in files.items()
    }
    assert sum(map(len, graph.values())) > len(graph)
    assert circles(graph) == set()
