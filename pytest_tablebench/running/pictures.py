"""The pictures of a run's prompts and programs, kept where callers and the page find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.errors import ModelError
from pytest_tablebench.serializers.content import Image

if TYPE_CHECKING:
    from pytest_tablebench.results import MediaFolder

__all__ = ["PictureKeeper"]


@dataclass
class PictureKeeper:
    """Writes pictures into the run folders.

    Arguments:
        folder: returns the folder for the pictures of a model's run; None: none are kept.
    """

    folder: Callable[[str], MediaFolder] | None = None

    def path(self, model: str) -> Path | None:
        """Return where the pictures of a model's run are."""
        return None if self.folder is None else self.folder(model).path

    def keep(self, model: str, images: Iterable[Image]) -> None:
        """Write pictures that are not there yet. Raises `ModelError` if the disk refuses them."""
        if self.folder is None:
            return
        for image in images:
            try:
                self.folder(model).put(image)
            except OSError as error:
                raise ModelError(f"a picture cannot be kept: {error}", reason="error") from None
