"""Gates: bounds on the figures of a run, judged with their uncertainty (spec: statistics.md)."""

from pytest_tablebench.claims.estimate import mcnemar, sign_flip
from pytest_tablebench.claims.gates._evaluation import cut_short, judge_gates
from pytest_tablebench.claims.gates._grammar import (
    Gate,
    baseline_needed,
    gate_without_baseline,
    parse_gate,
    parse_gates,
    recorded_gates,
)
from pytest_tablebench.claims.gates._judged import without_labels
from pytest_tablebench.claims.gates._power import PlannedGate, plan_gates
from pytest_tablebench.claims.gates._result import (
    GateResult,
    exit_code,
    stored_results,
    verdict_line,
)
from pytest_tablebench.claims.gates._scopes import JudgeLabels, without_tags
from pytest_tablebench.claims.gates._stopping import StoppingRule, order

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
