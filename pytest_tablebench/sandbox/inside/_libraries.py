"""The libraries that a program may import: list, places, and import."""

from __future__ import annotations

import csv
import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import (
    Distribution,
    DistributionFinder,
    PackageNotFoundError,
    PathDistribution,
    distribution,
)
from pathlib import Path
from typing import Any

__all__ = ["LIBRARIES", "Installed", "installed", "only_import"]


LIBRARIES = {
    "numpy": "numpy",
    "pandas": "pandas",
    "matplotlib": "matplotlib.pyplot",
    "duckdb": "duckdb",
    "openpyxl": "openpyxl",
    "beautifulsoup4": "bs4",
    **dict.fromkeys(("html5lib", "jinja2", "lxml", "scikit-learn", "scipy", "seaborn"), ""),
    **dict.fromkeys(("statsmodels", "sympy", "tabulate"), ""),
}
"""The distributions that programs may import with all that they require, by their names on PyPI.

Each with the module that is imported once, before any program, or "". One that is not installed is
left out.
"""

_ANY = DistributionFinder.Context()
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Installed:
    """Libraries as they are on this machine.

    Arguments:
        paths: their files and folders.
        modules: by the name of each top-level module, its file (None for a namespace package) and
            the folders of its submodules (None for a plain module).
    """

    paths: tuple[str, ...]
    modules: Mapping[str, tuple[str | None, Sequence[str] | None]]


def installed(names: Iterable[str] = LIBRARIES) -> Installed:
    """Return the libraries that are installed, with what they require."""
    paths: dict[str, None] = {}
    modules: dict[str, tuple[str | None, Sequence[str] | None]] = {}
    for package in _required(names):
        site = os.path.abspath(str(package.locate_file("")))
        for entry in _top_level(package):
            path = os.path.join(site, entry)
            if not os.path.exists(path):
                continue
            paths[path] = None
            name = entry.partition(".")[0]
            spec = PathFinder.find_spec(name, [site]) if name.isidentifier() else None
            if spec is not None:
                modules[name] = _location(spec)
    return Installed(tuple(paths), modules)


def _required(names: Iterable[str]) -> list[Distribution]:
    """Return the installed distributions of these names and of all that they require."""
    seen: dict[str, Distribution | None] = {}
    todo = list(names)
    while todo:
        name = _normal(todo.pop())
        if name in seen:
            continue
        try:
            seen[name] = package = distribution(name)
        except PackageNotFoundError:
            seen[name] = None
            continue
        for requirement in package.requires or ():
            match = _NAME.match(requirement)
            if match is not None and "extra" not in requirement.partition(";")[2]:
                todo.append(match.group())
    return [package for package in seen.values() if package is not None]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _top_level(package: Distribution) -> set[str]:
    """Return the names of a distribution's files and folders in the folder it is installed in."""
    record = package.read_text("RECORD")
    if record is None:  # as Linux distributions install
        names = (package.read_text("top_level.txt") or package.metadata["Name"] or "").split()
        return {entry for name in names for entry in (name, f"{name}.py")}
    tops = {row[0].partition("/")[0] for row in csv.reader(record.splitlines()) if row}
    return {top for top in tops if top not in {"", "..", "__pycache__"} and top[-4:] != ".pth"}


def _location(spec: ModuleSpec) -> tuple[str | None, Sequence[str] | None]:
    folders = spec.submodule_search_locations
    return (
        spec.origin if spec.has_location else None,
        None if folders is None else [str(folder) for folder in folders],
    )


def only_import(
    modules: Mapping[str, tuple[str | None, Sequence[str] | None]], paths: Iterable[str]
) -> None:
    """Restrict imports of this process to the standard library and these top-level modules.

    `paths` are the libraries' files, for `importlib.metadata`. The modules are imported without
    listing the folders that contain them, which programs may not do.
    """
    sites = ("site-packages", "dist-packages")
    sys.path[:] = [path for path in sys.path if os.path.basename(path) not in sites]
    standard = {}
    for module in pkgutil.iter_modules(sys.path):
        spec = PathFinder.find_spec(module.name, sys.path)
        if spec is not None:
            standard[module.name] = _location(spec)
    metadata_folders = [Path(path) for path in paths if path.endswith(".dist-info")]
    sys.meta_path.append(_Finder({**modules, **standard}, metadata_folders))


class _Finder(DistributionFinder):
    """Finds top-level modules in a table; `importlib` calls it after its own finders."""

    def __init__(
        self,
        modules: Mapping[str, tuple[str | None, Sequence[str] | None]],
        metadata_folders: Sequence[Path],
    ) -> None:
        self._modules = modules
        self._about = [PathDistribution(path) for path in metadata_folders]

    def find_distributions(
        self, context: DistributionFinder.Context = _ANY
    ) -> Iterable[Distribution]:
        """Return the libraries of a name, or all of them, for `importlib.metadata`."""
        name = context.name
        return [
            package
            for package in self._about
            if name is None or _normal(package.metadata["Name"]) == _normal(name)
        ]

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return where a top-level module is; None for all others."""
        del target
        if path is not None or name not in self._modules:
            return None
        origin, folders = self._modules[name]
        inner = None if folders is None else list(folders)
        if origin is not None:
            return importlib.util.spec_from_file_location(
                name, origin, submodule_search_locations=inner
            )
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = inner
        return spec
