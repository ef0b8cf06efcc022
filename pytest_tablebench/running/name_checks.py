"""Check names in options."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_tablebench.errors import UnknownNameError
from pytest_tablebench.util.names import unknown_name


def check_names(
    kind: str, names: Iterable[str] | None, choices: Iterable[str], place: str = ""
) -> None:
    """Raise `UnknownNameError` for the first name that is not among the choices.

    The message starts with `place`: the option or the dataset that contains the names.
    """
    choices = dict.fromkeys(choices)
    for name in names or ():
        if name not in choices:
            message = unknown_name(kind, name, choices)
            raise UnknownNameError(f"{place}: {message}" if place else message)
