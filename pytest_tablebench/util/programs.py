"""Names of programs in commands that a user can paste."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from pathlib import Path

__all__ = ["program"]


@cache
def program(name: str) -> str:
    """Return a program of this environment by name, or by path if the shell would not find it.

    The path, such as `.venv/bin/tablebench`, is needed if the environment is not activated.
    """
    beside = Path(sys.executable).parent / name
    on_path = shutil.which(name)
    is_found = on_path is not None and os.path.realpath(on_path) == os.path.realpath(beside)
    if is_found or not beside.exists():
        return name
    relative = os.path.relpath(beside)
    return str(beside) if relative.startswith(os.pardir) else relative
