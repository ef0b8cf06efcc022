"""Strategies by name and parameters, and what a way of asking means for a dataset."""

from __future__ import annotations

from types import MappingProxyType
from typing import ClassVar

import pytest

from pytest_tablebench.datasets import AnswerForm, PromptParts, asked_dataset
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.strategies import Direct, answer_place, named_strategy, rounds_of


def whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("must be a whole number")
    return value


class Loops(Direct):
    name = "loops"
    answer_place = "box"
    parameters: ClassVar = {"most": whole, "tree": str}


KNOWN = {"direct": Direct(), "loops": Loops(), "my-own": Direct()}


def test_parameters_stand_in_brackets_behind_the_name():
    assert named_strategy("direct", KNOWN) == (KNOWN["direct"], {})
    assert named_strategy("my-own", KNOWN) == (KNOWN["my-own"], {})
    assert named_strategy("loops[most=3, tree=off]", KNOWN) == (
        KNOWN["loops"],
        {"most": 3, "tree": "off"},
    )
    assert answer_place("loops[most=3]", KNOWN) == "box"
    assert answer_place("direct", KNOWN) == answer_place("nobody's", KNOWN) == "reply"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("loop", "unknown strategy 'loop'; did you mean 'loops'?"),
        ("loop[most=3]", "unknown strategy 'loop'; did you mean 'loops'?"),
        ("loops[many=3]", "strategy 'loops': unknown parameter 'many'"),
        ("loops[most=few]", "strategy 'loops': most must be a whole number, not 'few'"),
        ("loops[most=open('x')]", "cannot read the arguments of strategy"),
        ("direct[most=3]", "strategy 'direct': it takes no parameters"),
    ],
)
def test_what_cannot_be_is_named(text, said):
    with pytest.raises(SettingsError) as caught:
        named_strategy(text, KNOWN)
    assert said in str(caught.value)
    assert isinstance(caught.value, UnknownNameError) == ("unknown strategy" in said)


def test_a_dataset_says_what_a_way_of_asking_means_for_it():
    starter = builtin_registry().datasets["starter"]
    plain = asked_dataset(starter, "object")
    assert (plain.metric, plain.chain("fixed")) == (starter.metric, starter.chain("fixed"))

    class Otherwise(Starter):
        answer_forms = MappingProxyType(
            {
                "printed": AnswerForm(
                    chain=("to_string_stripped",),
                    metric="exact_match",
                    prompt=lambda example, render: PromptParts("Count.", example.question),
                )
            }
        )

    own = Otherwise()
    printed = asked_dataset(own, "printed")
    assert (printed.metric, printed.chain("fixed")) == ("exact_match", ("to_string_stripped",))
    assert asked_dataset(own, "box").metric == starter.metric


@pytest.mark.parametrize(
    ("strategy", "rounds"),
    [
        ("direct", (1, 1)),
        ("tcot", (1, 1)),
        ("pot", (1, 1)),
        ("icot", (1, 4)),
        ("icot[max_exec=1]", (1, 2)),
        ("treethinker", (2, 2)),
        ("treethinker[tree=off]", (1, 1)),
    ],
)
def test_a_strategy_tells_the_plan_how_often_it_asks(strategy, rounds):
    assert rounds_of(strategy, builtin_registry().strategies) == rounds
