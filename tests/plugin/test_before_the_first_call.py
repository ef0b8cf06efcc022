"""Settings with which no case could be right are refused in one line before the first call."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.matrix import reduced
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


@dataclass(frozen=True)
class Refused:
    """Options of a run over `toy` and `other`, and words of its refusal, the first ones first."""

    options: tuple[str, ...]
    words: tuple[str, ...]
    model: str = "echo/any"
    changes: tuple[tuple[str, str], ...] = ()
    """Changes of the conftest."""
    add: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def registers(what: str, arguments: str) -> str:
    """Return a hook of a conftest that registers a part."""
    return f"\ndef pytest_tablebench_register_{what}(register):\n    register({arguments})\n"


NO_DATA = {
    "empty/none": "",
    "test_wikitq.py": SUITE.replace('"toy"', '"wikitq"'),
    "pytest.ini": "[pytest]\nbench_gate = wikitq.performance >= 0.5\n",
}
OTHER = "--bench-gate=other.performance >= 0.5"
RULE = "--bench-stop-when-decided"
GATE = "--bench-gate=toy.performance >= 0.5"
UNKNOWN = reduced(
    [
        ("gpt-44o", "did you mean gpt-4o?"),
        ("models/Llama.gguf", "a file is named gguf:models/Llama.gguf"),
        ("nosuchprovider/x", "names look like gpt-4o, ollama/llama3.2 or hosted_vllm/NAME"),
    ],
    ("gpt-44o", "did you mean gpt-4o?"),
)
REFUSED = {
    "a sample and a limit": Refused(
        ("--bench-sample=2", "--bench-limit=2"), ("--bench-sample draws from all examples",)
    ),
    "more configurations than there are": Refused(
        ("--bench-configs-per-example=2",), ("--bench-configs-per-example=2: the grid has only 1 ",)
    ),
    "an effort of a model that does not think": Refused(
        ("--bench-effort=low,high",),
        ("--bench-effort", "takes no such axis (it does not think)"),
        model="tablebench/lexical",
    ),
    "a budget inside the process": Refused(
        ("--bench-max-cost=1",), ("--bench-max-cost", "echo/any answers inside the test process")
    ),
    "a budget without a price": Refused(
        ("--bench-max-cost=1", "--bench-api-base=http://127.0.0.1:9/v1"),
        ("--bench-max-cost", "is unknown, so a budget cannot be kept"),
        model="openai/no-such-model",
    ),
    **{
        f"the unknown model {model}": Refused(
            (), ("--bench-model: ", f"litellm knows no provider for '{model}'; {hint}"), model=model
        )
        for model, hint in UNKNOWN
    },
    "a missing file of corrections": Refused(
        ("--bench-corrections=gold.csv",), ("--bench-corrections: ", "gold.csv is not a file")
    ),
    "an empty file of corrections": Refused(
        ("--bench-corrections=gold.csv",),
        ("--bench-corrections", "gold.csv: contains no corrections"),
        files={"gold.csv": "dataset,example,digest,verdict\n"},
    ),
    "a missing store to replay": Refused(
        ("--bench-store=nowhere", "--bench-replay"), ("--bench-store: ", "nowhere does not exist")
    ),
    "a missing model file": Refused(
        (), ("--bench-model: gguf:no\\x1bsuch.gguf does not exist",), model="gguf:no\x1bsuch.gguf"
    ),
    "pictures for a model without eyes": Refused(
        ("--bench-modality=image",),
        ("tablebench/lexical cannot read the pictures of toy (image)",),
        model="tablebench/lexical",
    ),
    "an unknown modality": Refused(
        ("--bench-modality=images",), ("--bench-modality: unknown modality 'images'; did you mean",)
    ),
    "a plan that cannot be written": Refused(
        ("--bench-plan-json=test_suite.py/plan.json",), ("--bench-plan-json: cannot write",)
    ),
    "a file in place of the snapshots": Refused(
        ("--bench-snapshot",), ("--bench-snapshot: ", "is not a folder"), files={"snapshots": ""}
    ),
    "snapshots in the folder of syrupy": Refused(
        ("--bench-snapshot", "--snapshot-dirname=snapshots"),
        ("--snapshot-dirname: ", "choose another name"),
    ),
    **{
        f"a password with {mark}": Refused(
            (f"--bench-api-base=http://me:hun{mark}ter2@host/v1",),
            ("--bench-api-base has an @ after a /, ? or #: write %2F",),
            model="gpt-4o",
        )
        for mark in "/?#"
    },
    "a rule without a gate": Refused((RULE,), (RULE, "--bench-gate")),
    "a rule with repeats": Refused((RULE, GATE, "--bench-repeats=2"), (RULE, "--bench-repeats")),
    "a rule with a shard": Refused((RULE, GATE, "--bench-shard=1/2"), (RULE, "--bench-shard")),
    "a rule with the estimate alone": Refused(
        (RULE, GATE, "--bench-gate-point"), ("--bench-gate-point", RULE)
    ),
    "a rule with strategies": Refused(
        (RULE, GATE, "--bench-strategy=direct,tcot"),
        (f"{RULE} needs exactly one --bench-strategy",),
    ),
    "a gate on an unknown scope": Refused(
        ("--bench-gate=toi.performance >= 0.5",), ("--bench-gate", "'toi'; did you mean 'toy'")
    ),
    "a gate without its baseline": Refused(
        ("--bench-gate=toy.performance >= baseline",), ("--bench-gate", "--bench-baseline")
    ),
    "a gate on an unknown test": Refused(
        ("--bench-gate=toy::test_toi.pass_rate >= 0.7",),
        (
            "gate 'toy::test_toi.pass_rate >= 0.7': unknown test 'test_toi'",
            "did you mean 'test_toy'",
        ),
    ),
    "a gate on an empty slice": Refused(
        ("--bench-gate=toy{asks=aeg}.performance >= 0",),
        ("--bench-gate", "has asks=aeg; did you mean 'age'? known: age"),
    ),
    "a gate on a dataset that is left out": Refused(
        (OTHER, "--bench-dataset=toy"),
        (
            "--bench-gate 'other.performance >= 0.5': --bench-dataset leaves other out; add it "
            "there, or remove the gate",
        ),
    ),
    "a gate on a dataset without a selected case": Refused(
        (OTHER, "-k", "test_toy"), ("--bench-gate", "no case of other is selected")
    ),
    "a gate of a file on a dataset without data": Refused(
        ("--bench-data=empty",),
        (
            "--bench-gate 'wikitq.performance >= 0.5': wikitq has no data in ",
            "tablebench pull wikitq",
        ),
        files=NO_DATA,
    ),
    "a gate on a benchmark without data": Refused(
        ("--bench-data=empty", "--bench-gate=torr.performance >= 0.5"),
        ("--bench-gate 'torr.performance >= 0.5': wikitq has no data in ",),
        files=NO_DATA,
    ),
    **{
        f"a threshold of {value} in a marker": Refused(
            (),
            ("test_suite.py::test_toy: threshold takes a number from 0 to 1, not ",),
            files={"test_suite.py": SUITE.replace('"toy"', f'"toy", threshold={value}')},
        )
        for value in ("-0.1", "float('nan')", "'high'")
    },
    "a threshold of a dataset": Refused(
        (),
        ("dataset 'toy': threshold takes a number from 0 to 1, not 80",),
        changes=(("threshold = 1.0", "threshold = 80"),),
    ),
    "an unregistered metric": Refused(
        (),
        ("dataset 'toy': unknown metric 'exact_mtach'; did you mean 'exact_match",),
        changes=(('"exact_match"', '"exact_mtach"'),),
    ),
    **{
        f"a serializer that returns {content}": Refused(
            ("--bench-serializer=html,own",),
            (f"--bench-serializer: 'own' returns no content ({content}) for ", "'toy'"),
            add=registers("serializer", f"'own', lambda table: {value}"),
        )
        for value, content in (("None", "NoneType"), ("' \\n'", "an empty text"), ("b'x'", "bytes"))
    },
    "a name registered twice": Refused(
        (),
        ("serializer 'html' is registered twice",),
        add=registers("serializer", "'html', str"),
    ),
    "a factory that raises": Refused(
        (),
        ("--bench-model: own/any: KeyError: 'key'",),
        model="own/any",
        changes=(("def pytest_tablebench_register_provider", "def other"),),
        add=registers("provider", "'own', lambda model, settings: {}['key']"),
    ),
    "an unknown key in a file": Refused(
        (),
        ("unknown key 'bench_limt' in ", "did you mean 'bench_limit'"),
        files={"pytest.ini": "[pytest]\nbench_limt = 3\n"},
    ),
    "an unknown key in an option": Refused(
        ("-o", "bench_limt=3"), ("unknown key 'bench_limt' in ", "did you mean 'bench_limit'")
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_run_is_refused_in_one_line(bench: Bench, name: str) -> None:
    case = REFUSED[name]
    bench.data(toy=[ADA], other=[BO])
    bench.adapt(*case.changes, add=case.add)
    bench.suite(SUITE + SUITE.replace("toy", "other"))
    for path, text in case.files.items():
        (bench.path / path).parent.mkdir(exist_ok=True)
        (bench.path / path).write_text(text, encoding="utf-8")
    line = bench.refused(f"--model={case.model}", *case.options)
    assert line.startswith(case.words[0])
    assert all(word in line for word in case.words)
    assert "ter2" not in line


def test_a_gate_of_an_ini_file_may_name_a_dataset_that_k_leaves_out(bench: Bench) -> None:
    bench.data(toy=[ADA], other=[BO])
    bench.suite(SUITE + SUITE.replace("toy", "other"))
    bench.pytester.makeini("[pytest]\nbench_gate = other.performance >= 0.5\n")
    assert bench.run("--model=echo/any", "-k", "test_toy").ret == 11


def test_an_unknown_placeholder_in_a_printed_prompt_is_refused(bench: Bench) -> None:
    folder = bench.path / "printed"
    folder.mkdir()
    (folder / "fact_checking.txt").write_text("{tabel} {question}", encoding="utf-8")
    line = bench.refused("--model=echo/any", "--bench-prompts=printed")
    assert "fact_checking.txt has the placeholder {tabel}; it may have {question} and" in line
    (folder / "fact_checking.txt").write_text("Be an expert.", encoding="utf-8")
    result = bench.run("--model=echo/any", "--bench-prompts=printed", "--bench-limit=1")
    result.stdout.fnmatch_lines(["tablebench: model echo/any; prompts printed; compat fixed; *"])
    assert bench.facts()["prompts"].endswith(" (fact_checking)")
    assert bench.facts()["prompts_folder"] == str(folder)


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
    hook, _, test = COLLECTING.partition("\ndef test")
    bench.adapt(add=hook)
    bench.data(toy=[ADA])
    bench.suite(f"{SUITE}\nimport gc\n\ndef test{test}")
    result = bench.run("--model=echo/any", *spread)
    result.assert_outcomes(passed=2)
    assert gc.isenabled()


def test_a_refused_run_leaves_the_garbage_collector_on(bench: Bench) -> None:
    bench.data(toy=[ADA])
    bench.suite(SUITE)
    bench.refused("--model=echo/any", "--bench-gate=nonsense")
    assert gc.isenabled()
