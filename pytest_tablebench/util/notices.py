"""Messages that end nothing: what was damaged and read past."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

_LOGGER = logging.getLogger("pytest_tablebench")
_LOGGER.setLevel(logging.WARNING)


def notice(text: str) -> None:
    """Tell whoever listens in this process; on the standard error where nobody does.

    Arguments:
        text: one printable line.
    """
    _LOGGER.warning("%s", text)


class Notices(logging.Handler):
    """Listens until closed; the same text counts once.

    Arguments:
        say: is told each text as it comes.
    """

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._say = say
        _LOGGER.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Take in a text."""
        text = record.getMessage()
        if text not in self.texts:
            self.texts.append(text)
            self._say(text)

    def close(self) -> None:
        """Listen no longer."""
        _LOGGER.removeHandler(self)
        super().close()


class Unsaid:
    """Texts from several places and processes, each to be said once."""

    def __init__(self) -> None:
        self._taken: dict[str, bool] = {}

    def add(self, texts: Iterable[str]) -> None:
        """Take in texts; those that are known count once."""
        for text in texts:
            self._taken.setdefault(text, False)

    def take(self) -> list[str]:
        """Return what has not been said yet; from here on it has."""
        new = [text for text, was_taken in self._taken.items() if not was_taken]
        self._taken.update(dict.fromkeys(new, True))
        return new
