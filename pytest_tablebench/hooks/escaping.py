"""What a model said, shown by pytest in its own ways: escape codes must not take effect."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import pytest

from pytest_tablebench.util.names import escaped


def escape_report(report: pytest.TestReport) -> None:
    """Escape, in place, all texts of a report that pytest shows.

    A user's own `assert answer.text == ...` makes pytest print parts of the reply as they are,
    and so do messages, reasons, captured output and shown locals; lone surrogates among them
    could not even be sent from a worker.
    """
    report.longrepr = _harmless(report.longrepr, set())
    report.sections[:] = [(escaped(title), escaped(text)) for title, text in report.sections]
    if isinstance(getattr(report, "wasxfail", None), str):
        report.wasxfail = escaped(report.wasxfail)


def _harmless(shown: Any, seen: set[int]) -> Any:
    """Return a text, or what pytest makes of several, with every text in it escaped.

    How the parts of a traceback hang together differs by `--tb`; all of them are lists, tuples,
    and objects that can write themselves to a terminal.
    """
    if isinstance(shown, str):
        return escaped(shown)
    if isinstance(shown, tuple):
        return tuple(_harmless(part, seen) for part in shown)
    if id(shown) in seen:
        return shown
    seen.add(id(shown))
    if isinstance(shown, list):
        shown[:] = [_harmless(part, seen) for part in shown]
    elif hasattr(shown, "toterminal"):
        for name, part in list(getattr(shown, "__dict__", {}).items()):
            with contextlib.suppress(AttributeError):  # a plugin's own, that cannot be changed
                setattr(shown, name, _harmless(part, seen))
    return shown


class HarmlessWarnings:
    """Escapes warnings before pytest lists them, and before a worker sends them."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Escape the message of a warning: a test may warn of what a model said."""
        text = str(warning_message.message)
        if escaped(text) != text:
            warning_message.message = UserWarning(escaped(text))
