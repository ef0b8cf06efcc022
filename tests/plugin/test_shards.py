"""`--bench-shard` collects one part; the gates judge only the merged run."""

from __future__ import annotations

from tests.support.toy_bench import Bench

GATE = "--bench-gate=toy.performance >= 0.9"


def test_a_shard_collects_its_cases_and_judges_no_gate(bench: Bench) -> None:
    # All questions of the toy dataset use one table, so they are in the same shard.
    codes = {
        number: bench.run(
            f"--bench-shard={number}/2", "--model=echo/any", GATE, results=f"run-{number}"
        )
        for number in (1, 2)
    }
    [full] = [number for number, result in codes.items() if result.ret == 0]
    empty = codes[3 - full]
    assert empty.ret == 5, empty.stdout.str()  # nothing to do, as pytest says it
    assert "deselected" not in empty.stdout.str()
    assert not (bench.path / f"run-{3 - full}").exists()
    codes[full].stdout.fnmatch_lines(
        [
            "a selection (part ?/2)*",
            "gates: this run is one shard; `tablebench merge` judges the whole run",
        ]
    )
    facts = bench.facts(f"run-{full}")
    assert facts["shard"] == f"{full}/2"
    assert facts["shards"] == {"toy": [3, 0] if full == 1 else [0, 3]}
    assert facts["gates"] == ["toy.performance >= 0.9"]  # not judged: 1 of 3 is right
    assert {record["example_id"] for record in bench.records(f"run-{full}")} == {"ada", "bo", "cy"}
