"""A case without its final answer: the conversations about its answer and its score."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import METRIC, ModelError
from pytest_tablebench.metrics.steps import Execute, Grade

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Example
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.metrics import Score
    from pytest_tablebench.metrics.steps import Step
    from pytest_tablebench.models import Reply, Request
    from pytest_tablebench.running.answer import Answer, StepFacts, Turn
    from pytest_tablebench.running.limits import Limit
    from pytest_tablebench.serializers.content import Content


@dataclass(frozen=True)
class Route:
    """The settings of requests to one model.

    Arguments:
        model: its name.
        params: parameters of every request.
        api_base: the endpoint, which is part of the keys of answers.
        in_process: whether this process makes the calls, and not the engine.
        stored: whether answers are stored and looked up.
        continues: whether the model continues its own unfinished turn; None if unknown.
        continuing: additional parameters of requests that end with such a turn.
        limits: the token limits of a request; empty: only the limit in `params`.
        merges_system: whether system messages become part of the user's message.
        generation: the name of this run's new answers; see `Request`.
    """

    model: str
    params: Mapping[str, Any]
    api_base: str | None = None
    in_process: bool = False
    stored: bool = True
    continues: bool | None = None
    continuing: Mapping[str, Any] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    merges_system: bool = False
    generation: str = ""
    context: int | None = None
    """The tokens to which prompts are cut, less a reserve; None: they are not cut."""


@dataclass(eq=False)
class PendingCase:
    """The conversation about one case, until it has an answer or an error.

    The conversation of a metric follows the strategy's. An error in it is `unscored`: the answer
    is kept.
    """

    case: Case
    example: Example | None = None
    prompt: Content | None = None
    answer: Answer | None = None
    error: Exception | None = None
    conversation: Generator[Step | Grade, Any, Any] | None = None
    steps: list[StepFacts] = field(default_factory=list)
    step: Step | Grade | None = None
    """The step that it waits for."""
    started: float = 0.0
    dropped: bool = False
    now: bool = False
    """Whether it was begun for the current item, not ahead."""
    key: str | None = None
    """The key of the last request."""
    is_prompt_cut: bool = False
    """Whether the last request was cut to the model's context."""
    limit: int | None = None
    """The token limit of the last request."""
    arrived: dict[str, Reply] = field(default_factory=dict)
    """Cut-off replies to the current step, by key."""
    refused: set[str] = field(default_factory=set)
    """Parameters that the server refused."""
    replaced: tuple[tuple[Request, Reply], ...] = ()
    """Requests and replies of the current step that were cut off and requested again."""
    score: Score | None = None
    """The score by the metric's conversation."""
    unscored: Exception | None = None
    """Why the metric gave no score, or only a part of it."""
    turns: list[Turn] = field(default_factory=list)
    """The turns after the prompt so far."""
    judging: list[StepFacts] = field(default_factory=list)
    """The steps of the metric's conversation."""

    @property
    def done(self) -> bool:
        """Whether there is an answer, with its score, or an error."""
        is_scored = self.answer is not None and self.conversation is None
        return is_scored or self.error is not None

    @property
    def judged(self) -> bool:
        """Whether the answer exists and the metric's conversation is running."""
        return self.answer is not None and self.conversation is not None


def is_of_the_engine(pending: PendingCase, error: Exception) -> bool:
    """Return whether the engine failed to run a program or to score an answer."""
    if not isinstance(error, ModelError) or error.reason == METRIC:
        return False
    return isinstance(pending.step, Execute | Grade)
