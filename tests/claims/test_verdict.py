"""The verdict on a run, for pytest, `merge` and `rejudge`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.gates import GateResult, StoppingRule, order, parse_gates
from pytest_tablebench.claims.verdict import (
    RunVerdict,
    decided_before,
    joint_exit_code,
    judge_run,
)
from pytest_tablebench.results import ScoreRow, ScoreTable
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.score_table import raw_digests

HOLDS, FAILS, UNSURE = "d.no_answer <= 0.5", "d.no_answer <= 0.1", "e.performance >= 0.5"
"""Gates on `four()`: one of four cases has no answer, and the dataset `e` has no case."""


def stand_in(table: ScoreTable, **facts: Any) -> Run:
    """Return a run without a run folder."""
    run = Run(Path("absent"), RunFacts.from_json(facts), table)
    run.table = table
    return run


def rows(scores: Iterable[float | None]) -> list[ScoreRow]:
    return [
        ScoreRow(
            benchmark="b",
            dataset="d",
            example_id=str(number),
            serializer="html",
            perturbation="none",
            score=score,
            passed=None if score is None else score >= 0.5,
            reason="timeout" if score is None else None,
        )
        for number, score in enumerate(scores)
    ]


def four(**run: Any) -> Run:
    return stand_in(
        ScoreTable.from_records(rows([1.0, 1.0, 0.0, None]), answers=raw_digests),
        **run,
    )


def states(verdict: RunVerdict) -> list[str]:
    return [result.state for result in verdict.gates]


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ([HOLDS], 0),
        ([HOLDS, FAILS], 10),
        ([HOLDS, UNSURE], 11),
        ([UNSURE, FAILS], 10),
        ([], None),
    ],
)
def test_gates_determine_the_exit_code(texts: list[str], code: int | None) -> None:
    verdict = judge_run(four(), parse_gates(texts))
    assert verdict.exit_code == code
    assert [entry["gate"] for entry in verdict.gate_entries] == texts


def test_in_a_run_cut_short_only_a_cost_that_is_too_high_is_decided() -> None:
    gates = parse_gates([HOLDS, FAILS, "run.cost <= 1", "run.cost <= 5"])
    verdict = judge_run(four(cost_usd=3.0), gates, ended="interrupted")
    assert states(verdict) == ["undecided", "undecided", "fails", "undecided"]
    assert verdict.gates[0].reason.endswith("were asked: interrupted")
    assert verdict.exit_code == 10


def test_gates_decided_before_a_run_was_cut_short_stay_decided() -> None:
    decided = [GateResult(gate=HOLDS, bound=0.5, state="fails", reason="as then")]
    gates = parse_gates([HOLDS, FAILS])
    verdict = judge_run(four(), gates, ended="its own gates were decided", decided=decided)
    assert states(verdict) == ["fails", "undecided"]
    assert verdict.gates[0] == decided[0]
    # A complete run is judged on all its cases.
    assert states(judge_run(four(), gates, decided=decided)) == ["holds", "fails"]


@pytest.mark.parametrize(("ended", "code"), [(None, 0), ("interrupted", 11)])
def test_a_part_does_not_judge_gates_and_its_exit_code_says_if_it_is_complete(
    ended: str | None, code: int
) -> None:
    verdict = judge_run(four(), parse_gates([FAILS]), ended=ended, is_part=True)
    assert (verdict.gates, verdict.gates_left, verdict.exit_code) == ((), True, code)
    without_gates = judge_run(four(), [], ended=ended, is_part=True)
    assert (without_gates.gates_left, without_gates.exit_code) == (False, None)


@pytest.mark.parametrize(("ended", "code"), [(None, 0), ("a part is missing", 11)])
def test_an_incomplete_run_that_must_be_whole_fails_without_gates_too(
    ended: str | None, code: int
) -> None:
    assert judge_run(four(), [], ended=ended, must_be_whole=True).exit_code == code
    failed = judge_run(four(), parse_gates([FAILS]), must_be_whole=True)
    assert (failed.exit_code, failed.gates_left) == (10, False)


def test_a_gate_against_a_baseline_with_few_equal_answers_is_undecided() -> None:
    """Three questions say little about others, even if all replies are equal."""
    records = [{**asdict(row), "raw": f"reply {row.example_id}"} for row in rows([1.0, 0.0, 1.0])]
    both = [stand_in(ScoreTable.from_records(records, answers=raw_digests)) for _ in range(2)]
    verdict = judge_run(both[0], parse_gates(["d.performance >= baseline"]), both[1])
    assert (states(verdict), verdict.gates[0].identical) == (["undecided"], True)
    assert any("Without a margin" in note for note in verdict.gates[0].notes)


def test_a_stopping_rule_reports_the_cases_and_cost_it_saved() -> None:
    planned = [*rows([1.0] * 100), *(replace(row, serializer="csv") for row in rows([1.0] * 100))]
    gates = parse_gates(["d.performance >= 0.2", HOLDS])
    rule = StoppingRule(gates, planned)
    run = stand_in(ScoreTable.from_records(planned), calls_paid=10, cost_usd=0.5)
    for row in order(planned):
        rule.feed(row)
        if rule.all_decided:
            break
    assert rule.n_asked == 100  # one of two passes
    # All gates are decided, so the interruption does not matter.
    verdict = judge_run(run, gates, rule=rule, ended="interrupted")
    assert (states(verdict), verdict.exit_code) == (["holds", "holds"], 0)
    assert verdict.cases_saved == 100
    # 0.5 USD over 10 calls.
    money = f"At 0.050000 USD a call this saved about {verdict.cases_saved * 0.05:.2f} USD."
    assert verdict.saved_text.endswith(money)


def test_an_interrupted_rule_keeps_its_decisions() -> None:
    # A few right answers decide the gate at .2. The gate at .99 needs nearly all 200.
    easy, hard = "d.performance >= 0.2", "d.performance >= 0.99"
    planned, gates = rows([1.0] * 200), parse_gates([easy, hard])
    rule = StoppingRule(gates, planned)
    for row in planned:
        rule.feed(row)
        if rule.decided:
            break
    assert list(rule.decided) == [easy]
    verdict = judge_run(
        stand_in(ScoreTable.from_records(planned)), gates, rule=rule, ended="killed"
    )
    assert (states(verdict), verdict.cases_saved) == (["holds", "undecided"], 0)
    assert verdict.gates[1].reason.endswith(": killed")


@pytest.mark.parametrize(
    ("codes", "joint"),
    [([0, 0], 0), ([0, 11], 11), ([11, 10, 0], 10), ([None, 10], 11), ([], 11)],
)
def test_the_runs_of_several_models_have_one_exit_code(codes: list[int | None], joint: int) -> None:
    verdict_of = {
        code: judge_run(four(), parse_gates(texts))
        for code, texts in ((0, [HOLDS]), (10, [FAILS]), (11, [UNSURE]), (None, []))
    }
    assert joint_exit_code([verdict_of[code] for code in codes]) == joint


def test_decisions_against_another_baseline_are_discarded(tmp_path: Path) -> None:
    texts = ["d.performance >= 0.5", "d.performance >= baseline - 0.1"]
    entries = [GateResult(gate=text, bound=0.5, state="holds").entry() for text in texts]
    run = {"cases_saved": 3, "gates": entries, "baseline": str(tmp_path / "old")}

    def standing(run: dict[str, Any], baseline: Path | None) -> list[str]:
        return [result.gate for result in decided_before(RunFacts.from_json(run), baseline)]

    assert standing(run, tmp_path / "old") == texts
    assert standing(run, tmp_path / "other") == texts[:1]
    assert standing(run, None) == texts[:1]
    assert standing(run | {"baseline": None}, tmp_path / "old") == texts[:1]
    assert standing(run | {"cases_saved": 0}, tmp_path / "old") == []
