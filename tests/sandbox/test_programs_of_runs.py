"""Programs as steps of a run: run by the engine, kept in the store, and never run in a replay."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import CONFTEST, Bench

METRIC = """
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Execute


def printed(prediction, references, **_):
    ran = yield Execute(prediction)
    good = float(ran.output.strip() == references[0])
    return Score(good, {"printed": good, "stored": float(ran.from_store), ran.outcome: 1.0})


def pytest_tablebench_register_metric(register):
    register("printed", printed)
"""

SUITE = """
import pytest


@pytest.mark.tablebench("toy")
def test_toy(case, answer):
    pass
"""


@pytest.fixture
def bench(pytester: pytest.Pytester) -> Bench:
    made = Bench(pytester)
    (made.path / "conftest.py").write_text(
        CONFTEST.replace('metric = "exact_match"', 'metric = "printed"') + METRIC, encoding="utf-8"
    )
    made.suite(SUITE)
    return made


def test_programs_are_run_once_and_replayed_from_the_store(bench: Bench) -> None:
    model = bench.script(
        {"match": "old is Ada", "text": "print(30 + 6)"},
        {"match": "old is Bo", "text": "1 / 0"},
        {"match": "old is Cy", "text": "print(open('/etc/passwd').read())"},
    )
    bench.run_apart(f"--bench-model={model}", "--bench-store=kept")
    first = {record["example_id"]: record["parts"] for record in bench.records()}
    assert first["ada"] == {"printed": 1, "stored": 0, "ok": 1}
    assert first["bo"] == {"printed": 0, "stored": 0, "error": 1}
    assert first["cy"] == {"printed": 0, "stored": 0, "error": 1}

    bench.run_apart(
        f"--bench-model={model}", "--bench-store=kept", "--bench-replay", results="again"
    )
    again = {record["example_id"]: record["parts"] for record in bench.records("again")}
    assert again == {name: {**parts, "stored": 1} for name, parts in first.items()}
