"""Gates: bounds on the figures of a run, judged with their uncertainty (spec: statistics.md)."""

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results._intervals import mcnemar, sign_flip
from pytest_tablebench.results.gates._anytime import AnytimeRule
from pytest_tablebench.results.gates._evaluation import cut_short, judge_gates
from pytest_tablebench.results.gates._grammar import (
    Gate,
    baseline_needed,
    gate_without_baseline,
    parse_gate,
    parse_gates,
    recorded_gates,
)
from pytest_tablebench.results.gates._judged import without_labels
from pytest_tablebench.results.gates._labels import JudgeLabels
from pytest_tablebench.results.gates._passes import PassesRule
from pytest_tablebench.results.gates._point import PointRule
from pytest_tablebench.results.gates._power import PlannedGate, plan_gates
from pytest_tablebench.results.gates._result import (
    GateResult,
    exit_code,
    stored_results,
    verdict_line,
)
from pytest_tablebench.results.gates._scopes import without_tags
from pytest_tablebench.results.gates._stopping import StoppingRule, order
from pytest_tablebench.util.names import unknown_name

__all__ = [
    "Gate",
    "GateResult",
    "JudgeLabels",
    "PlannedGate",
    "StoppingRule",
    "baseline_needed",
    "cut_short",
    "exit_code",
    "gate_without_baseline",
    "judge_gates",
    "make_rule",
    "mcnemar",
    "order",
    "parse_gate",
    "parse_gates",
    "plan_gates",
    "recorded_gates",
    "sign_flip",
    "stored_results",
    "verdict_line",
    "without_labels",
    "without_tags",
]


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
        raise SettingsError(f"--bench-stop-when-decided: {unknown_name('rule', name, rules)}")
    return rules[name](gates, planned, **options)
