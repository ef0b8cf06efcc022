"""Notices that stop nothing: damaged data that was skipped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from pytest_tablebench.util.names import printable

_LOGGER = logging.getLogger("pytest_tablebench")
_LOGGER.setLevel(logging.WARNING)


def notice(text: str) -> None:
    """Pass a notice to the listeners of this process, or print it on the standard error.

    Arguments:
        text: one line, in which control characters become escapes.
    """
    _LOGGER.warning("%s", printable(text))


class Notices(logging.Handler):
    """A listener until it is closed. It keeps each text once.

    Arguments:
        say: called with each new text.
    """

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._say = say
        _LOGGER.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Add a text."""
        text = record.getMessage()
        if text not in self.texts:
            self.texts.append(text)
            self._say(text)

    def close(self) -> None:
        """Stop listening."""
        _LOGGER.removeHandler(self)
        super().close()


class Unsaid:
    """Texts from several places and processes, each to be reported once."""

    def __init__(self) -> None:
        self._taken: dict[str, bool] = {}

    def add(self, texts: Iterable[str]) -> None:
        """Add texts; known ones are ignored."""
        for text in texts:
            self._taken.setdefault(text, False)

    def take(self) -> list[str]:
        """Return the texts that were not returned before."""
        new = [text for text, was_taken in self._taken.items() if not was_taken]
        self._taken.update(dict.fromkeys(new, True))
        return new
