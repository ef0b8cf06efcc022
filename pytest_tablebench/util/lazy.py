"""Packages whose names are imported at first use, so that importing the package is cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def lazily(package: str) -> Callable[[str], Any]:
    """Return a package's `__getattr__`, which imports names of its `if TYPE_CHECKING:` block.

    `package` is its `__name__`. The block contains `from MODULE import NAME, ...` only.
    """

    @cache
    def homes() -> dict[str, str]:
        """Return the module of each name."""
        import ast
        import inspect

        tree = ast.parse(inspect.getsource(sys.modules[package]))
        blocks = [node for node in tree.body if isinstance(node, ast.If)]
        imports = [node for block in blocks for node in block.body]
        return {
            alias.name: str(node.module)
            for node in imports
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def find(name: str) -> Any:
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes()[name]), name)

    return find
