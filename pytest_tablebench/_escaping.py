"""What a model said, shown by pytest in its own ways: escape codes must not take effect."""

from __future__ import annotations

import re
from typing import Any

from pytest_tablebench.names import printable

__all__ = ["escape_traceback", "escaped"]


def escape_traceback(longrepr: Any) -> None:
    """Escape, in place, the control characters of a report's traceback and messages.

    A user's own `assert answer.text == ...` makes pytest print parts of the reply as they are;
    lone surrogates among them could not even be sent from a worker.
    """
    chain = getattr(longrepr, "chain", None) or [(getattr(longrepr, "reprtraceback", None), None)]
    for traceback, crash, *_ in chain:
        if crash is not None:
            crash.message = escaped(crash.message)
        for entry in getattr(traceback, "reprentries", ()):
            entry.lines[:] = [escaped(line) for line in entry.lines]


def escaped(text: str) -> str:
    """Return the text with all control characters shown as escapes, but line ends and tabs."""
    parts = re.split(r"([\n\t])", text)
    return "".join(part if part in {"\n", "\t"} else printable(part) for part in parts)
