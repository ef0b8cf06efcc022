"""The two modes of metrics and prompts."""

from __future__ import annotations

from typing import Literal, get_args

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import unknown_name

Compat = Literal["fixed", "reference"]
"""`fixed`: our corrected definition; `reference`: the published code's, exactly."""

COMPAT_MODES: tuple[Compat, ...] = get_args(Compat)


def check_compat(compat: str) -> Compat:
    """Return the mode of a text. Raises `SettingsError` for another text."""
    for mode in COMPAT_MODES:
        if compat == mode:
            return mode
    raise SettingsError(unknown_name("compat mode", compat, COMPAT_MODES))
