"""The models of a store, of run folders and of a project, with facts about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.models import LiteLLMModel, Resolution, litellm_version, make_provider
from pytest_tablebench.results import read_facts

if TYPE_CHECKING:
    from pytest_tablebench.config.project_file import ProjectModel
    from pytest_tablebench.store.upkeep import Survey

BUILT_IN = "built in or on this machine: no provider retires it or has a price"
UNKNOWN = "litellm's table does not have it"
_ABILITIES = {"pictures": "sees", "reasoning": "reasons", "continuing": "continues"}


@dataclass
class ListedModel:
    """A model with the places that name it, and the facts about it.

    Arguments:
        name: as the user wrote it.
        answers: the number of its answers in the store.
        runs: the number of run folders in which it is the model or the judge.
        keys: the places of the configuration, such as `pytest.ini: bench_model`.
        last_used: the time of its newest answer or run in ISO form; None if it was not used.
        facts: from a store or litellm's table; None if it is not known.
        note: why facts are missing, "" otherwise.
    """

    name: str
    answers: int = 0
    runs: int = 0
    keys: list[str] = field(default_factory=list)
    last_used: str | None = None
    facts: Resolution | None = None
    note: str = ""

    def use(self, time: object) -> None:
        """Record a time at which the model was used."""
        if isinstance(time, str):
            self.last_used = max(time, self.last_used or "")

    @property
    def abilities(self) -> dict[str, bool | None]:
        """What the model can do: pictures, reasoning, continuing its own turn; None if unknown."""
        return {name: getattr(self.facts, part, None) for name, part in _ABILITIES.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `tablebench models --json`; unknown facts are None."""
        facts = self.facts or Resolution()
        prices = {"in": facts.input_cost_per_token, "out": facts.output_cost_per_token}
        return {
            "model": self.name,
            "store_answers": self.answers,
            "runs": self.runs,
            "configuration": list(self.keys),
            "deprecation_date": facts.deprecation_date,
            "context": facts.max_input_tokens,
            "usd_per_million_tokens": {name: per_million(price) for name, price in prices.items()},
            "abilities": self.abilities,
            "last_used": self.last_used,
            "note": self.note or None,
        }


def per_million(price: object) -> float | None:
    """Return the price of a million tokens, without the noise of the multiplication."""
    return round(price * 1e6, 6) if isinstance(price, int | float) else None


def list_models(
    survey: Survey | None, runs: Iterable[Path], project: Iterable[ProjectModel]
) -> tuple[list[ListedModel], list[str]]:
    """Return the models by name, and a line on each run that cannot be read.

    Facts come from the store if it has facts of the installed litellm, else from litellm's table.
    """
    models: dict[str, ListedModel] = {}
    problems: list[str] = []

    def listed(name: str) -> ListedModel:
        return models.setdefault(name, ListedModel(name))

    if survey is not None:
        for name, count in survey.answers.items():
            listed(name).answers = count
            listed(name).use(survey.last_used.get(name))
    for path in runs:
        try:
            run = read_facts(path)
        except SettingsError as error:
            problems.append(str(error))
            continue
        for name in {name for name in (run.model, run.judge) if name}:
            listed(name).runs += 1
            listed(name).use(run.end or run.start)
    for entry in project:
        listed(entry.name).keys.append(f"{entry.file}: {entry.key}")
    kept = {} if survey is None else survey.facts
    for model in models.values():
        model.facts, model.note = facts_of(model.name, kept)
    return [models[name] for name in sorted(models)], problems


def facts_of(name: str, kept: Mapping[str, Mapping[str, Any]]) -> tuple[Resolution | None, str]:
    """Return the facts about a model, or why there are none; `kept` are a store's, by model."""
    if name.startswith(("tablebench/", "gguf:")):
        return None, BUILT_IN
    stored = kept.get(name)
    version = litellm_version()
    is_current = stored is not None and stored.get("litellm_version") == version
    if stored is not None and ((is_current and "deprecation_date" in stored) or version is None):
        return Resolution.from_json(stored), ""
    from pytest_tablebench.models.litellm_facts import resolve

    try:
        if not isinstance(make_provider(name), LiteLLMModel):
            return None, BUILT_IN
        facts = resolve(name, None, {})
    except (ModelError, SettingsError) as error:
        return None, str(error)
    if (facts.max_input_tokens, facts.input_cost_per_token, facts.deprecation_date) == (None,) * 3:
        return None, UNKNOWN
    return facts, ""
