"""Names of programs in commands that people paste."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from pathlib import Path

__all__ = ["program"]


@cache
def program(name: str) -> str:
    """Return how to call a program of this environment: by its name if the shell finds it.

    Otherwise by its path, as in `.venv/bin/tablebench`, where no one has activated the environment.
    """
    beside = Path(sys.executable).parent / name
    on_path = shutil.which(name)
    is_found = on_path is not None and os.path.realpath(on_path) == os.path.realpath(beside)
    if is_found or not beside.exists():
        return name
    relative = os.path.relpath(beside)
    return str(beside) if relative.startswith(os.pardir) else relative
