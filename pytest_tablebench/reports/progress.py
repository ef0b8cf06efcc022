"""The progress of a run in one line."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.documents.formats import duration
from pytest_tablebench.util.names import shortened

WINDOW = 30.0
"""Seconds that the rate looks back on: what came from the store at first says little of later."""

APART = 20.0
"""Least seconds between two lines, which appear at each tenth of a run."""

MOST_APART = 300.0
"""Most seconds between two lines, while cases end."""


def waiting_text(waits: Sequence[Mapping[str, Any]]) -> str:
    """Return which models do not answer, since when, and how long the run waits; "" if all do."""
    texts = []
    for wait in waits:
        models = wait["models"]
        name = shortened(models[0], 40) + (f" and {len(models) - 1} more" if models[1:] else "")
        since, until = (
            time.strftime("%H:%M:%S", time.localtime(wait[at])) for at in ("since", "until")
        )
        why = shortened(wait["reason"], 20)
        texts.append(f"waiting for {name} since {since}, until {until} at most ({why})")
    return "; ".join(texts)


class Progress:
    """The line of progress: counts by outcome, rate, time left, cost so far."""

    def __init__(self, clock: Any = time.monotonic) -> None:
        self._clock = clock
        self._started: float = clock()
        self._shown = self._started
        self._tenth = 0
        self._seen: deque[tuple[float, int]] = deque([(self._started, 0)])
        """Times with the number of finished cases; only the first pair is older than the window."""

    def text(
        self, counts: Mapping[str, int], total: int, *, spent: str = "", waiting: str = ""
    ) -> str:
        """Return the line for the counts so far.

        `spent` is the cost so far. `waiting` names models that do not answer; it replaces the rest.
        """
        done = sum(counts.values())
        if waiting:
            return f"{done}/{total} {waiting}"
        line = (
            f"{done}/{total} right {counts['right']} wrong {counts['wrong']} "
            f"no answer {counts['no_answer']}"
        )
        if counts.get("scored"):
            line += f" no verdict {counts['scored']}"
        rate = self._rate(done)
        if rate and done < total:
            line += f", {_rate_text(rate)}, {duration((total - done) / rate)} left"
        return f"{line}, {spent}" if spent else line

    def _rate(self, done: int) -> float:
        """Return the recent cases per second; of the whole run if none ended recently."""
        now, seen = self._clock(), self._seen
        seen.append((now, done))
        while len(seen) > 2 and seen[1][0] <= now - WINDOW:
            seen.popleft()
        since, before = seen[0]
        if done == before:
            since, before = self._started, 0
        return (done - before) / (now - since) if now > since else 0.0

    def due(self, done: int, total: int) -> bool:
        """Return whether to show a line now: at tenths of the run, and at its end."""
        now = self._clock()
        tenth = done * 10 // total if done < total else 10
        is_new = tenth != self._tenth
        wait = APART if is_new else MOST_APART
        is_due = is_new if done >= total else now - self._shown >= wait
        if is_due:
            self._shown, self._tenth = now, tenth
        return is_due


def _rate_text(rate: float) -> str:
    """Return cases a second, a minute or an hour, in the first unit with at least one case."""
    for unit in ("s", "min"):
        if rate >= 1:
            return f"{rate:.{1 if rate < 10 else 0}f}/{unit}"
        rate *= 60
    return f"{rate:.1f}/h"
