"""A case whose answer is under way: its conversation, and the one about its score."""

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
    """How one model is asked.

    Arguments:
        model: its name.
        params: parameters sent with every request.
        api_base: the endpoint, part of what an answer depends on.
        in_process: whether its calls are made in this process; otherwise the engine makes them.
        stored: whether its answers are kept and looked up.
        continues: whether it goes on with an unfinished turn of its own; None: nobody knows.
        continuing: parameters sent besides where it is to go on with such a turn.
        limits: the token limits that a request may have; empty: only that of `params`.
        merges_system: whether turns of the system are sent as part of the user's.
        generation: the name under which the run asks anew; see `Request`.
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
    """The conversation about one case: under way until it has an answer or an error.

    Where a metric asks a judge, its conversation follows that of the strategy. What goes wrong in
    it is `unscored`: the answer stays.
    """

    case: Case
    example: Example | None = None
    prompt: Content | None = None
    answer: Answer | None = None
    error: Exception | None = None
    conversation: Generator[Step | Grade, Any, Any] | None = None
    steps: list[StepFacts] = field(default_factory=list)
    step: Step | Grade | None = None
    """What it waits for."""
    started: float = 0.0
    dropped: bool = False
    now: bool = False
    """Begun for an item that runs, not ahead."""
    key: str | None = None
    """Of its last request."""
    is_prompt_cut: bool = False
    """Whether its last request was cut to the model's context."""
    limit: int | None = None
    """The token limit of its last request."""
    arrived: dict[str, Reply] = field(default_factory=dict)
    """Replies to the step that it waits for that were cut off, by key."""
    refused: set[str] = field(default_factory=set)
    """What its server refused so far."""
    replaced: tuple[tuple[Request, Reply], ...] = ()
    """Requests and replies of that step that were cut off and asked for again."""
    score: Score | None = None
    """Of a metric that asks a judge."""
    unscored: Exception | None = None
    """Why such a metric has no score, or not the whole of one."""
    turns: list[Turn] = field(default_factory=list)
    """What was said in it so far, behind the prompt."""
    judging: list[StepFacts] = field(default_factory=list)
    """What was done for the score, in order."""

    @property
    def done(self) -> bool:
        """Whether there is an answer, with its score, or an error."""
        over = self.answer is not None and self.conversation is None
        return over or self.error is not None

    @property
    def judged(self) -> bool:
        """Whether its answer is there and the metric's conversation goes on."""
        return self.answer is not None and self.conversation is not None


def is_of_the_engine(pending: PendingCase, error: Exception) -> bool:
    """Return whether a program could not run, or nothing was there to score an answer."""
    if not isinstance(error, ModelError) or error.reason == METRIC:
        return False
    return isinstance(pending.step, Execute | Grade)
