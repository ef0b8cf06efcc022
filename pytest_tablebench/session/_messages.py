"""The messages between xdist's workers and their controller, in addition to pytest's reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args


@dataclass(frozen=True)
class EngineNeeds:
    """A worker has cases, and requests the run folders and the engine's address.

    Arguments:
        lanes: name, endpoint, provider and, if it has one, reference of each model to call.
        eager: whether calls will surely come.
        needed: whether the engine has any model to call or program to run.
    """

    lanes: Sequence[Sequence[Any]] = ()
    eager: bool = False
    needed: bool = True


@dataclass(frozen=True)
class RunPlace:
    """The run folders, and the engine's address.

    Arguments:
        folders: the run folder of each model.
        engine: port and token; None without an engine.
    """

    folders: Mapping[str, str] = field(default_factory=dict)
    engine: tuple[int, str] | None = None


@dataclass(frozen=True)
class SelectedCases:
    """A worker has selected cases, and they can run.

    Arguments:
        cases: the number of cases by model; None except from the planning worker.
        facts: facts about data and plan.
        plans: the plan of each model.
        problems: the worker's warnings.
    """

    cases: Mapping[str, int] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    plans: Sequence[Mapping[str, Any]] = ()
    problems: Sequence[str] = ()


@dataclass(frozen=True)
class CallsExpected:
    """A worker still collects, and has a case that needs calls: start the callers early."""


@dataclass(frozen=True)
class CaseAhead:
    """A worker is about to run a case; contains the record to write if the worker dies.

    Arguments:
        node_id: the node id of the item.
        case: the fields of the record that are known without an answer.
        finding: the values of the test's finding if the worker dies.
        cases: the number of selected cases, by model.
    """

    node_id: str
    case: Mapping[str, Any]
    finding: Sequence[Any]
    cases: Mapping[str, int]


@dataclass(frozen=True)
class Refused:
    """The run cannot start, and why."""

    why: str


Message = EngineNeeds | RunPlace | SelectedCases | CallsExpected | CaseAhead | Refused

_KINDS: Mapping[str, type[Message]] = {kind.__name__: kind for kind in get_args(Message)}


def encode(message: Message) -> str:
    """Return a message as ASCII JSON."""
    return json.dumps([type(message).__name__, vars(message)])


def decode(text: str) -> Message:
    """Return the message encoded in a text."""
    name, values = json.loads(text)
    return _KINDS[name](**values)
