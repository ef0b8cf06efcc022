"""From the collected items to the first call: is everything there that the run needs?

What a name means is known once pytest has read the conftest files, and it reads those below the
paths it is given only while it collects; what concerns a session is known once its tests are
selected. So whatever the command line does not ask for waits until then: a configuration file
may say much that is no matter of the session at hand.
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
    """Raise `SettingsError` for a `bench_` key of the configuration file that nobody knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pytest means to take this name away some day
        keys = [key for key in getattr(config, "inicfg", ()) if key.startswith("bench_")]
    option_keys = [option.key for option in OPTIONS]
    for key in keys:
        try:
            config.getini(key)  # another plugin's is no concern of ours
        except ValueError:
            if key not in option_keys:
                shown = printable(key, 60)
                raise SettingsError(
                    f"unknown key {shown!r} in {_file(config)}; {known_names(key, option_keys)}"
                ) from None


def _file(config: pytest.Config) -> str:
    return config.inipath.name if config.inipath is not None else "the configuration"


def may_be_registered_below(config: pytest.Config, folders: Iterable[Path] | None = None) -> bool:
    """Whether a conftest.py that pytest has not read lies below the paths of this session.

    Asked only where a name is unknown: looking for them takes a walk through the folders.

    Arguments:
        config: of the session.
        folders: where to look instead.
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


def check_given_names(config: pytest.Config, session: Session) -> None:
    """Raise `SettingsError` for a name in the options that nobody can register any more.

    Called before anything is collected: a conftest.py that pytest has not read may still come.
    """
    try:
        session.check_names()
    except UnknownNameError as error:
        if not may_be_registered_below(config):
            raise _hinted(config, error) from None


def check_names(config: pytest.Config, session: Session) -> None:
    """Raise `SettingsError` for a name in the options that nobody registered.

    To be called when the tests are collected. A name of the configuration file may belong to
    another part of the project, whose conftest.py this session does not read.
    """
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
    """Return the error, with a word on the conftest files that this session does not read."""
    if not may_be_registered_below(config, [config.rootpath]):
        return error
    return SettingsError(
        f"{error}; where a conftest.py registers it, give pytest the folder of that"
    )
