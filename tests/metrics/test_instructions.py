"""Rules that check whether an instruction was followed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import score
from pytest_tablebench.config.compat import COMPAT_MODES
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._instructions import RULES, follows

ARGUMENTS: dict[str, dict[str, Any]] = {
    "aabb_idioms": {"count": 2},
    "contains": {"text": "tea"},
    "contains_all_longer_than": {"words": ["tea", "cup"], "length": 9},
    "contains_without": {"required": "tea", "forbidden": "cup", "case": "exact"},
    "equals": {"text": "tea"},
    "reversed": {"text": "a cup of tea", "unit": "letters"},
    "starts_with": {"text": "tea"},
    "starts_with_longer_than": {"text": "tea", "length": 5},
}


@pytest.mark.parametrize(
    ("rule", "changed", "answer", "reference", "fixed"),
    [
        ("aabb_idioms", {}, "来来往往，说说笑笑", False, True),
        ("aabb_idioms", {}, "来来往往，说说笑笑，高高兴兴", False, False),
        ("aabb_idioms", {}, "来往来往说笑说笑，说笑说笑来往来往", True, False),
        ("aabb_idioms", {}, "来来往往，说说笑笑吧", False, False),
        ("contains_all_longer_than", {}, "a tea cup", False, True),
        ("contains_all_longer_than", {}, "a tea cup.", True, True),
        ("contains_all_longer_than", {}, "a tea bowl.", False, False),
        ("contains_without", {}, "Tea", False, False),
        ("contains_without", {"case": "fold"}, "Tea", True, True),
        ("contains_without", {"case": "fold"}, "TEA CUP", False, False),
        ("reversed", {}, "tea of cup a", True, False),
        ("reversed", {}, "aet fo puc a", False, True),
        ("reversed", {"unit": "words"}, "tea of cup a", True, True),
        ("reversed", {"text": "茶 cup"}, "puc 茶", True, True),
        ("starts_with_longer_than", {}, "teas.", False, True),
        ("starts_with_longer_than", {}, "teas..", True, True),
    ],
)
def test_each_rule_accepts_and_refuses_answers(
    rule: str, changed: dict[str, Any], answer: str, reference: bool, fixed: bool
) -> None:
    arguments = {**ARGUMENTS[rule], **changed}
    assert follows(rule, arguments, answer, "reference") is reference
    assert follows(rule, arguments, answer, "fixed") is fixed


def test_a_rule_is_a_metric() -> None:
    found = score("treb_instruction", "tea!", [], rule="contains", arguments={"text": "tea"})
    assert (found.value, dict(found.parts)) == (1.0, {"follow": 1.0})


@pytest.mark.parametrize(
    ("rule", "arguments", "named"),
    [
        ("contain", {}, r"unknown instruction rule 'contain'.*'contains'"),
        ("contains", {}, "text"),
        ("contains", {"text": "a", "length": 3}, "length"),
        ("starts_with_longer_than", {"text": "a", "length": "long"}, "starts_with_longer_than"),
        ("contains_without", {"required": "a", "forbidden": "b", "case": "no"}, "'no'.*exact"),
        ("reversed", {"text": "a", "unit": "letter"}, "'letter'.*'letters'"),
    ],
)
def test_an_invalid_rule_is_named(rule: str, arguments: Any, named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        follows(rule, arguments, "abc", "fixed")


@given(st.sampled_from(sorted(RULES)), st.text("tea cup来往，\n\ud800", max_size=40))
def test_any_answer_is_judged(rule: str, answer: str) -> None:
    for compat in COMPAT_MODES:
        assert follows(rule, ARGUMENTS[rule], answer, compat) in {True, False}
