"""Every figure of every analysis, over the golden score sets."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from pytest_tablebench import analyse

from . import vectors

FILE = "analyses.json"


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def numbers(value):
    """How many numbers a structure holds."""
    if isinstance(value, dict):
        return sum(numbers(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(numbers(inner) for inner in value)
    return int(is_number(value))


def differences(found, expected, where=""):
    """What differs, and how many numbers were compared."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if set(found) != set(expected):
            return [f"{where}: keys {sorted(found)} instead of {sorted(expected)}"], 0
        pairs = [(found[key], expected[key], f"{where}/{key}") for key in expected]
    elif isinstance(expected, list) and isinstance(found, list):
        if len(found) != len(expected):
            return [f"{where}: {len(found)} entries instead of {len(expected)}"], 0
        pairs = [
            (*pair, f"{where}/{place}")
            for place, pair in enumerate(zip(found, expected, strict=True))
        ]
    elif is_number(expected):
        same = is_number(found) and math.isclose(found, expected, rel_tol=0, abs_tol=1e-9)
        return [] if same else [f"{where}: {found!r} instead of {expected!r}"], 1
    else:
        same = type(found) is type(expected) and found == expected
        return [] if same else [f"{where}: {found!r} instead of {expected!r}"], 0
    wrong, count = [], 0
    for pair in pairs:
        more, compared = differences(*pair)
        wrong += more
        count += compared
    return wrong, count


@pytest.mark.parametrize("item", vectors.params(FILE, lambda item: item["id"]))
def test_every_figure_is_the_reference_s(item):
    wrong, count = differences(analyse(item["records"], item["params"]), item["expected"])
    assert wrong == []
    assert count == numbers(item["expected"])


def test_all_numbers_are_compared():
    sets = vectors.load(FILE)
    assert len(sets) == 19
    assert sum(numbers(item["expected"]) for item in sets) == 9816


@pytest.mark.parametrize("item", vectors.params(FILE, lambda item: item["id"]))
def test_objects_in_another_order_give_the_same(item):
    objects = [SimpleNamespace(**record) for record in reversed(item["records"])]
    assert analyse(iter(objects), item["params"]) == analyse(item["records"], item["params"])


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        ({"a": [1.0, None]}, []),
        ({"a": [1.0 + 2e-9, None]}, ["/a/0: 1.000000002 instead of 1"]),
        ({"a": [1, 0]}, ["/a/1: 0 instead of None"]),
        ({"a": [True, None]}, ["/a/0: True instead of 1"]),
        ({"a": [1]}, ["/a: 1 entries instead of 2"]),
        ({"a": [1, None], "b": 1}, [": keys ['a', 'b'] instead of ['a']"]),
    ],
)
def test_the_comparison_sees_differences(found, wrong):
    assert differences(found, {"a": [1, None]})[0] == wrong
