"""Atomic writing into a results folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pytest_tablebench.util.files import write_whole

_OURS = re.compile(r"[0-9a-f-]{36}-(?:result\.json|container\.json|attachment\.txt)")


class Folder:
    """A folder of results. A generator that watches it never sees half a file."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.names: set[str] = set()

    def write(self, name: str, data: bytes) -> None:
        """Write one file whole, over an older one of that name."""
        write_whole(self.path / name, data)
        self.names.add(name)

    def write_json(self, name: str, item: Any) -> None:
        """Write an item of Allure's model, or built-in types, without its empty fields."""
        self.write(name, json.dumps(item, default=_filled).encode("ascii"))

    def drop_stale(self, listing: str) -> None:
        """Delete the files in `listing`, of an earlier writing, that this writing has not replaced.

        Then write the names of the new files to `listing`. Only names of results are deleted.
        """
        for name in self.read(listing).split():
            if name not in self.names and _OURS.fullmatch(name):
                (self.path / name).unlink(missing_ok=True)
        self.write(listing, "\n".join(sorted(filter(_OURS.fullmatch, self.names))).encode("ascii"))

    def read(self, name: str) -> str:
        """Return the content of a file, or an empty text without one."""
        try:
            return (self.path / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def _filled(item: Any) -> dict[str, Any]:
    """Return the fields that are set, as allure-python-commons writes them."""
    return {
        name: value for name, value in vars(item).items() if value or value is False or value == 0
    }
