"""What kind of session pytest's own options ask for."""

from __future__ import annotations

import pytest

from pytest_tablebench.util.names import escaped

_LOOKS = ("collectonly", "showfixtures", "show_fixtures_per_test", "setupplan", "setuponly")

_OPTIONS = "--model", "--bench-"


def has_options(config: pytest.Config) -> bool:
    """Return whether the command line has options of this plugin; the settings do not count."""
    return any(word.startswith(_OPTIONS) for word in config.invocation_params.args)


def runs_no_test(config: pytest.Config) -> bool:
    """Return whether a session only shows its items or fixtures: no model is called."""
    return any(getattr(config.option, name, False) for name in _LOOKS)


def usage_error(error: object) -> pytest.UsageError:
    """Return the error by which pytest prints a message and ends; control characters are escapes.

    Some messages have lines to copy into a settings file, so line ends stay.
    """
    return pytest.UsageError(escaped(str(error)))
