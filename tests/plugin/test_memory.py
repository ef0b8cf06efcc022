"""Counterfactual tables and questions without a table: what the model knows from memory."""

from __future__ import annotations

from pytest_tablebench.running.rejudge import rejudge
from tests.support.toy_bench import ADA, BO, SUITE


def test_the_terminal_shows_how_many_answers_come_from_memory(bench):
    bench.suite(SUITE.replace("toy", "starter"))
    # 1969 is the answer for the original table; the model gives it for every table.
    model = bench.script({"default": "1969"})
    perturbations = "--bench-perturbation=none,counterfactual,no_table"
    result = bench.run(f"--model={model}", "--bench-limit=1", "--bench-gate-point", perturbations)
    by_perturbation = {record["perturbation"]: record for record in bench.records()}
    assert {name: record["score"] for name, record in by_perturbation.items()} == {
        "none": 1.0,
        "counterfactual": 0.0,
        "no_table": 1.0,
    }
    assert by_perturbation["counterfactual"]["parts"]["memory"] == 1.0
    assert by_perturbation["counterfactual"]["references"] != ["1969"]
    assert not by_perturbation["no_table"]["preserves_meaning"]
    result.stdout.fnmatch_lines(
        [
            "starter: from memory, or guessed: 100.0 % of the answers are right without the table "
            "(1 example); 100.0 % repeat the original answer after its cell was changed (1 example)"
        ]
    )
    again = rejudge(bench.path / "run", compat="fixed")
    assert (again.rescored, again.better, again.worse) == (0, 0, 0)


def test_a_question_without_a_counterfactual_is_skipped(bench):
    """The counterfactual cannot change two of the three questions, whose answers are numbers."""
    bench.data(toy=[ADA, BO, ["old", "Who is the oldest?", ["Bo"]]])
    result = bench.run(
        *(f"--model={bench.script({'default': '?'})}", "--bench-serializer=html", "-n1"),
        *("--bench-perturbation=none,counterfactual", "--bench-store=none"),
        *("--bench-gate=all.no_answer <= 0", "--bench-gate-point"),
    )
    cases = [(record["example_id"], record["perturbation"]) for record in bench.records()]
    assert sorted(cases) == [
        ("ada", "none"),
        ("bo", "none"),
        ("old", "counterfactual"),
        ("old", "none"),
    ]
    facts = bench.facts()
    why = {"counterfactual cannot change the question": 2}
    assert facts["by_dataset"]["toy"]["does_not_apply"] == why
    assert (facts["cases_planned"], facts["status"]) == (4, "complete")
    [gate] = facts["gates"]
    assert (gate["state"], gate["n_cases"], gate["n_no_answer"]) == ("holds", 4, 0)
    assert result.ret == 0
    result.assert_outcomes(failed=4, skipped=2)
