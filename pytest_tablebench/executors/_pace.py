"""How fast one provider may be asked: room for calls, cool-downs and outages.

Pure arithmetic over a clock that the caller passes in; nothing here waits.

The room follows the share of calls that were turned away. After every round (as many ends of
calls as there is room) it is cut by half that share, as DCTCP does with marked packets (Alizadeh
et al. 2010, section 3.1), so that it settles quickly at what a provider takes without falling to
nothing when a few calls are turned away; a round without any gives a little more room.
"""

from __future__ import annotations

from dataclasses import dataclass, field

GROWTH = 0.05
"""Share by which the room grows after a round in which nobody was turned away."""

CROWDED = 0.5
"""Share of a round turned away from which all calls wait, not only those turned away."""


@dataclass
class Pace:
    """Room and cool-down of one provider, shared by all workers of a run.

    Arguments:
        most: calls that may be in flight at once, at best.
        patience: seconds for which it may answer nothing at all until it is asked no more.
    """

    most: int
    patience: float
    room: float = field(init=False)
    in_flight: int = 0
    cool_until: float = 0.0
    down_since: float | None = None
    silent_since: float | None = None
    """Since when every call has failed in a way that may pass, moved by the time without calls."""
    idle_since: float | None = None
    """Since when no call is wanted from a silent provider."""
    answered: int = 0
    _ended: int = 0
    _turned_away: int = 0

    def __post_init__(self) -> None:
        self.room = float(self.most)

    @property
    def limit(self) -> int:
        """Calls that may be in flight now; one, to see whether a lost provider is back."""
        return 1 if self.down_since is not None else max(1, int(self.room))

    def may_start(self, now: float) -> bool:
        """Tell whether one more call may start at this moment."""
        return self.in_flight < self.limit and now >= self.cool_until and not self.out(now)

    def out(self, now: float) -> bool:
        """Tell whether it has answered nothing for too long, without the time without calls."""
        if self.silent_since is None:
            return False
        until = now if self.idle_since is None else self.idle_since
        return until - self.silent_since >= self.patience

    def start(self, now: float) -> None:
        """Take note of a call that starts."""
        self.in_flight += 1
        if self.silent_since is not None and self.idle_since is not None:
            self.silent_since += now - self.idle_since
        self.idle_since = None

    def rest(self, now: float) -> None:
        """Stop counting silence: no call waits for this provider at the moment."""
        self.idle_since = now

    def succeed(self) -> None:
        """Take note of a call that was answered."""
        self.in_flight -= 1
        self.answered += 1
        self.down_since = self.silent_since = None
        self._end_one(turned_away=False)

    def fail(
        self,
        now: float,
        *,
        passing: bool = False,
        turned_away: bool = False,
        unreachable: bool = False,
        retry_after: float | None = None,
        wait: float | None = None,
    ) -> None:
        """Take note of a call that failed.

        Arguments:
            now: the time.
            passing: asking again may help.
            turned_away: by a rate limit or too slow to answer: asking less may help.
            unreachable: nobody was there at all.
            retry_after: seconds the provider asked for; everybody waits so long.
            wait: seconds this call waits before it is asked again.
        """
        self.in_flight -= 1
        if unreachable:
            if self.answered and self.down_since is None:
                self.down_since = now
        elif self.down_since is not None:
            self.down_since = None  # somebody is there, if unwell
        if not passing:
            self.silent_since = None  # that was an answer, if none that one wants
        elif self.silent_since is None:
            self.silent_since = now
        crowded = self._turned_away + 1 > CROWDED * max(self.room, self._ended + 1)
        if retry_after is not None:
            self.cool_until = max(self.cool_until, now + retry_after)
        elif turned_away and crowded and wait is not None:
            self.cool_until = max(self.cool_until, now + wait)
        self._end_one(turned_away=turned_away)

    def _end_one(self, *, turned_away: bool) -> None:
        self._ended += 1
        self._turned_away += turned_away
        if self._ended < self.room:
            return
        share = self._turned_away / self._ended
        if share:
            self.room = max(1.0, self.room * (1 - share / 2))
        else:
            self.room = min(float(self.most), self.room + max(1.0, GROWTH * self.room))
        self._ended = self._turned_away = 0
