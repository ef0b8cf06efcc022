"""Strategy and modality as axes of the grid."""

from __future__ import annotations

import pytest

from tests.plugin.test_pictures import PNG
from tests.support.toy_bench import CONFTEST

STRATEGY = """
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message


class Louder:
    name = "louder"

    def converse(self, task):
        first = yield Ask((Message("user", task.prompt),))
        second = yield Ask((Message("user", f"louder: {first.text}"),))
        return f"{second.text}!"


def pytest_tablebench_register_strategy(register):
    register(Louder())
"""

PICTURE = f"""
from pytest_tablebench.serializers import Image


def pytest_tablebench_register_serializer(register):
    register("picture", lambda table: (Image("image/png", {PNG!r}),))
    register("captioned", lambda table: ("A table: ", Image("image/png", {PNG!r})))
"""

# The toy model always answers 36, which is right only for the first example.
ONE = "--bench-limit=1"


@pytest.fixture
def louder(bench):
    """A folder with a second strategy, whose answers are wrong."""
    bench.pytester.makeconftest(CONFTEST + STRATEGY)
    return bench


@pytest.mark.parametrize("place", ["option", "ini", "dataset"])
def test_a_single_strategy_is_not_in_the_ids(louder, place):
    if place == "ini":
        louder.pytester.makeini("[pytest]\nbench_strategy = louder\nbench_modality = text\n")
    if place == "dataset":
        line = '    shots = 0\n    strategy = "louder"\n'
        louder.pytester.makeconftest((CONFTEST + STRATEGY).replace("    shots = 0\n", line))
    words = ["--bench-strategy=louder"] if place == "option" else []
    # A gate on the only strategy of a run judges the whole run.
    words += ["--bench-gate-point", "--bench-gate=toy[louder].pass_rate <= 0"]
    assert louder.run("--model=echo/any", ONE, *words).ret == 0
    record = louder.record()
    assert record["case_id"] == "toy/ada/html/none"
    assert (record["strategy"], record["modality"], record["raw"]) == ("louder", "text", "36!")
    prompts = [text for _, text in louder.calls("ask")]
    assert len(prompts) == 2
    assert prompts[1] == "louder: 36"
    assert louder.facts()["grid"]["strategies"] == ["louder"]


def test_several_strategies_are_in_the_ids(louder):
    gates = {
        "toy[direct].pass_rate >= 1": "holds",
        "toy[louder].pass_rate <= 0": "holds",
        "toy[louder][html].pass_rate >= 0.1": "fails",
        "toy.pass_rate >= 0.6": "fails",
    }
    options = ["--bench-gate-point", *(f"--bench-gate={gate}" for gate in gates)]
    both = ("--bench-strategy=direct,louder", "-k=not page")
    result = louder.run("--model=echo/any", ONE, *both, *options)
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 10
    assert {gate["gate"]: gate["state"] for gate in louder.facts()["gates"]} == gates
    records = {record["case_id"]: record for record in louder.records()}
    assert sorted(records) == ["toy/ada/html/none/direct", "toy/ada/html/none/louder"]
    for name, record in records.items():
        assert record["strategy"] == name.rpartition("/")[2]
    assert louder.facts()["grid"]["strategies"] == ["direct", "louder"]
    by_strategy = louder.summary()["benchmarks"]["toys"]["datasets"]["toy"]["strategies"]
    assert {name: scope["performance"] for name, scope in by_strategy.items()} == {
        "direct": 1.0,
        "louder": 0.0,
    }
    assert (louder.path / "run" / "report.html").is_file()
    refused = louder.run(
        "--model=echo/any", "--bench-strategy=direct,louder", "--bench-baseline=run", results="no"
    )
    assert refused.ret == 4
    assert any("needs exactly one --bench-strategy" in line for line in refused.errlines)


def test_pictures_are_a_modality(bench):
    bench.pytester.makeconftest(CONFTEST + PICTURE)
    bench.run("--model=echo/any", ONE, "--bench-serializer=picture,captioned", results="plain")
    assert {record["serializer"]: record["modality"] for record in bench.records("plain")} == {
        "picture": "image",
        "captioned": "image_text",
    }
    chosen = ("--bench-serializer=picture", "--bench-modality=image")
    bench.run("--model=echo/any", ONE, *chosen)
    assert (bench.record()["modality"], bench.facts()["modality"]) == ("image", "image")
    both = ("--bench-serializer=picture,csv", "--bench-modality=text")
    result = bench.run("--model=echo/any", ONE, *both, results="refused")
    assert any("'picture' gives only image" in line for line in result.errlines)
