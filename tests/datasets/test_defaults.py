"""Settings that a dataset declares for its runs."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.datasets import Dataset, Defaults, TableQuestions, defaults_of
from pytest_tablebench.errors import SettingsError


def declaring(**attributes: Any) -> TableQuestions:
    """Return a dataset with these attributes."""
    return type("Mine", (TableQuestions,), attributes)("mine", ())


def test_a_dataset_without_settings_has_the_general_defaults():
    usual = defaults_of(declaring())
    assert usual == defaults_of(Dataset)
    # Spec torr.md section 1 has only the strategy `direct`.
    assert (usual.strategy, usual.shots, usual.limit) == (("direct",), 0, None)


def test_an_empty_strategy_is_the_default():
    assert defaults_of(declaring(strategy=())).strategy == ("direct",)


def test_every_declared_field_is_read():
    declared = defaults_of(
        declaring(
            serializers="latex",
            perturbations=("none", "transpose"),
            strategy=["direct", "two_step", "direct"],
            modality=("text", "image"),
            limit=7,
            judged_threshold=0.5,
            params={"max_tokens": 4096, "temperature": 0.2},
            part="em",
            parts=("f1", "ecr"),
            tables=False,
        )
    )
    assert declared == Defaults(
        serializers=("latex",),
        perturbations=("none", "transpose"),
        strategy=("direct", "two_step"),
        modality=("text", "image"),
        shots=0,
        limit=7,
        threshold=1.0,
        judged_threshold=0.5,
        params={"max_tokens": 4096, "temperature": 0.2},
        part="em",
        parts=("f1", "ecr"),
        tables=False,
    )
    assert defaults_of(declaring(parts=())).parts == ()  # no part, which differs from all


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("limit", 0, "limit must be a whole number of at least 1, not 0"),
        ("limit", "all", "limit must be a whole number of at least 1, not 'all'"),
        ("serializers", 3, "serializers must be a name or a tuple of names, not 3"),
        ("modality", (1,), r"modality must be a name or a tuple of names, not \(1,\)"),
        ("params", ["x"], r"params must be a mapping of names to values, not \['x'\]"),
        ("params", {"api_key": "x"}, "params must not contain 'api_key': the run"),
        ("part", 1, "part must be the name of a part of its metric, not 1"),
    ],
)
def test_an_invalid_setting_is_refused_by_name(name, value, said):
    with pytest.raises(SettingsError, match=f"dataset 'mine': {said}"):
        defaults_of(declaring(**{name: value}))
