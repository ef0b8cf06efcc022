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
    own = Path(sys.executable).parent / name
    found = shutil.which(name)
    is_found = found is not None and os.path.realpath(found) == os.path.realpath(own)
    if is_found or not own.exists():
        return name
    relative = os.path.relpath(own)
    return str(own) if relative.startswith(os.pardir) else relative
