"""Hostile text of any source is escaped by whatever writes it, and nowhere before."""

from __future__ import annotations

import logging
import re
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tablebench import cli
from pytest_tablebench.commands.outputs import print_lines, print_note
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.hooks._escaping import HarmlessWarnings, write_lines, write_title
from pytest_tablebench.hooks._progress import ProgressLine
from pytest_tablebench.session.pytest_modes import usage_error
from pytest_tablebench.util.notices import Notices, notice

ACTING = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
COMMAND = re.compile(r"##(\[|vso\[|teamcity\[)|^\s*::", re.MULTILINE | re.IGNORECASE)

HOSTILE = [
    "\x1b[31mred\x1b]0;owned\x07",
    "right \u202e to \u2066 left",
    "a\n::error::b\r\n ##[group]c",
    "##vso[task.complete]\u2028\x9b2J",
    "\ud800 \x00\x85",
    "x" * 1_000_000 + "\x1b",
]


def assert_harmless(text: str) -> None:
    assert text.strip()
    assert not ACTING.search(text)
    assert not COMMAND.search(text)


class Terminal:
    """A terminal of pytest that keeps what is written."""

    currentfspath = None

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str, **markup: bool) -> None:
        self.text += text

    def write_line(self, line: str, **markup: bool) -> None:
        self.text += f"{line}\n"

    def write_sep(self, mark: str, title: str) -> None:
        self.text += f"{mark} {title} {mark}\n"

    def ensure_newline(self) -> None:
        """Do nothing: each text of this terminal ends in a line end."""


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_lines_and_titles_on_the_terminal_of_pytest_stay_on_one_line(text):
    terminal = Terminal()
    write_lines(terminal, [text, text], bold=True)
    write_title(terminal, text)
    assert_harmless(terminal.text)
    assert terminal.text.count("\n") == 3


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_refusals_and_warnings_of_pytest_are_escaped(text):
    assert_harmless(str(usage_error(SettingsError(f"--bench-gate: {text}"))))
    warning: Any = SimpleNamespace(message=UserWarning(text))
    HarmlessWarnings().pytest_warning_recorded(warning)
    assert_harmless(str(warning.message))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_notices_are_escaped_for_listeners_and_for_the_standard_error(text, caplog):
    notices = Notices()
    with caplog.at_level(logging.WARNING):
        notice(text)
    notices.close()
    for printed in (*notices.texts, *caplog.messages):
        assert_harmless(printed)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_lines_and_errors_of_commands_are_escaped(text, capsys, monkeypatch):
    print_lines([text])
    print_note(text)

    def fail(*_):
        raise SettingsError(f"{text} is wrong")

    monkeypatch.setattr(cli, "answer_of", fail)
    assert cli.main(["list"]) == 2
    printed = capsys.readouterr()
    assert_harmless(printed.out)
    assert_harmless(printed.err)
    assert (printed.out + printed.err).count("\n") == 3


class Progress(ProgressLine):
    """A progress line that is always due, and quotes a text."""

    terminal, compact = None, True

    def __init__(self, terminal: Terminal, text: str) -> None:
        self.terminal, self._waiting = terminal, text
        progress: Any = SimpleNamespace(
            due=lambda *_: True, text=lambda *_, waiting, spent: waiting
        )
        self._progress = progress


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_progress_lines_are_escaped(text):
    terminal = Terminal()
    writer: Any = SimpleNamespace(facts={}, done=1, counts={}, spent_text=lambda: "")
    Progress(terminal, text).show(writer)
    assert_harmless(terminal.text)
