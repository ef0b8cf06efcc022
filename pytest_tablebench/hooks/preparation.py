"""Checks of the names in the options, before and after collection.

Names may be registered in conftest files, and pytest reads the deeper ones only during collection.
Names from the command line are checked early if no unread conftest.py could register them. Names
from a configuration file are checked after collection, and may concern other parts of the project.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.util.names import known_names, printable

if TYPE_CHECKING:
    from pytest_tablebench.session.base import Session


def check_keys(config: pytest.Config) -> None:
    """Raise `SettingsError` for an unknown `bench_` key in the configuration file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pytest plans to remove `inicfg`
        keys = [key for key in getattr(config, "inicfg", ()) if key.startswith("bench_")]
    option_keys = [option.key for option in OPTIONS]
    for key in keys:
        try:
            config.getini(key)  # succeeds for another plugin's key
        except ValueError:
            if key not in option_keys:
                shown = printable(key, 60)
                file = config.inipath.name if config.inipath is not None else "the configuration"
                raise SettingsError(
                    f"unknown key {shown!r} in {file}; {known_names(key, option_keys)}"
                ) from None


def may_be_registered_below(config: pytest.Config, folders: Iterable[Path] | None = None) -> bool:
    """Return whether folders, by default the session's, contain a conftest.py that was not read.

    Walks through all the folders, so call it only for an unknown name.
    """
    if folders is None:
        start = config.invocation_params.dir
        folders = [start / argument.partition("::")[0] for argument in config.args]
    read = {
        Path(plugin.__file__).resolve()
        for plugin in config.pluginmanager.get_plugins()
        if getattr(plugin, "__file__", None)
    }
    skipped = config.getini("norecursedirs")
    for folder in folders:
        for place, below, files in os.walk(folder):
            below[:] = [
                name
                for name in below
                if not any(fnmatch(name, pattern) for pattern in skipped)
                and not Path(place, name, "pyvenv.cfg").exists()
            ]
            if "conftest.py" in files and Path(place, "conftest.py").resolve() not in read:
                return True
    return False


def check_given_names(session: Session) -> None:
    """Raise `SettingsError` for an unknown name in the options, before collection.

    Does not raise if an unread conftest.py may still register the name.
    """
    try:
        session.check_names()
    except UnknownNameError as error:
        if not may_be_registered_below(session.config):
            raise _hinted(session.config, error) from None


def check_names(session: Session) -> None:
    """Raise `SettingsError` for an unknown name in the options, after collection.

    A name in the configuration file is accepted if a conftest.py of another part of the project,
    which this session does not read, may register it.
    """
    config = session.config
    session.registry.update(config.hook)
    try:
        return session.check_names()
    except UnknownNameError:
        if not may_be_registered_below(config, [config.rootpath]):
            raise
    try:
        session.check_names({option.key for option in OPTIONS} - session.settings.command_line_keys)
    except UnknownNameError as error:
        raise _hinted(config, error) from None


def _hinted(config: pytest.Config, error: SettingsError) -> SettingsError:
    """Return the error, with a hint if the project has a conftest.py that was not read."""
    if not may_be_registered_below(config, [config.rootpath]):
        return error
    return SettingsError(
        f"{error}; if a conftest.py registers it, pass that file's folder to pytest"
    )
