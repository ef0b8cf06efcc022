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

import pytest

from pytest_tablebench.config.option_spelling import singular
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.session.base import Session
from pytest_tablebench.util.names import known_names


def check_keys(config: pytest.Config) -> None:
    """Raise `SettingsError` for an unknown or empty `bench_` key in the configuration file.

    `-o bench_gate=` on the command line removes the gates of the file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pytest plans to remove `inicfg`
        values = {
            key: value
            for key, value in getattr(config, "inicfg", {}).items()
            if key.startswith(("bench_", "bench-"))
        }
    file = config.inipath.name if config.inipath is not None else "the configuration"
    options = {option.key: option for option in OPTIONS}
    for key in values.keys() & options.keys() - _overridden(config):
        texts = values[key] if isinstance(values[key], list) else [values[key]]
        if texts and not any(str(text).strip() for text in texts):
            example = "all.pass_rate >= 0.5" if key == "bench_gate" else options[key].metavar
            raise SettingsError(
                f"{key} in {file} has no value: delete the line, or write a value after the equals "
                f"sign, such as\n  {key} = {example or 'true'}"
            )
    for key, value in values.items():
        try:
            config.getini(key)  # succeeds for another plugin's key
        except ValueError:
            if key in options:
                continue
            flag = singular(f"--{key.replace('_', '-')}")
            meant = flag.removeprefix("--").replace("-", "_")
            hint = known_names(key, list(options))
            if meant in options:
                from pytest_tablebench.config.project_file import assignment

                lines = assignment(meant, value, config.inipath or Path("pytest.ini"))
                shown_lines = "\n".join(f"  {line}" for line in lines)
                hint = f"write\n{shown_lines}"
            raise SettingsError(f"unknown key {key!r} in {file}; {hint}") from None


def _overridden(config: pytest.Config) -> set[str]:
    return {text.partition("=")[0] for text in config.getoption("override_ini") or ()}


def check_unread_gates(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Raise `SettingsError` for a gate that pytest has not read, if the run has items with cases.

    Looks into the settings files of the run's folder, and of each folder between it and a test. A
    gate on the command line replaces all gates of files.
    """
    option = config.option
    if option.inifilename or option.bench_gate or "bench_gate" in _overridden(config):
        return
    from pytest_tablebench.config.project_file import check_unread

    root, start = config.rootpath, config.invocation_params.dir
    places = {start, *(item.path.parent for item in items)}
    inside = [path for path in places if path.is_relative_to(root)]
    folders = {folder for path in inside for folder in (path, *path.parents)}
    below = sorted(folder for folder in folders if folder.is_relative_to(root))
    check_unread([root, start, *below], root, config.inipath)


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
        for parent, below, files in os.walk(folder):
            below[:] = [
                name
                for name in below
                if not any(fnmatch(name, pattern) for pattern in skipped)
                and not Path(parent, name, "pyvenv.cfg").exists()
            ]
            if "conftest.py" in files and Path(parent, "conftest.py").resolve() not in read:
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
