"""A sandbox that all tests of a process share, so that its libraries are loaded once."""

from __future__ import annotations

import atexit
from functools import cache

from pytest_tablebench.sandbox import Sandbox


@cache
def shared_sandbox() -> Sandbox:
    """Return the sandbox, which ends with the process."""
    made = Sandbox(workers=1)
    atexit.register(made.close)
    return made
