"""One of several models has a wrong key: the run continues with the others."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.toy_bench import Bench

WHY = "stopped after 3 cases in a row without an answer: a wrong key"


@pytest.fixture
def six(bench: Bench) -> Bench:
    """Six questions with one answer."""
    bench.data(toy=[[f"e{n}", f"How old is {n}?", ["36"]] for n in range(6)])
    return bench


def test_a_model_with_a_wrong_key_stops_no_other_model(six: Bench) -> None:
    result = six.run("--model=echo/locked", "--model=echo/any", "--bench-gate=all.pass_rate >= 0.1")
    locked, other = sorted((six.path / "run").iterdir(), key=lambda path: "locked" not in path.name)
    assert locked.name.endswith("locked")
    call_counts = Counter(case_id.rpartition("/")[2] for case_id, _ in six.calls("ask"))
    assert sorted(call_counts.values()) == [3, 6]
    assert [record["reason"] for record in six.records(f"run/{locked.name}")] == ["auth"] * 3
    assert [record["outcome"] for record in six.records(f"run/{other.name}")] == ["right"] * 6
    # Cases without a call are skipped; the recorded ones leave the gate undecided.
    result.assert_outcomes(passed=6, errors=3, skipped=3)
    facts = six.facts(f"run/{locked.name}")
    assert (facts["status"], facts["ended"]) == ("incomplete", WHY)
    assert [gate["state"] for gate in facts["gates"]] == ["undecided"]
    facts = six.facts(f"run/{other.name}")
    assert (facts["status"], facts["ended"]) == ("complete", None)
    assert [gate["state"] for gate in facts["gates"]] == ["holds"]
    assert result.ret == 11
    assert result.outlines.count(WHY) == 1


def test_the_run_ends_when_its_last_model_has_failed(six: Bench) -> None:
    result = six.run("--model=echo/locked", "--model=other/locked")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert len(six.calls("ask")) == 6
    result.stdout.fnmatch_lines([f"*Interrupted: tablebench {WHY}*"])
