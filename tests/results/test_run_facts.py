"""The facts about a run are read and checked once."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.run_facts import RunFacts

GATE = {"gate": "a >= 0", "state": "holds", "bound": 0.0}


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("model", 7, "7, not a text"),
        ("cases_planned", True, "True, not a whole number"),
        ("cost_usd", "free", "'free', not a number"),
        (
            "gates",
            "x",
            "'x', not a list of gates, each a text or a result with gate, state and bound",
        ),
        (
            "gates",
            [{**GATE, "interval": [0, 1, 2]}],
            "not a list of gates, each a text or a result",
        ),
        ("gates", [{"gate": "a >= 0"}], "[{'gate': 'a >= 0'}], not a list of gates"),
        ("params", [], "[], not an object"),
        ("datasets", {"toy": "x"}, "{'toy': 'x'}, not an object of objects"),
        ("merged_from", [1], "[1], not a list of objects"),
        ("shards", {"toy": ["x"]}, "{'toy': ['x']}, not an object of lists of whole numbers"),
    ],
)
def test_a_fact_of_the_wrong_type_is_named_with_its_file(name: str, value: Any, kind: str) -> None:
    with pytest.raises(SettingsError) as error:
        RunFacts.from_json({name: value}, "runs/a/run.json")
    assert str(error.value).startswith(f"runs/a/run.json: {name} is ")
    assert kind in str(error.value)


def test_gates_are_texts_or_results() -> None:
    gates = ["a >= 0", GATE, {**GATE, "interval": [0.1, 0.2]}]
    assert RunFacts.from_json({"gates": gates}).gates == gates


def test_null_and_absent_facts_have_their_defaults() -> None:
    facts = RunFacts.from_json({"model": "m", "cost_usd": None, "datasets": None})
    assert (facts.model, facts.cost_usd, facts.datasets, facts.gates) == ("m", None, {}, ())
    assert (facts.is_complete, facts.is_running, facts.version) == (False, False, None)
