"""The interface for calling models, running programs and scoring answers.

`LocalExecutor` connects to the run's broker, whose callers are processes of this machine or workers
of a Dask cluster. `BatchExecutor` collects requests for batch services. `InProcessExecutor` calls
providers that stay in the pytest process. Both pass all other work to another executor.
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

Outcome = Reply | Execution | Score | Exception
"""Only a provider in this process may raise an exception that is not a `ModelError`."""


@dataclass(frozen=True)
class Work:
    """A request to answer, a program to run, or an answer to score.

    Arguments:
        key: of the request, the program or the answer. Work with equal keys is done once.
        task: the request, program or answer.
        again: try work that failed in this run once more. Otherwise the executor returns the
            same error again.
        media: the folder with the request's pictures.
    """

    key: str
    task: Request | Execute | Grade
    again: bool = False
    media: Path | None = None


class Executor(Protocol):
    """Does work for one thread, many pieces at a time.

    A lane is the queue of one model. The work of a lane shares limits, and its model is given up
    as a whole. Each process that submitted a key receives its outcome once.
    """

    @property
    def lost(self) -> ModelError | None:
        """The error of all work without an outcome, if no further outcome can arrive."""

    @property
    def waits(self) -> Sequence[Mapping[str, Any]]:
        """Providers that answer nothing at the moment, with start and end of the wait."""

    def submit(self, work: Work, lane: str) -> None:
        """Submit work and return at once. Raises `ModelError` for an unknown lane."""

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        """Return the outcomes since the last call, with their keys.

        With `wait` it waits for the next ones, but may return without any.
        """

    def totals(self) -> Mapping[str, Any] | None:
        """Return the calls, tokens and costs so far, by model; None if they are unknown."""

    def stop(self, why: str) -> None:
        """Start no further call, for any process of the run."""

    def close(self) -> None:
        """Close the connection. Calls in flight are finished and stored."""
