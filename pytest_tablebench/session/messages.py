"""The messages between xdist's workers and their controller, beside pytest's reports.

Each message is encoded once, where it leaves a process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args


@dataclass(frozen=True)
class EngineNeeds:
    """A worker has cases: where is the run kept, and who asks its models?

    Arguments:
        lanes: name, endpoint, provider and, where it has one, reference of each model to be
            asked; none where nobody is.
        eager: whether calls will surely come.
        needed: whether there is anything to ask or to run.
    """

    lanes: Sequence[Sequence[Any]] = ()
    eager: bool = False
    needed: bool = True


@dataclass(frozen=True)
class RunPlace:
    """Where the run is kept, and where its engine listens.

    Arguments:
        folders: the run folder of each model.
        engine: port and token; None where nobody has to be asked.
    """

    folders: Mapping[str, str] = field(default_factory=dict)
    engine: tuple[int, str] | None = None


@dataclass(frozen=True)
class SelectedCases:
    """A worker has selected cases, and found nothing that keeps them from being run.

    Arguments:
        cases: how many, by model; None from a worker that does not speak for all.
        facts: what it knows of data and plan.
        plans: what each model is going to be asked.
        problems: what it has read past.
    """

    cases: Mapping[str, int] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    plans: Sequence[Mapping[str, Any]] = ()
    problems: Sequence[str] = ()


@dataclass(frozen=True)
class CallsExpected:
    """A worker still collects, and has a case that will be asked: make ready for calls."""


@dataclass(frozen=True)
class CaseAhead:
    """A worker is about to run a case; what to record if it dies with it.

    Arguments:
        node_id: of the item.
        case: the fields of its record, as far as they are known without an answer.
        finding: the values of the test's finding if the worker dies.
        cases: how many cases are selected, by model.
    """

    node_id: str
    case: Mapping[str, Any]
    finding: Sequence[Any]
    cases: Mapping[str, int]


@dataclass(frozen=True)
class Refused:
    """The run cannot be: why."""

    why: str


Message = EngineNeeds | RunPlace | SelectedCases | CallsExpected | CaseAhead | Refused

_KINDS: Mapping[str, type[Message]] = {kind.__name__: kind for kind in get_args(Message)}


def encode(message: Message) -> str:
    """Return a message as ASCII JSON."""
    return json.dumps([type(message).__name__, vars(message)])


def decode(text: str) -> Message:
    """Return the message that was encoded."""
    name, values = json.loads(text)
    return _KINDS[name](**values)
