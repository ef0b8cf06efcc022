"""Detection of option values that pytest mistakes for test paths.

Pytest determines rootdir and settings file before it has the options of plugins. At that time the
value in `--bench-data DIR` is a bare argument. If it is an existing path, pytest starts its search
there. It does not for `--bench-data=DIR`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_tablebench.config.option_spelling import singular
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.config.secrets import placed_secrets, redact
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import SettingsError

HIDDEN = "***"


class Places(NamedTuple):
    """The rootdir and the settings file of a session."""

    rootdir: Path
    settings_file: Path | None


def check_rootdir(config: pytest.Config, settings: Settings) -> None:
    """Raise `SettingsError` if an option's value has changed the settings file or rootdir.

    Without the right settings file, a session lacks the gates and limits that the file sets.
    """
    from_variable = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    words = [singular(word) for word in (*from_variable, *config.invocation_params.args)]
    folder = config.invocation_params.dir
    moved = [index for index in _values(words) if _exists(folder, words[index])]
    if not moved:
        return
    actual = Places(config.rootpath, config.inipath)
    expected = _places_without_values(config, words)
    if expected is None or expected.settings_file == actual.settings_file:
        is_moved = settings.compares_snapshots and expected is not None and expected != actual
        if not is_moved:
            return
        effect = f"look for snapshots in {actual.rootdir}"
    else:
        effect = f"not read {expected.settings_file}"
        if expected.settings_file is None:
            effect = f"read {actual.settings_file}"
    flags = ", ".join(dict.fromkeys(words[index - 1] for index in moved))
    secrets = placed_secrets(settings.api_base, settings.params)
    command = shlex.join(_with_equals_signs(words[len(from_variable) :], secrets))
    raise SettingsError(
        f"{flags}: write the value after an equals sign. After a space, pytest treats it as a "
        f"test path and would {effect}. Use this command:\n"
        f"  pytest {command}"
    )


def _values(words: Sequence[str]) -> Iterator[int]:
    """Yield the positions of words that are values of our options, after a space."""
    flags = {"--model", *(option.flag for option in OPTIONS if not option.switch)}
    for index, word in enumerate(words[1:], start=1):
        if words[index - 1] in flags and not word.startswith("-"):
            yield index


def _exists(folder: Path, word: str) -> bool:
    try:
        return bool(word) and (folder / word.partition("::")[0]).exists()
    except (OSError, ValueError):  # too long, or a NUL character
        return False


def _places_without_values(config: pytest.Config, words: Sequence[str]) -> Places | None:
    """Return the places that pytest would determine if all values followed equals signs.

    None if this version of pytest lacks the private function. Arguments that became paths later,
    such as `--pyargs pytest_tablebench.suites`, are ignored.
    """
    namespace = config.known_args_namespace
    try:
        from _pytest.config.findpaths import determine_setup

        rootdir, settings_file, *_ = determine_setup(
            inifile=namespace.inifilename,
            override_ini=namespace.override_ini,
            args=[path for path in namespace.file_or_dir if path in words],
            rootdir_cmd_arg=namespace.rootdir or None,
            invocation_dir=config.invocation_params.dir,
        )
    except Exception:
        return None
    return Places(rootdir, settings_file)


def _with_equals_signs(words: Sequence[str], secrets: frozenset[str]) -> list[str]:
    """Return a command line with each of our options joined to its value, and secrets hidden."""
    joined: list[str] = []
    values = set(_values(words))
    for index, word in enumerate(words):
        label = word if redact(word, secrets) == word else HIDDEN
        if index in values:
            joined[-1] += f"={label}"
        else:
            joined.append(label)
    return joined
