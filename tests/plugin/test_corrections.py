"""Runs with `--bench-corrections`: the published gold stays the headline."""

from __future__ import annotations

import re
from dataclasses import replace

import jinja2  # noqa: F401 - imported once, before pytester removes what a run imports
import pytest
from bs4 import BeautifulSoup

from pytest_tablebench.cli import main
from pytest_tablebench.datasets import row_digest
from pytest_tablebench.results.corrections import Correction
from tests.plugin.test_schemas import validator
from tests.support.overlays import (
    DI,
    OVERLAY,
    RIGHT,
    WRONG,
    correction,
    prepare,
    toy_model,
    write_overlay,
)
from tests.support.page_files import text_of
from tests.support.runs import examples
from tests.support.toy_bench import SUITE, Bench


@pytest.fixture
def toys(bench: Bench) -> Bench:
    return prepare(bench)


def corrected(bench: Bench, folder: str = "run") -> dict:
    return {record["example_id"]: record.get("corrected") for record in bench.records(folder)}


def test_records_have_both_scores(toys: Bench) -> None:
    model = f"--model={toy_model(toys)}"
    toys.run(model, results="plain")
    # The option may be in an ini file, and xdist changes nothing.
    toys.pytester.makeini("[pytest]\nbench_corrections = gold.csv\n")
    result = toys.run(model, "-n1")
    result.assert_outcomes(passed=2, failed=2)  # as the published gold says
    records = {record["example_id"]: record for record in toys.records()}
    assert {name: record["score"] for name, record in records.items()} == {
        "ada": 1.0,
        "bo": 0.0,
        "cy": 1.0,
        "di": 0.0,
    }
    assert records["bo"]["references"] == ["41"]
    assert corrected(toys) == {
        "ada": {
            "verdict": "right",
            "score": 1.0,
            "passed": True,
            "parts": records["ada"]["parts"],
        },
        "bo": {
            "verdict": "wrong",
            "score": 1.0,
            "passed": True,
            "parts": dict.fromkeys(records["bo"]["parts"], 1.0),
        },
        "cy": {"verdict": "broken", "left_out": "the table is broken"},
        "di": None,
    }
    entry = toys.facts()["corrections"]
    digest = entry.pop("digest")
    assert (entry, len(digest)) == ({"file": "gold.csv", "changed": 1, "left_out": 1}, 20)
    # Without corrections everything else is equal.
    for name in ("records.jsonl", "run.json", "summary.json"):
        assert "correct" not in (toys.path / "plain" / name).read_text("utf-8")
    plain = {record["example_id"]: record for record in toys.records("plain")}
    for name, record in records.items():
        assert {**record, "corrected": 0, "latency_s": 0} == {
            **plain[name],
            "corrected": 0,
            "latency_s": 0,
        }


def test_both_figures_are_shown_everywhere(
    toys: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(toys.path / "step.md"))
    result = toys.run(f"--model={toy_model(toys)}", OVERLAY, "-o", "bench_no_page=false")
    summary = toys.summary()
    [toys_figures] = summary["benchmarks"].values()
    [by_gold] = summary["corrected"]["benchmarks"].values()
    # Published: Ada and Cy of four. Corrected: Ada and Bo of three, since Cy is left out.
    assert (toys_figures["performance"], toys_figures["n_examples"]) == (0.5, 4)
    for scope in (by_gold, by_gold["datasets"]["toy"]):
        assert scope["performance"] == scope["pass_rate"] == pytest.approx(2 / 3)
        assert (scope["n_examples"], scope["changed"], scope["left_out"]) == (3, 1, 1)
    assert "incomplete" not in by_gold["flags"]
    assert summary["corrected"]["reasons"] == {"the table is broken": 1}
    validator("summary").validate(summary)
    validator("run").validate(toys.facts())
    for record in toys.records():
        validator("record").validate(record)
    output = result.stdout.str()
    assert re.search(r"(?m)^toy +0\.667 .* \+0\.167 +66\.7 % +3 +1 +1$", output), output
    line = f"corrections gold.csv ({toys.facts()['corrections']['digest']}): gold changed for 1 "
    line += "example, 1 left out (the table is broken: 1)"
    assert line in output
    soup = BeautifulSoup((toys.path / "run" / "report.html").read_text("utf-8"), "html.parser")
    page = text_of(soup, "section[aria-labelledby=datasets]")
    assert line in page
    assert "All other figures are by the published gold" in page
    for file in ("step.md", "run/summary.md"):
        text = (toys.path / file).read_text("utf-8")
        assert "| <code>toy</code> | 0.667 |" in text
        assert "gold changed for 1 example" in text
    expected = {
        "ada": "score 1.000, right (people confirmed the gold)",
        "bo": "score 1.000, right (the gold was wrong)",
        "cy": "left out (the table is broken)",
        "di": None,
    }
    for name, said in expected.items():
        capsys.readouterr()
        assert main(["show", str(toys.path / "run"), f"toy/{name}/"]) == 0
        found = re.search(r"(?m)^by corrected gold: (.*)$", capsys.readouterr().out)
        assert (found and found[1]) == said


