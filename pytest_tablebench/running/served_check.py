"""Check whether a server still is the one that gave the stored answers: one call for each model."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors import Work
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Reply, Request
from pytest_tablebench.running._limits import stored
from pytest_tablebench.serializers.content import images_of
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.running.runner import Runner

IDENTITY: Mapping[str, str] = {
    "fingerprint": "version",
    "served_model": "model",
    "served_by": "provider",
}
"""What a reply says about the model that gave it, with the names for messages."""


def check_served(runner: Runner, cases: Iterable[Case]) -> dict[str, Any] | None:
    """Ask the first stored question of one model again, and compare what served it.

    Returns the entry of `run.json`: `same` is None if the replies do not say, and False without a
    reply. None if no question is stored.
    """
    for case in cases:
        request, before = _stored_question(runner, case)
        if request is not None and before is not None:
            try:
                return _compared(before, _reply(runner, case.model, request))
            except ModelError as error:
                if error.reason == "budget":
                    return {"same": None, "text": "the budget allows no call to check the server"}
                why = shortened(str(error), 200)
                return {"same": False, "text": f"the server did not answer a check: {why}"}
    return None


def _stored_question(runner: Runner, case: Case) -> tuple[Request | None, Reply | None]:
    conversations = runner.conversations
    try:
        step = next(conversations.begin(case, conversations.task_of(case)))
        if not isinstance(step, Ask) or step.model not in {None, case.model}:
            return None, None
        request = conversations.request(case, step, 0)
    except Exception:  # the case itself reports it
        return None, None
    limits = conversations.route_of(case, step).limits
    settlement = stored(request, limits, runner.models.store())
    return settlement.request, settlement.reply


def _reply(runner: Runner, model: str, request: Request) -> Reply:
    """Make a call although the reply is stored: the request has a name of its own."""
    request = replace(request, generation=f"check-{uuid.uuid4().hex}")
    for message in request.messages:
        runner.pictures.keep(model, images_of(message.content))
    key, executor = request.key(), runner.models.executor()
    executor.submit(Work(key, request, media=runner.pictures.path(model)), model)
    while executor.lost is None:
        outcome = dict(executor.outcomes(wait=True)).get(key)
        if isinstance(outcome, Exception):
            raise outcome
        if isinstance(outcome, Reply):
            return outcome
    raise executor.lost


def _compared(before: Reply, now: Reply) -> dict[str, Any]:
    pairs = {
        name: (str(old), str(new))
        for field, name in IDENTITY.items()
        if (old := getattr(before, field)) is not None and (new := getattr(now, field)) is not None
    }
    if not pairs:
        return {
            "same": None,
            "text": "the server does not name what answers, so another model behind the name is "
            "not noticed; --bench-max-age asks again",
        }
    changes = [
        f"{name} {shortened(new, 80)} instead of {shortened(old, 80)}"
        for name, (old, new) in pairs.items()
        if old != new
    ]
    if changes:
        return {
            "same": False,
            "text": f"the server has changed since the stored answers: {', '.join(changes)}",
        }
    same = " and ".join(f"{name} {shortened(new, 80)}" for name, (_, new) in pairs.items())
    return {"same": True, "text": f"a call shows the same {same} as when they were stored"}
