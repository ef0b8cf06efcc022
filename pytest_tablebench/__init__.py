"""Measure how well language models read and reason over tables, inside pytest.

The names below are the public surface for use in code; they are loaded when first used, so
that importing the package (as pytest does for its plugin) costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.claims.estimate import interval
    from pytest_tablebench.claims.gates import judge_gates
    from pytest_tablebench.errors import (
        DataError,
        DataMissing,
        ModelError,
        SettingsError,
        TableBenchError,
        TableError,
    )
    from pytest_tablebench.metrics import Score, postprocess, score
    from pytest_tablebench.papers.analyses.analyse import analyse
    from pytest_tablebench.results.run import read_run
    from pytest_tablebench.running.assertions import (
        WrongAnswer,
        assert_accuracy,
        assert_chart_ecr,
        assert_chart_pass_at_1,
        assert_exact_match,
        assert_execution_accuracy,
        assert_judged,
        assert_label_f1,
        assert_program_accuracy,
        assert_rouge,
        assert_score,
        assert_token_f1,
    )
    from pytest_tablebench.running.scorer import score_answer
    from pytest_tablebench.serializers import serialize
    from pytest_tablebench.tables.perturbations import perturb
    from pytest_tablebench.tables.table import Table

__all__ = [
    "DataError",
    "DataMissing",
    "ModelError",
    "Score",
    "SettingsError",
    "Table",
    "TableBenchError",
    "TableError",
    "WrongAnswer",
    "analyse",
    "assert_accuracy",
    "assert_chart_ecr",
    "assert_chart_pass_at_1",
    "assert_exact_match",
    "assert_execution_accuracy",
    "assert_judged",
    "assert_label_f1",
    "assert_program_accuracy",
    "assert_rouge",
    "assert_score",
    "assert_token_f1",
    "interval",
    "judge_gates",
    "perturb",
    "postprocess",
    "read_run",
    "score",
    "score_answer",
    "serialize",
]

__getattr__ = lazily(
    __name__,
    {
        "running.assertions": (
            "WrongAnswer",
            "assert_accuracy",
            "assert_chart_ecr",
            "assert_chart_pass_at_1",
            "assert_exact_match",
            "assert_execution_accuracy",
            "assert_judged",
            "assert_label_f1",
            "assert_program_accuracy",
            "assert_rouge",
            "assert_score",
            "assert_token_f1",
        ),
        "errors": (
            "DataError",
            "DataMissing",
            "ModelError",
            "SettingsError",
            "TableBenchError",
            "TableError",
        ),
        "metrics": ("Score", "postprocess", "score"),
        "tables.perturbations": ("perturb",),
        "claims.estimate": ("interval",),
        "papers.analyses.analyse": ("analyse",),
        "claims.gates": ("judge_gates",),
        "results.run": ("read_run",),
        "running.scorer": ("score_answer",),
        "serializers": ("serialize",),
        "tables.table": ("Table",),
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
