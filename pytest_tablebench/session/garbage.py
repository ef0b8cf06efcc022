"""The garbage collector of a process that ends soon and holds much that it needs to its end."""

from __future__ import annotations

import atexit
import contextlib
import gc
from collections.abc import Iterator


def freeze_at_exit() -> None:
    """Have the interpreter end without a last collection, which takes as long as writing a page."""
    atexit.register(gc.freeze)


def freeze_garbage() -> None:
    """Collect garbage, and look at what is loaded by now no more.

    pytest collects three times at its end. That takes longer than a page, and here it is done
    while calls are under way.
    """
    if gc.isenabled():
        gc.collect()
        gc.freeze()


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Pause the garbage collector: records and pytest's reports are all in use, and many.

    Going through them again and again takes as long as the reports that are made of them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
