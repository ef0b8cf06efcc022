"""Whether a store may contain answers, without opening it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_tablebench.store._layer import SEGMENTS
from pytest_tablebench.store._line import RESOLUTION


def may_have_answers(folder: Path | None, readonly: Sequence[Path | str] = ()) -> bool:
    """Return whether a store may contain more than facts about models; False without a store.

    Read-only layers always may. Reads until the first other line, which is usually the first one.
    """
    if folder is None or readonly:
        return bool(readonly)
    try:
        return any(map(_has_other_lines, (folder / SEGMENTS).glob("*.jsonl")))
    except OSError:  # the store reports it when it is opened
        return True


def _has_other_lines(segment: Path) -> bool:
    with segment.open("rb") as lines:
        return any(not line.startswith(RESOLUTION) for line in lines)
