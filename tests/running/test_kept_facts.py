"""Facts about models that a store keeps: later facts are asked for, old ones stay readable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.models import LiteLLMModel, Resolution
from pytest_tablebench.models.litellm_facts import facts_entry
from pytest_tablebench.running._model_facts import Resolutions
from pytest_tablebench.store import Store
from pytest_tablebench.store.upkeep import survey

MODEL = LiteLLMModel("some/model", None, 120.0)
DAY = "2026-12-31"


class Engine:
    """Answers questions about facts as the engine does, and counts them."""

    def __init__(self, store: Store) -> None:
        self.store, self.questions = store, 0

    def __call__(self, name: str, question: Mapping[str, Any]) -> dict[str, Any]:
        assert name == "facts"
        self.questions += 1
        facts = Resolution(reasons=False, deprecation_date=DAY, sent={"seed": 1}).to_json()
        self.store.put_resolution(facts_entry(question, facts))
        return facts


def kept_by_an_older_version(store: Store) -> None:
    """Keep facts without the date and without the model's name."""
    engine = Engine(store)
    Resolutions(lambda: store, engine, replay=False).of_model(MODEL, {"seed": 1})
    [entry] = store.resolutions()
    old = {name: fact for name, fact in entry["facts"].items() if name != "deprecation_date"}
    store.put_resolution({"key": entry["key"], "facts": old})


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "answers") as store:
        yield store


def test_old_facts_do_not_hide_the_date_for_ever(store: Store) -> None:
    kept_by_an_older_version(store)
    engine = Engine(store)
    for _ in range(3):
        facts = Resolutions(lambda: store, engine, replay=False).of_model(MODEL, {"seed": 1})
        assert facts is not None
        assert facts.deprecation_date == DAY
    assert engine.questions == 1  # the first run keeps the date for the others


def test_a_replay_reads_old_facts_and_asks_nobody(store: Store) -> None:
    kept_by_an_older_version(store)
    engine = Engine(store)
    facts = Resolutions(lambda: store, engine, replay=True).of_model(MODEL, {"seed": 1})
    assert facts == Resolution(reasons=False, sent={"seed": 1})
    assert engine.questions == 0


def test_a_survey_has_the_newest_facts_by_model(store: Store, tmp_path: Path) -> None:
    kept_by_an_older_version(store)
    assert survey(tmp_path / "answers").facts == {}  # an older entry does not name its model
    Resolutions(lambda: store, Engine(store), replay=False).of_model(MODEL, {"seed": 1})
    kept = survey(tmp_path / "answers").facts["some/model"]
    assert (kept["deprecation_date"], kept["sent"]) == (DAY, {"seed": 1})
