"""The bytes of a file that many programs read; processes of this machine pass on its path."""

from __future__ import annotations

import atexit
import hashlib
from functools import cache, cached_property
from pathlib import Path

from pytest_tablebench.util.leftovers import TemporaryFolder


class SharedFile(bytes):
    """The bytes of a file, with its digest and a copy on the disk, each made once."""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 as 64 hexadecimal digits."""
        return hashlib.sha256(self).hexdigest()

    @cached_property
    def path(self) -> Path:
        """The path of a copy, which exists as long as this process."""
        path = _folder().path / self.digest
        path.write_bytes(self)
        return path


@cache
def _folder() -> TemporaryFolder:
    folder = TemporaryFolder()
    atexit.register(folder.remove)
    return folder
