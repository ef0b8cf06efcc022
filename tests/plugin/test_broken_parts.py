"""Registered parts that raise lose only their own cases."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import ADA, BO, CONFTEST, Bench

BROKEN = {
    "serializer": (
        """
def broken(table):
    return {}["format"]

def pytest_tablebench_register_serializer(register):
    register("own", broken)
""",
        ["--bench-serializer=own,csv", "--bench-perturbation=none"],
        'return {}["format"]',
    ),
    "perturbation": (
        """
def broken(table, *, seed):
    return {}["change"]

def pytest_tablebench_register_perturbation(register):
    register("own", broken)
""",
        ["--bench-serializer=csv", "--bench-perturbation=own,none"],
        'return {}["change"]',
    ),
    "dataset": (
        """
def broken(self, example_id):
    return make(*self.rows[{}["example"]] if example_id == "bo" else self.rows[example_id])

Rows.example = broken
""",
        ["--bench-serializer=csv", "--bench-perturbation=none"],
        'self.rows[{}["example"]]',
    ),
}


@pytest.mark.parametrize("part", BROKEN)
def test_a_registered_part_that_raises_loses_its_cases_and_names_the_line(
    bench: Bench, part: str
) -> None:
    """The replay of a litellm model makes a plan and no call."""
    source, options, line = BROKEN[part]
    bench.data(toy=[ADA, BO] if part == "dataset" else [ADA])
    bench.pytester.makeconftest(CONFTEST + source)
    (bench.path / "answers").mkdir()
    result = bench.run(
        "--model=openai/test-model", "--bench-store=answers", "--bench-replay", *options
    )
    output = result.stdout.str()
    assert "INTERNALERROR" not in output
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert sorted(record["reason"] for record in bench.records()) == ["not_stored", "test_error"]
    assert line in output
    assert any(
        text.startswith("conftest.py:") and text.endswith("KeyError")
        for text in output.splitlines()
    )


@pytest.mark.parametrize("name", ["facts", "problems"])
def test_an_error_in_the_facts_of_a_dataset_is_recorded(bench: Bench, name: str) -> None:
    broken = f"\nRows.{name} = property(lambda self: {{}}['{name}'])\n"
    bench.pytester.makeconftest(CONFTEST + broken)
    result = bench.run("--model=echo/any", "--bench-limit=1")
    assert "INTERNALERROR" not in result.stdout.str()
    result.assert_outcomes(passed=1)
    [problem] = bench.facts()["datasets"]["toy"]["problems"]
    assert f"KeyError: '{name}'" in problem
