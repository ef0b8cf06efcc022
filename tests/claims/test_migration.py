"""The verdict on a migration, against conditions computed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.migration import (
    Migration,
    cheapest,
    exit_code_of,
    judge_migration,
)
from pytest_tablebench.results import Record
from pytest_tablebench.results.run import load_run
from tests.support.run_folders import record, write_run

Texts = Mapping[str, Any]


def records(scores: Sequence[float | None], **fields: Any) -> list[Record]:
    """Return one case for each score; the first half has the tag `kind=look`, the rest `add`."""
    half = len(scores) // 2
    return [
        record(
            f"e{number:03}",
            "csv",
            "none",
            score,
            tags={"kind": "look" if number < half else "add"},
            **fields,
        )
        for number, score in enumerate(scores)
    ]


def judged(
    folder: Path,
    old: Sequence[float | None],
    new: Sequence[float | None],
    *,
    margin: float = 0.01,
    fields: tuple[Texts, Texts] = ({}, {}),
    facts: tuple[Texts, Texts] = ({}, {}),
) -> Migration:
    paths = [
        write_run(folder / name, records(scores, **more), **{"model": name, **about})
        for name, scores, more, about in zip(("old", "new"), (old, new), fields, facts, strict=True)
    ]
    return judge_migration(load_run(paths[0]), load_run(paths[1]), margin)


# The verdict


def test_enough_equal_answers_are_a_yes(tmp_path: Path) -> None:
    few = judged(tmp_path / "few", [1, 1], [1, 1])
    assert (few.verdict, exit_code_of([few])) == ("undecided", 11)
    # 1 - .025^(1/n) <= .05 from 72 examples on.
    migration = judged(tmp_path, [1, 0] * 36, [1, 0] * 36, margin=0.05)
    assert migration.verdict == "yes"
    assert migration.scopes[0].result.identical
    assert exit_code_of([migration]) == 0


def test_better_on_average_and_worse_on_one_slice_is_a_no(tmp_path: Path) -> None:
    old = [1] * 17 + [0] * 3 + [0] * 20
    new = [0] * 17 + [1] * 3 + [1] * 20
    migration = judged(tmp_path, old, new)
    [whole] = migration.datasets
    assert whole.result.value == pytest.approx(0.15)  # 17 lost, 23 gained of 40
    assert migration.verdict == "no"
    # -.7 -+ 2.093 * .7327 / sqrt(20), cut at -1.
    assert migration.reasons == (
        "toy is better on average (+0.150), but toy, kind=look is worse beyond the margin: "
        "-0.700 (-1.000 to -0.357)",
    )
    assert exit_code_of([migration]) == 10
    assert (migration.n_better, migration.n_worse) == (23, 17)
    assert len(migration.better) == len(migration.worse) == 10


def test_a_slice_that_is_worse_only_before_holms_correction_refuses_nothing(tmp_path: Path) -> None:
    # -.5 -+ 2.093 * .8885 / sqrt(20) is below the margin, but its tail of about .013 is not below
    # .025 / 3.
    migration = judged(tmp_path, [1] * 15 + [0] * 25, [0] * 15 + [1] * 25)
    look = next(scope for scope in migration.scopes if scope.name == "kind=look")
    assert look.result.holm_marked
    assert migration.verdict == "undecided"


def test_too_few_examples_are_undecided_with_the_number(tmp_path: Path) -> None:
    old, new = [1, 1, 1, 1, 0, 0] * 2, [1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0]
    migration = judged(tmp_path, old, new)
    assert migration.verdict == "undecided"
    assert migration.further is not None
    # Two better and one worse of twelve: s^2 = (3 - 1 / 12) / 11, and the estimate is
    # 1 / 12 + .01 above the bound: (1.96 + .8416)^2 * .2652 / .0933^2 = 239 in all.
    assert migration.further == pytest.approx(239 - 12, abs=3)
    total = f"about {12 + migration.further} examples ({migration.further} more) would"
    assert total in migration.reasons[0]
    assert exit_code_of([migration]) == 11
    more = judged(tmp_path / "more", old * 21, new * 21)
    assert more.datasets[0].result.state == "holds"


def test_a_small_slice_does_not_prevent_a_yes(tmp_path: Path) -> None:
    old, new = [0] * 60, [0] * 30 + [1] * 30
    new[0], old[1] = 1, 1
    migration = judged(tmp_path, old, new, margin=0.05)
    states = {scope.name: scope.result.state for scope in migration.scopes}
    assert states == {"toy": "holds", "kind=look": "undecided", "kind=add": "holds"}
    assert migration.verdict == "yes"
    assert any("1 slice is too small" in remark for remark in migration.remarks)


def test_missing_answers_are_a_no_although_they_are_in_no_pair(tmp_path: Path) -> None:
    migration = judged(tmp_path, [1] * 40, [None] * 4 + [1] * 36)
    assert migration.datasets[0].result.value == 0
    assert migration.verdict == "no"
    assert "4 of 40 cases have no answer (0.1)" in migration.reasons[0]
    assert "timeout 4" in migration.reasons[0]
    assert migration.new.no_answer == pytest.approx(0.1)


def test_an_interrupted_run_is_undecided(tmp_path: Path) -> None:
    ended = {"status": "incomplete", "ended": "the budget was spent"}
    # Its wrong and missing answers prove nothing: the cases asked first are no fair sample.
    migration = judged(tmp_path, [1] * 40, [0] * 20 + [None] * 20, facts=({}, ended))
    assert migration.verdict == "undecided"
    assert migration.reasons == ("the run of new is incomplete: the budget was spent",)
    assert migration.further is None


@pytest.mark.parametrize(("state", "verdict"), [("fails", "no"), ("undecided", "undecided")])
def test_the_gates_of_the_project_count(tmp_path: Path, state: str, verdict: str) -> None:
    gate = {"gate": "toy.performance >= 0.9", "state": state, "bound": 0.9, "reason": "why"}
    migration = judged(
        tmp_path, [1, 0] * 20, [1, 0] * 20, margin=0.1, facts=({}, {"gates": [gate]})
    )
    assert migration.verdict == verdict
    assert migration.reasons[0].startswith("gate toy.performance >= 0.9")


# Figures of both sides


def test_price_latency_and_tokens(tmp_path: Path) -> None:
    stored = {"from_store": True, "latency_s": 9.0, "cost_usd": 0.002, "prompt_tokens": 100}
    fresh = {"latency_s": 2.0, "cost_usd": 0.001, "prompt_tokens": 50}
    migration = judged(tmp_path, [1] * 20, [1] * 20, fields=(stored, fresh))
    old, new = migration.old, migration.new
    assert old.price == pytest.approx(2.0)  # .002 for each of 1,000
    assert new.price == pytest.approx(1.0)
    assert (old.tokens["prompt_tokens"], new.tokens["prompt_tokens"]) == (100, 50)
    assert old.latency is not None
    assert new.latency is not None
    assert (old.latency.median, old.latency.stored) == (9.0, True)
    assert (new.latency.p95, new.latency.stored) == (2.0, False)
    assert any("the times of old come with stored answers" in text for text in migration.remarks)


def test_what_else_differs(tmp_path: Path) -> None:
    facts = (
        {"params_sent": {"temperature": 0, "max_tokens": 512}, "params_dropped": {}},
        {
            "params_sent": {"max_completion_tokens": 8704},
            "params_dropped": {"temperature": "the model takes only 1"},
        },
    )
    fields = {"reply_limit": 512}, {"reply_limit": 8704, "reasoning_tokens": 40}
    migration = judged(tmp_path, [1] * 4, [1] * 4, facts=facts, fields=fields)
    rows = {item.name: (item.before, item.after, item.meaning) for item in migration.differences}
    assert rows["params_sent.temperature"] == ("0", "not sent", "the model takes only 1")
    assert rows["params_sent.max_tokens"] == ("512", "not sent", "")
    assert rows["token limit of replies"] == ("512 tokens", "8,704 tokens", "")
    assert rows["thinking"] == ("none counted", "40 tokens an answer", "")
    assert "model" not in rows


def test_the_cheapest_that_passes(tmp_path: Path) -> None:
    passing = judged(tmp_path, [1] * 40, [1] * 40)

    def candidate(name: str, price: float | None, verdict: Any = "yes") -> Migration:
        return replace(passing, verdict=verdict, new=replace(passing.new, model=name, price=price))

    dear, cheap = candidate("dear", 5.0), candidate("cheap", 1.0)
    refused, unknown = candidate("refused", 0.1, "no"), candidate("unknown", None)
    assert cheapest([dear, cheap, refused, unknown]) is cheap
    assert cheapest([refused, unknown]) is unknown
    assert cheapest([refused]) is None
    assert exit_code_of([refused, candidate("open", 1.0, "undecided")]) == 11
    assert exit_code_of([refused, dear]) == 0
