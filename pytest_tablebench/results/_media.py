"""Pictures of a run, each once, by digest: `media/` of a run folder."""

from __future__ import annotations

from pathlib import Path

from pytest_tablebench.serializers.content import Image
from pytest_tablebench.util.files import write_whole

__all__ = ["MEDIA", "MediaFolder"]

MEDIA = "media"


class MediaFolder:
    """Where the pictures of a run folder lie. Any number of processes may write into it."""

    def __init__(self, run: Path) -> None:
        self.path = run / MEDIA
        self._known: set[str] = set()

    def put(self, image: Image) -> None:
        """Keep a picture. Raises `OSError`."""
        if image.digest in self._known:
            return
        target = self.path / image.file_name
        if not target.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(target, image.data)
        self._known.add(image.digest)
