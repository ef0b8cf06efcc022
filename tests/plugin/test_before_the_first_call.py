"""Settings with which no case could be right are refused in one line before the first call."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from tests.support.toy_bench import ADA, BO, CONFTEST, SUITE, Bench

FORMATS = """
FORMATS = {
    "nothing": lambda table: None, "blank": lambda table: " \\n", "bytes": lambda table: b"x",
    "failing": lambda table: {}["x"],
}

def pytest_tablebench_register_serializer(register):
    for name, function in FORMATS.items():
        register(name, function)
"""


def refused(bench: Bench, *arguments: str) -> str:
    """Return the line that refuses a run; check that it made no call and no run folder."""
    result = bench.run("--model=echo/any", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR, result.stdout.str()
    assert bench.calls("ask") == []
    assert not (bench.path / "run").exists()
    [line] = [line for line in result.errlines if line]
    return line.removeprefix("ERROR: ")


def test_a_gate_on_a_dataset_without_selected_cases_is_refused(bench: Bench) -> None:
    bench.data(toy=[ADA], other=[BO])
    bench.suite(SUITE + SUITE.replace("toy", "other"))
    gate = "--bench-gate=other.performance >= 0.5"
    assert refused(bench, gate, "--bench-dataset=toy") == (
        "--bench-gate 'other.performance >= 0.5': --bench-dataset leaves other out; add it there, "
        "or remove the gate"
    )
    assert "no case of other is selected" in refused(bench, gate, "-k", "test_toy")


def test_a_gate_of_an_ini_file_may_name_a_dataset_that_k_leaves_out(bench: Bench) -> None:
    bench.data(toy=[ADA], other=[BO])
    bench.suite(SUITE + SUITE.replace("toy", "other"))
    bench.pytester.makeini("[pytest]\nbench_gate = other.performance >= 0.5\n")
    assert bench.run("--model=echo/any", "-k", "test_toy").ret == 11


@pytest.mark.parametrize(("how", "scope"), [("option", "torr"), ("ini", "wikitq")])
def test_a_gate_on_a_dataset_without_data_is_refused(bench: Bench, how: str, scope: str) -> None:
    (bench.path / "empty").mkdir()
    bench.suite(SUITE + SUITE.replace('"toy"', '"wikitq"').replace("test_toy", "test_wikitq"))
    gate = f"{scope}.performance >= 0.5"
    options = [f"--bench-gate={gate}"] if how == "option" else []
    if how == "ini":
        bench.pytester.makeini(f"[pytest]\nbench_gate = {gate}\n")
    line = refused(bench, "--bench-data=empty", *options)
    assert line.startswith(f"--bench-gate '{gate}': wikitq has no data in ")
    assert "tablebench pull wikitq" in line


def test_an_unregistered_metric_is_refused(bench: Bench) -> None:
    bench.pytester.makeconftest(CONFTEST.replace('"exact_match"', '"exact_mtach"'))
    line = refused(bench)
    assert line.startswith("dataset 'toy': unknown metric 'exact_mtach'; did you mean 'exact_match")


def test_an_unknown_placeholder_in_a_printed_prompt_is_refused(bench: Bench) -> None:
    folder = bench.path / "printed"
    folder.mkdir()
    (folder / "fact_checking.txt").write_text("{tabel} {question}", encoding="utf-8")
    line = refused(bench, "--bench-prompts=printed")
    assert "fact_checking.txt has the placeholder {tabel}; it may have {question} and" in line
    (folder / "fact_checking.txt").write_text("Be an expert.", encoding="utf-8")
    result = bench.run("--model=echo/any", "--bench-prompts=printed", "--bench-limit=1")
    result.stdout.fnmatch_lines(["tablebench: model echo/any; prompts printed; compat fixed; *"])
    assert bench.facts()["prompts"].endswith(" (fact_checking)")
    assert bench.facts()["prompts_folder"] == str(folder)


@pytest.mark.parametrize(
    ("written", "content"),
    [("nothing", "NoneType"), ("blank", "an empty text"), ("bytes", "bytes")],
)
def test_a_serializer_that_returns_no_content_is_refused(
    bench: Bench, written: str, content: str
) -> None:
    bench.pytester.makeconftest(CONFTEST + FORMATS)
    line = refused(bench, f"--bench-serializer=html,{written}")
    assert line.startswith(f"--bench-serializer: '{written}' returns no content ({content}) for ")
    assert "'toy'" in line


def test_a_serializer_that_raises_loses_only_its_cases(bench: Bench) -> None:
    bench.pytester.makeconftest(CONFTEST + FORMATS)
    bench.run("--model=echo/any", "--bench-serializer=html,failing", "--bench-limit=1")
    reasons = {record["serializer"]: record["reason"] for record in bench.records()}
    assert reasons == {"html": None, "failing": "test_error"}


def test_more_shots_than_the_toy_pool_has_are_reported_once(bench: Bench) -> None:
    result = bench.run("--model=echo/any", "--bench-shots=6", "--bench-limit=1")
    result.assert_outcomes(passed=1)
    note = "toy: prompts show at most 5 demonstrations, not 6: the pool has no more"
    assert result.outlines.count(note) == 1


def test_small_pool_skip_skips_datasets_with_too_few_demonstrations(bench: Bench) -> None:
    options = (
        "--model=echo/any",
        "--bench-small-pool=skip",
        "--bench-limit=1",
        "--bench-dataset=toy",
    )
    result = bench.run(*options, "--bench-shots=toy=6,1")
    result.assert_outcomes(skipped=1)
    why = "toy: skipped, its pool has 5 demonstrations, not 6; --bench-small-pool=fewer asks with"
    assert sum(why in line for line in result.outlines) == 1
    bench.run(*options, "--bench-shots=toy=5,6").assert_outcomes(passed=1)


@pytest.mark.parametrize("value", ["-0.1", "float('nan')", "'high'"])
def test_a_marker_threshold_outside_0_to_1_is_refused(bench: Bench, value: str) -> None:
    bench.suite(SUITE.replace('"toy"', f'"toy", threshold={value}'))
    line = refused(bench)
    assert line.startswith("test_suite.py::test_toy: threshold takes a number from 0 to 1, not ")


def test_a_dataset_threshold_outside_0_to_1_is_refused(bench: Bench) -> None:
    bench.pytester.makeconftest(CONFTEST.replace("threshold = 1.0", "threshold = 80"))
    assert refused(bench) == "dataset 'toy': threshold takes a number from 0 to 1, not 80"


@pytest.mark.parametrize("where", ["pytest.ini", "override"])
def test_an_unknown_ini_key_with_our_prefix_is_refused(bench: Bench, where: str) -> None:
    options: list[str] = []
    if where == "pytest.ini":
        bench.pytester.makeini("[pytest]\nbench_limt = 3\n")
    else:
        options = ["-o", "bench_limt=3"]
    line = refused(bench, *options)
    assert line.startswith("unknown key 'bench_limt' in ")
    assert "did you mean 'bench_limit'" in line


def test_an_ini_key_of_another_plugin_is_accepted(bench: Bench) -> None:
    hook = "\ndef pytest_addoption(parser):\n    parser.addini('bench_press', 'kg')\n"
    bench.pytester.makeconftest(CONFTEST + hook)
    bench.pytester.makeini("[pytest]\nbench_press = 80\n")
    bench.run("--model=echo/any", "--bench-limit=1").assert_outcomes(passed=1)


def test_collecting_a_case_that_needs_a_call_starts_the_broker_early(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    class Ahead:
        @classmethod
        def ahead(cls, *_: object) -> Ahead:
            started.append(cls)
            return cls()

        def hang_up(self) -> None:
            started.append("hung up")

        def reap(self) -> None:
            started.append("reaped")

    monkeypatch.setattr("pytest_tablebench.session._kept_run.BrokerProcess", Ahead)
    bench.suite()
    # A later hook deselects all cases, so no call is made.
    bench.pytester.makeconftest(
        f"{CONFTEST}\ndef pytest_collection_modifyitems(items):\n    items.clear()\n"
    )
    for workers in ([], ["-n1"]):
        started.clear()
        bench.run("--model=openai/test-model", *workers)
        assert started.count(Ahead) == 1
        assert started[0] == Ahead
        assert set(started[1:]) == {"hung up", "reaped"}
    for others in (
        ["--model=echo/any"],
        ["--model=openai/test-model", "-k", "toy"],
        ["--model=openai/test-model", "-m", "tablebench"],
        ["--model=openai/test-model", "--collect-only"],
        ["--model=openai/test-model", "--bench-replay"],
    ):
        started.clear()
        bench.run(*others)
        assert started == [], others


COLLECTING = """
import gc

def pytest_collection():
    assert not gc.isenabled()

def test_garbage_is_collected_again():
    assert gc.isenabled()
"""


@pytest.mark.parametrize("spread", [(), ("-n", "1")], ids=["alone", "worker"])
def test_garbage_is_not_collected_before_the_first_call(
    bench: Bench, spread: tuple[str, ...]
) -> None:
    conftest = bench.path / "conftest.py"
    hook, _, test = COLLECTING.partition("\ndef test")
    conftest.write_text(conftest.read_text(encoding="utf-8") + hook, encoding="utf-8")
    bench.data(toy=[ADA])
    bench.suite(f"{SUITE}\nimport gc\n\ndef test{test}")
    result = bench.run("--model=echo/any", *spread)
    result.assert_outcomes(passed=2)
    assert gc.isenabled()


def test_a_refused_run_leaves_the_garbage_collector_on(bench: Bench) -> None:
    bench.data(toy=[ADA])
    bench.suite(SUITE)
    refused(bench, "--bench-gate=nonsense")
    assert gc.isenabled()
