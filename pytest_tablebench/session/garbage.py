"""Fewer garbage collections in processes whose many objects all stay in use."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

_paused: list[bool] = []
"""One entry while the collector is paused."""


def pause_collections() -> None:
    """Pause the garbage collector until `resume_collections`.

    Importing and collecting make many objects and hardly any garbage, so collections only delay
    the first call. A collector that is already off stays off.
    """
    if gc.isenabled():
        gc.disable()
        _paused.append(True)


def resume_collections() -> None:
    """End the pause, and exclude the objects made in it from later collections."""
    if _paused:
        _paused.clear()
        gc.freeze()
        gc.enable()


def freeze_garbage() -> None:
    """Exclude the objects of this process from later collections.

    Collecting them first would find next to nothing and delay calls. pytest collects three times
    at its end, which takes longer than writing the report page.
    """
    if gc.isenabled():
        gc.freeze()


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Pause the garbage collector while reports are made.

    Records and pytest's reports are many and all in use. Scanning them repeatedly takes as long
    as making the reports.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
