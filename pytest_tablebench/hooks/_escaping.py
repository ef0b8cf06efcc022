"""Escaping of all that is written to pytest's terminal: terminal codes take no effect."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable
from typing import Any

import pytest

from pytest_tablebench.util.names import escaped, printable


def write_lines(terminal: Any, lines: Iterable[str], **markup: bool) -> None:
    """Write lines to pytest's terminal; control characters of any of them become escapes."""
    for line in lines:
        terminal.write_line(printable(line), **markup)


def write_title(terminal: Any, title: str) -> None:
    """Write the title of a section to pytest's terminal."""
    terminal.write_sep("=", printable(title))


def escape_report(report: pytest.TestReport) -> None:
    """Escape, in place, all texts of a report that pytest shows.

    A plain `assert answer.text == ...` makes pytest print parts of the reply as they are. So do
    messages, reasons, captured output and locals. A worker cannot even send lone surrogates.
    """
    report.longrepr = _harmless(report.longrepr, set())
    report.sections[:] = [(escaped(title), escaped(text)) for title, text in report.sections]
    if isinstance(getattr(report, "wasxfail", None), str):
        report.wasxfail = escaped(report.wasxfail)


def _harmless(value: Any, seen: set[int]) -> Any:
    """Return a text, or a nested representation of a traceback, with every text escaped.

    The nesting depends on `--tb`. Its parts are lists, tuples, and objects with `toterminal`.
    """
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, tuple):
        return tuple(_harmless(part, seen) for part in value)
    if id(value) in seen:
        return value
    seen.add(id(value))
    if isinstance(value, list):
        value[:] = [_harmless(part, seen) for part in value]
    elif hasattr(value, "toterminal"):
        for name, part in list(getattr(value, "__dict__", {}).items()):
            with contextlib.suppress(AttributeError):  # a plugin's read-only attribute
                setattr(value, name, _harmless(part, seen))
    return value


class HarmlessWarnings:
    """Escapes warnings before pytest lists them, and before a worker sends them."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Escape the message of a warning, which may quote a model."""
        text = str(warning_message.message)
        if escaped(text) != text:
            warning_message.message = UserWarning(escaped(text))