def test_a_case_without_an_answer_has_only_the_verdict(toys: Bench) -> None:
    model = toys.script({"match": "How old is Bo?", "error": "timeout"}, {"match": "", "text": "2"})
    write_overlay(toys.path, WRONG, replace(RIGHT, verdict="several", answers=("1", "2")))
    toys.run(f"--model={model}", OVERLAY)
    assert corrected(toys)["bo"] == {"verdict": "wrong"}
    assert corrected(toys)["ada"]["score"] == 1.0  # each of several answers is right


def test_tests_alone_cannot_judge_another_answer(toys: Bench) -> None:
    toys.without_metric()
    toys.suite(
        "import pytest\n\n@pytest.mark.tablebench('toy')\n"
        "def test_toy(case, answer):\n    assert answer.text == '36'\n"
    )
    toys.run(f"--model={toy_model(toys)}", OVERLAY)
    entries = corrected(toys)
    assert entries["bo"] == {"verdict": "wrong", "left_out": "only tests judge it"}
    assert (entries["ada"]["score"], entries["ada"]["passed"]) == (1.0, True)


DI_UNCLEAR = correction(DI, "unclear")
REFUSED = {
    "changed": (
        [replace(WRONG, digest="0123456789abcdef0123")],
        "*toy/bo: the row changed since this correction was made (digest 0123456789abcdef0123, now "
        f"{WRONG.digest}); look at it again*",
    ),
    "unknown": (
        [replace(WRONG, example="nobody")],
        "*toy/nobody does not exist in this data; remove its correction*",
    ),
    # Di is not asked.
    "other": ([replace(WRONG, dataset="wikitq"), replace(DI_UNCLEAR, digest="0" * 20)], None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_correction_of_another_row_is_refused_before_any_call(toys: Bench, name: str) -> None:
    corrections, message = REFUSED[name]
    write_overlay(toys.path, *corrections)
    result = toys.run("--model=echo/any", OVERLAY, "--bench-limit=3")
    if message is None:
        assert result.ret == 1
        assert len(toys.calls("ask")) == 3
    else:
        assert result.ret == 4
        result.stderr.fnmatch_lines([message.replace("[", "[[]")])
        assert toys.calls("ask") == []
        assert not (toys.path / "run").exists()


def test_a_perturbation_that_depends_on_the_gold_leaves_its_cases_out(bench: Bench) -> None:
    # `counterfactual` changes the cell with the answer, so by another gold it changes another one.
    [example] = examples(1)
    table = example.inputs["table"]
    other = next(cell for row in table.rows for cell in row if cell not in example.references)
    overlay = Correction("starter", example.id, row_digest(example), "wrong", (str(other),))
    write_overlay(bench.path, overlay)
    bench.suite(SUITE.replace('"toy"', '"starter"'))
    model = bench.script({"match": "", "text": str(other)})
    options = ("--bench-perturbation=none,counterfactual", "--bench-limit=1")
    bench.run(f"--model={model}", OVERLAY, *options)
    entries = {record["perturbation"]: record["corrected"] for record in bench.records()}
    assert entries["none"]["score"] == 1.0
    assert entries["counterfactual"] == {
        "verdict": "wrong",
        "left_out": "its perturbation depends on the gold",
    }


def test_a_corrected_gate_is_refused_beside_a_stopping_rule(toys: Bench) -> None:
    gate = "--bench-gate=toy@corrected.performance >= 0.6"
    result = toys.run("--model=echo/any", gate, OVERLAY, "--bench-stop-when-decided")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*with a gate on @corrected*"])
    assert toys.calls("ask") == []


def test_a_corrected_gate_needs_a_baseline_with_the_same_corrections(toys: Bench) -> None:
    gate = "--bench-gate=toy@corrected.performance >= baseline - 0.5"
    before, after = toy_model(toys, "41", "before.jsonl"), toy_model(toys, name="after.jsonl")
    toys.run(f"--model={before}", OVERLAY, results="same")
    toys.run(f"--model={before}", results="none")
    refused = toys.run(f"--model={after}", OVERLAY, "--bench-baseline=none", gate, results="a")
    assert refused.ret == 4
    refused.stderr.fnmatch_lines(["*the baseline has other corrections of the gold, or none; *"])
    point = ("--bench-baseline=same", "--bench-gate-point")
    toys.run(f"--model={after}", OVERLAY, *point, gate, results="b")
    [result] = toys.facts("b")["gates"]
    # By the corrected gold the new model is right about Bo, and the old model is not.
    assert (result["state"], result["n_examples"]) == ("holds", 3)
    assert result["estimate"] == pytest.approx(1 / 3)
