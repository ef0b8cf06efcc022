"""What a model said, shown inside a traceback of pytest: escape codes must not take effect."""

from __future__ import annotations

import re
from typing import Any

from pytest_tablebench.names import printable

__all__ = ["escape_traceback"]


def escape_traceback(longrepr: Any) -> None:
    """Escape, in place, the control characters of a report's traceback and messages.

    A user's own `assert answer.text == ...` makes pytest print parts of the reply as they are;
    lone surrogates among them could not even be sent from a worker.
    """
    chain = getattr(longrepr, "chain", None) or [(getattr(longrepr, "reprtraceback", None), None)]
    for traceback, crash, *_ in chain:
        if crash is not None:
            crash.message = _escaped(crash.message)
        for entry in getattr(traceback, "reprentries", ()):
            entry.lines[:] = [_escaped(line) for line in entry.lines]


def _escaped(text: str) -> str:
    parts = re.split(r"([\n\t])", text)
    return "".join(part if part in {"\n", "\t"} else printable(part) for part in parts)
