"""The stopping rules by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.gates._anytime import AnytimeRule
from pytest_tablebench.results.gates._grammar import Gate
from pytest_tablebench.results.gates._passes import PassesRule
from pytest_tablebench.results.gates._point import PointRule
from pytest_tablebench.results.gates._stopping import RULES, StoppingRule
from pytest_tablebench.util.names import unknown_name


def make_rule(
    name: str, gates: Sequence[str | Gate], planned: Iterable[Any], **options: Any
) -> StoppingRule:
    """Return the stopping rule `passes`, `anytime` or `point`; options as `StoppingRule`.

    Raises `SettingsError` for another name.
    """
    rules: dict[str, type[StoppingRule]] = {
        rule.name: rule for rule in (PassesRule, AnytimeRule, PointRule)
    }
    if name not in rules:
        raise SettingsError(f"--bench-stop-when-decided: {unknown_name('rule', name, RULES)}")
    return rules[name](gates, planned, **options)
