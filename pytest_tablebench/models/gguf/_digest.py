"""The digest of a large file, worked out once: it is kept until the file changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.files import write_whole


def digest(file: Path, kept: Path | None = None) -> str:
    """Return the SHA-256 of a file, as 64 hexadecimal digits. Raises `SettingsError`.

    One that was worked out before is taken where size, time of change and number of the file are
    still the same. `kept` is where they are kept; None: in the user's cache folder.
    """
    if kept is None:
        import platformdirs

        kept = platformdirs.user_cache_path("pytest-tablebench") / "digests.json"
    try:
        about = file.stat()
        now = [about.st_size, about.st_mtime_ns, about.st_ino]
        digests = _read(kept)
        if isinstance(entry := digests.get(str(file)), list) and entry[:-1] == now:
            return str(entry[-1])
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None
    with contextlib.suppress(OSError):  # then it is worked out again
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, json.dumps({**digests, str(file): [*now, digest]}))
    return digest


def _read(kept: Path) -> dict[str, object]:
    try:
        digests = json.loads(kept.read_bytes())
    except (OSError, ValueError):
        return {}
    return digests if isinstance(digests, dict) else {}
