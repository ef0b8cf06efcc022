"""Fewer garbage collections in processes whose many objects all stay in use."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


def freeze_garbage() -> None:
    """Collect garbage now, and exclude the remaining objects from later collections.

    pytest collects three times at its end, which takes longer than writing the report page.
    Call this while calls are in flight.
    """
    if gc.isenabled():
        gc.collect()
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
