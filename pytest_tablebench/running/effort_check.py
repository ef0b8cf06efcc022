"""Check before the first call that a model takes the efforts of the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from pytest_tablebench.config.parameters import NONE, effort_params
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.models import Resolution
    from pytest_tablebench.running.runner import Runner

_ADVICE = (
    "the efforts would be the same run several times. Name a model that takes them, or one "
    "effort, or omit --bench-effort"
)


def check_efforts(runner: Runner, by_model: Mapping[str, Sequence[Case]]) -> None:
    """Raise `SettingsError` for a model to which several efforts make no difference.

    That is the case if a request cannot contain them, or contains the same for two of them. A
    single effort that is not sent is only noted (`params_dropped` in `run.json`). Providers that
    other packages register are not checked, because only they know what they do with parameters.
    Raises `ModelError` if the engine has no facts about a model.
    """
    efforts = runner.settings.efforts
    if efforts is None or len(efforts) < 2:
        return
    engine_models = runner.models.engine_models()
    for model, cases in by_model.items():
        if model not in engine_models:
            if not runner.models.is_stored(model) and model.startswith("tablebench/"):
                raise _error(efforts, model, "it does not think")
            continue
        for dataset in dict.fromkeys(case.dataset for case in cases):
            facts = {
                effort: runner.models.facts_about(model, dataset, effort) for effort in efforts
            }
            sent = {effort: entry for effort, entry in facts.items() if entry is not None}
            _check_sent(efforts, model, sent)


def _check_sent(efforts: Iterable[str], model: str, facts: Mapping[str, Resolution]) -> None:
    for effort, entry in facts.items():
        for name in effort_params(effort):
            # Claude thinks only if asked to, so that litellm has nothing to send for `none`.
            if name in entry.dropped and not (effort == NONE and entry.reasons is False):
                raise _error(efforts, model, f"{effort} is not sent: {entry.dropped[name]}")
    for (first, first_facts), (second, second_facts) in combinations(facts.items(), 2):
        if first_facts.sent == second_facts.sent:
            raise _error(efforts, model, f"{first} and {second} send the same request")


def _error(efforts: Iterable[str], model: str, why: str) -> SettingsError:
    return SettingsError(
        f"--bench-effort={','.join(efforts)}: {model} takes no such axis "
        f"({shortened(why, 300)}); {_ADVICE}"
    )
