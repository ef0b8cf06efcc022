"""The page of a watch: verdict, chart over the looks, and a table of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.documents.html import save_page
from pytest_tablebench.reports.watch_text import (
    TITLES,
    delay_line,
    ours_line,
    result_lines,
    theirs_line,
)

if TYPE_CHECKING:
    from pytest_tablebench.claims.drift import LookFacts, WatchVerdict

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900.0, 300.0, 52.0, 12.0, 12.0, 34.0
"""Size and margins of the chart, in its own units."""

SHOWN = 400
"""The number of looks in the table."""


def write_watch_page(out: Path, verdict: WatchVerdict) -> None:
    """Write the page. Raises `SettingsError` if `out` cannot be written."""
    facts = {
        "verdict": verdict,
        "title": TITLES[verdict.state],
        "lines": [
            *result_lines(verdict), theirs_line(verdict), ours_line(verdict), delay_line(verdict),
        ],
        "chart": _chart(verdict),
        "looks": verdict.looks[::-1][:SHOWN],
    }  # fmt: skip
    save_page(out, "watch.html", facts)


def _chart(verdict: WatchVerdict) -> dict[str, Any] | None:
    """Return the shapes of the chart; None without a counted look."""
    rows = [(look, look.standing) for look in verdict.looks if look.standing is not None]
    if not rows:
        return None
    since = [standing.drop.negated for _, standing in rows]
    changes = [-standing.recent for _, standing in rows]
    reach = min(1.0, max(0.05, *(abs(change) for change in changes), _band(verdict)))
    most = max(2, len(verdict.looks))

    def across(look: LookFacts) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (look.number - 1) / (most - 1)

    def down(change: float) -> float:
        inside = max(-reach, min(reach, change))
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - inside / reach) / 2

    upper, lower, means = (
        [(across(look), down(end or 0.0)) for (look, _), end in zip(rows, ends, strict=True)]
        for ends in zip(*((whole.high, whole.low, whole.value) for whole in since), strict=True)
    )
    return {
        "size": (WIDTH, HEIGHT),
        "band": _path([*upper, *reversed(lower)]),
        "line": _path(means),
        "points": [(across(look), down(-standing.recent)) for look, standing in rows],
        "zero": down(0.0),
        "marks": [(down(part * reach), f"{part * reach:+.2f}") for part in (1, 0.5, 0, -0.5, -1)],
        "alarm": next((across(look) for look, s in rows if s.direction is not None), None),
        "versions": _version_marks(verdict, across),
        "ends": (verdict.looks[0].entry.time[:10], verdict.looks[-1].entry.time[:10]),
        "box": (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM),
    }  # fmt: skip


def _band(verdict: WatchVerdict) -> float:
    """Return the reach of the last interval; the wide ones of the first looks are cut."""
    standing = verdict.standing
    return 0.0 if standing is None else 1.5 * max(map(abs, standing.drop.interval or (0.0,)))


def _path(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _version_marks(
    verdict: WatchVerdict, across: Callable[[LookFacts], float]
) -> list[tuple[float, str]]:
    """Return where the fingerprint changed."""
    before = tuple(sorted(verdict.reference.served or verdict.reference.fingerprints))
    marks = []
    for look in verdict.looks:
        if look.versions != before:
            marks.append((across(look), " + ".join(look.versions) or "no fingerprint"))
            before = look.versions
    return marks
