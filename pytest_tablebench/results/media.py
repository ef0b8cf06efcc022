"""The folder `media/` of a run: its images, each once, by digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.util.files import write_whole

MEDIA = "media"


class MediaFolder:
    """The images of a run folder. Any number of processes may write into it."""

    def __init__(self, run: Path) -> None:
        self.path = run / MEDIA
        self._written: set[str] = set()

    def put(self, image: Image) -> None:
        """Add an image. Raises `OSError`."""
        if image.digest in self._written:
            return
        target = self.path / image.file_name
        if not target.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(target, image.data)
        self._written.add(image.digest)


_NAME = re.compile(r"([0-9a-f]{64})\.[a-z]{3,4}")


def merge_media(runs: Iterable[Path], out: Path) -> None:
    """Copy the images of several run folders into another, each once.

    Raises `SettingsError` for a file whose digest differs from its name, and `OSError`.
    """
    copied: set[str] = set()
    for run in runs:
        folder = run / MEDIA
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            name_match = _NAME.fullmatch(file.name)
            if name_match is None or file.name in copied:
                continue
            data = file.read_bytes() if file.is_file() else b""
            if hashlib.sha256(data).hexdigest() != name_match[1]:
                raise SettingsError(
                    f"{file} is damaged: its digest differs from its name; delete "
                    f"the file to merge the runs without this image"
                )
            (out / MEDIA).mkdir(exist_ok=True)
            write_whole(out / MEDIA / file.name, data)
            copied.add(file.name)
