"""Runs programs that models wrote, isolated as far as this machine allows.

docs/sandbox.md describes each kind of sandbox, and what a program may use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.sandbox._backends import Backend, backends
    from pytest_tablebench.sandbox._sandbox import Sandbox, choose

__all__ = ["Backend", "Sandbox", "backends", "choose"]

__getattr__ = lazily(
    __name__,
    {"_backends": ("Backend", "backends"), "_sandbox": ("Sandbox", "choose")},
)
