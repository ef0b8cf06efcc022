"""The seam behind which models are asked, programs run, and answers scored.

`local` asks through processes of its own on this machine. A cluster, a provider's batch service or
a transport without litellm is another implementation of `Executor`, not another branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pytest_tablebench.errors import ModelError
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Execute, Execution, Grade
from pytest_tablebench.models import Reply, Request

__all__ = ["Executor", "Outcome", "Work"]

Outcome = Reply | Execution | Score | ModelError


@dataclass(frozen=True)
class Work:
    """One thing to be done.

    Arguments:
        key: of the request, the program or the answer to be scored; equal work has equal keys, and
            is done once.
        task: what to do.
        again: what failed in this run is tried once more, rather than told once more.
        media: the folder in which the request's pictures lie.
    """

    key: str
    task: Request | Execute | Grade
    again: bool = False
    media: Path | None = None


class Executor(Protocol):
    """Does work, much of it at a time, for one thread.

    A lane is one model's queue: what is submitted to it shares limits and is given up together.
    Each outcome is told once to everybody who submitted its key.
    """

    @property
    def lost(self) -> ModelError | None:
        """Why nothing more will come; None while something may."""
        ...

    @property
    def waits(self) -> Sequence[Mapping[str, Any]]:
        """What keeps it from going on, for the progress line: since when and until when."""
        ...

    def submit(self, work: Work, lane: str) -> None:
        """Have work done; `outcomes` tells what came of it. Returns at once."""
        ...

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        """Return what has come since the last time, by key.

        With `wait` it gives what comes some time, but returns now and then without any.
        """
        ...

    def totals(self) -> Mapping[str, Any] | None:
        """Return what was asked and paid so far, by model; None when nobody can tell."""
        ...

    def stop(self, why: str) -> None:
        """Start nothing more, for anybody of the run."""
        ...

    def close(self) -> None:
        """End; what is under way is finished and stored, and told to nobody."""
        ...
