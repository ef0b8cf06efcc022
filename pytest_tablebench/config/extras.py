"""Packages that few runs need: an extra brings them, and messages name it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from pytest_tablebench.errors import SettingsError

PICTURES = ("PIL", "arabic_reshaper", "bidi", "fontTools")
"""What draws tables as pictures."""

PLOTS = ("matplotlib",)
"""What draws the figures of reports."""


def require(modules: Iterable[str], subject: str, *, extra: str = "benchmarks") -> None:
    """Raise `SettingsError` where modules that a subject needs are not installed."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise SettingsError(
            f"{subject} needs {' and '.join(missing)}, not installed here: "
            f'pip install "pytest-tablebench[{extra}]"'
        )
