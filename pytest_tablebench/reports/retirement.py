"""The line on a model that its provider retires."""

from __future__ import annotations

from datetime import date

from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted

__all__ = ["SOON", "retirement_line", "retirement_lines"]

SOON = 60
"""The number of days before its retirement from which a model is reported."""


def retirement_line(model: str, day: object, today: date | None = None) -> str | None:
    """Return a line from `SOON` days before a model's retirement on, else None.

    As in `gpt-4o-2024-05-13 retires in 37 days (2026-12-31)`.

    Arguments:
        model: the name to show.
        day: the day of the retirement as `2026-12-31`; there is no line for any other value.
        today: by default the current day of this machine.
    """
    try:
        retires = date.fromisoformat(day) if isinstance(day, str) else None
    except ValueError:
        retires = None
    if retires is None:
        return None
    days = (retires - (date.today() if today is None else today)).days
    if days > SOON:
        return None
    if days < 0:
        return f"{model} has been retired since {retires}"
    distance = f"in {counted(days, 'day')}" if days else "today"
    return f"{model} retires {distance} ({retires})"


def retirement_lines(run: RunFacts, today: date | None = None) -> list[str]:
    """Return the lines on the model and the judge of a run."""
    lines = (
        retirement_line(run.model, run.deprecation_date, today),
        retirement_line(f"judge {run.judge}", run.judge_deprecation_date, today),
    )
    return [line for line in lines if line is not None]
