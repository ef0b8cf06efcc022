"""Gates: what may be claimed of a run, with which certainty (spec: statistics.md)."""

from pytest_tablebench.results._intervals import clopper_pearson
from pytest_tablebench.results.gates._grammar import MEASURES, Gate, check_gates, parse_gate
from pytest_tablebench.results.gates._judge import cut_short, judge_gates
from pytest_tablebench.results.gates._paired import mcnemar, sign_flip
from pytest_tablebench.results.gates._power import (
    PlannedGate,
    assumed_sd,
    plan_gates,
    power,
    smallest_drop,
)
from pytest_tablebench.results.gates._result import (
    GateResult,
    exit_code,
    holm,
    stored_results,
    verdict_line,
)
from pytest_tablebench.results.gates._rules import make_rule
from pytest_tablebench.results.gates._stopping import RULES, StoppingRule, order
from pytest_tablebench.results.gates._wealth import Wealth

__all__ = [
    "MEASURES",
    "RULES",
    "Gate",
    "GateResult",
    "PlannedGate",
    "StoppingRule",
    "Wealth",
    "assumed_sd",
    "check_gates",
    "clopper_pearson",
    "cut_short",
    "exit_code",
    "holm",
    "judge_gates",
    "make_rule",
    "mcnemar",
    "order",
    "parse_gate",
    "plan_gates",
    "power",
    "sign_flip",
    "smallest_drop",
    "stored_results",
    "verdict_line",
]
