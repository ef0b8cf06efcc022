"""The pictures of a run as blocks inside its page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_tablebench.util.names import are, counted

_NAME = re.compile(r"([0-9a-f]{64})\.(?:png|jpg|gif|webp)")
_BUDGET = 9_000_000
"""Characters of base64 in a page; further pictures are only in `media/`."""


@dataclass(frozen=True)
class Pictures:
    """Blocks by element id, the number of each picture by file name, and notes on what fits."""

    blocks: Mapping[str, str]
    numbers: Mapping[str, int]
    notes: tuple[str, ...]


def pack_pictures(folders: Iterable[Path]) -> Pictures:
    """Return the pictures of `media` folders, each once, the smallest first.

    A file whose digest is not its name is left out.
    """
    files = {path.name: path for media in folders for path in _files(media)}
    by_size = sorted((path.stat().st_size, name) for name, path in files.items())
    blocks: dict[str, str] = {}
    numbers: dict[str, int] = {}
    left, missing = _BUDGET, 0
    for size, name in by_size:
        left -= size * 4 // 3 + 4
        if left < 0:
            missing += 1
            continue
        data = files[name].read_bytes()
        if hashlib.sha256(data).hexdigest() != name[:64]:
            continue
        numbers[name] = len(numbers)
        blocks[f"m{numbers[name]}"] = base64.b64encode(data).decode("ascii")
    notes: tuple[str, ...] = ()
    if numbers or missing:
        packed_text = (
            f"{counted(len(numbers), 'picture')} of media/ {are(len(numbers))} on this page"
        )
        rest = f"; {counted(missing, 'larger one')} did not fit" if missing else ""
        notes = (packed_text + rest,)
    return Pictures(blocks, numbers, notes)


def is_picture(name: str) -> bool:
    """Return whether this is a file name of `media/`: a SHA-256 digest with a suffix."""
    return _NAME.fullmatch(name) is not None


def _files(media: Path) -> list[Path]:
    try:
        return [path for path in media.iterdir() if is_picture(path.name) and path.is_file()]
    except OSError:
        return []
