"""The settings of requests to one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_tablebench.running._limits import Limit


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
        takes_tools: False if the server refused tools.
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
    takes_tools: bool = True
    generation: str = ""
    context: int | None = None
    """The tokens to which prompts are cut, less a reserve; None: they are not cut."""
