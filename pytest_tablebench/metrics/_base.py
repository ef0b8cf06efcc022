"""What a metric is: processed prediction and references in, a score out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = ["Metric", "Processed", "Score"]

Processed = str | list[str]
"""A reply or reference after post-processing: text, or a list where the chain splits it."""


@dataclass(frozen=True)
class Score:
    """A score in 0..1 and the named numbers it is made of.

    `part` names the number that the score is; None where it is none of them.
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    part: str | None = None


Metric = Callable[..., Score]
"""`metric(prediction, references, *, compat, **context) -> Score`; a pure function."""
