"""Records of one case each for gates, and the result of a single gate."""

from __future__ import annotations

from pytest_tablebench.claims.gates import judge_gates


def cell(example, score, *, dataset="d", cell="s/p", raw=None, **more):
    serializer, _, perturbation = cell.partition("/")
    return {
        "dataset": dataset,
        "example_id": str(example),
        "serializer": serializer,
        "perturbation": perturbation,
        "score": score,
        "passed": None if score is None else score >= 0.5,
        "raw": raw,
        **more,
    }


def rows(scores, **more):
    return [cell(number, score, **more) for number, score in enumerate(scores)]


def judge(gate, records, baseline=None, **options):
    (result,) = judge_gates(records, [gate], baseline, **options)
    return result
