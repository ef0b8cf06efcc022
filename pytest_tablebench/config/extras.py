"""Checks for packages that only an extra installs."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from pytest_tablebench.errors import SettingsError, missing_package

PICTURES = ("PIL", "arabic_reshaper", "bidi", "fontTools")
"""Modules that draw tables as pictures."""

PLOTS = ("matplotlib",)
"""Modules that draw the figures of reports."""


def require(modules: Iterable[str], subject: str, *, extra: str = "benchmarks") -> None:
    """Raise `SettingsError` if a subject needs modules that are not installed."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise SettingsError(missing_package(subject, " and ".join(missing), extra))
