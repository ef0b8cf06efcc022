"""`tablebench compare` and `tablebench rejudge` over runs of pytest."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import matplotlib.figure  # noqa: F401
import pytest
from bs4 import BeautifulSoup

import pytest_tablebench.claims.compare
import pytest_tablebench.claims.gates
import pytest_tablebench.reports.html
import pytest_tablebench.running.rejudge  # noqa: F401
from pytest_tablebench.results import read_facts, read_records
from tests.support import upstream
from tests.support.commands import command
from tests.support.gate_bench import options
from tests.support.matrix import reduced
from tests.support.page_files import block, text_of
from tests.support.toy_bench import ADA, BO, CY, SUITE, Bench

FORMATS = ("--bench-serializer=html,csv", "--bench-perturbation=none,transpose")
MODES = [("fixed", "reference"), ("reference", "fixed")]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the runs of `two`, once a test has made them."""
    return tmp_path_factory.mktemp("kept") / "runs"


@pytest.fixture
def two(bench: Bench, kept: Path) -> None:
    """Run `a` always answers 36; run `b` is right for Ada and Bo and has no answer for Cy."""
    if kept.exists():
        shutil.copytree(kept, bench.path, dirs_exist_ok=True)
        return
    bench.run("--model=echo/any", *FORMATS, results="a")
    script = bench.script(
        {"match": "How old is Ada?", "text": "36"},
        {"match": "How old is Bo?", "text": "41"},
        {"match": "How old is Cy?", "error": "timeout"},
    )
    bench.run(f"--model={script}", *FORMATS, results="b")
    shutil.copytree(bench.path, kept)


def change_facts(folder: str, **facts: object) -> None:
    path = Path(folder) / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | facts), encoding="utf-8")


def test_compare_shows_the_differences_of_two_models(two, capsys):
    code, out, err = command(capsys, "compare", "a", "b", "--json", "c.json")
    assert (code, err) == (0, "")
    assert "differs: model: echo/any before, tablebench/scripted:script.jsonl after" in out
    row = next(line for line in out.splitlines() if line.startswith("toy  performance"))
    # Both runs answer two examples: Ada right twice, Bo wrong and then right.
    assert re.split(r"\s{2,}", row)[2:5] == ["0.500", "1.000", "+0.500"]
    assert "0.0 % / 33.3 %" in row
    assert "wrong before, right now: 4\n  toy/bo/csv/none\n" in out
    assert out.endswith("both answers: tablebench report a b --page both.html\n")
    assert "without an answer only before 0, only after 4, on both sides 0" in out
    content = json.loads(Path("c.json").read_text("utf-8"))
    assert content["answers"]["same_text"] == 4
    assert content["scopes"][0]["measures"]["performance"]["left_out_after"] == 1


def test_report_writes_one_page_for_two_runs(two, bench, capsys):
    code, out, err = command(capsys, "report", "a", "b", "--page", "made/both.html")
    assert (code, err) == (0, "")
    assert out.startswith("before: echo/any  (a)\nafter: tablebench/scripted:script.jsonl  (b)\n")
    assert out.endswith("page: made/both.html\n")
    soup = BeautifulSoup(Path("made/both.html").read_text("utf-8"), "html.parser")
    index = block(soup, "index")
    ids = index["columns"]["id"]
    # Ada is unchanged, Bo from wrong to right, Cy from wrong to no answer.
    assert {
        key.split("/")[1]: row
        for key, *row in zip(
            ids,
            *(
                index["columns"][name]
                for name in ("outcome", "outcome_before", "score_before", "answer_before")
            ),
            strict=True,
        )
    } == {"ada": [0, 0, 1.0, None], "bo": [0, 1, 0.0, "36"], "cy": [2, 1, 0.0, "36"]}
    [point] = [point for point in index["facts"]["points"] if point["name"] == "csv"]
    assert point == {
        "kind": "serializer",
        "dataset": "toy",
        "name": "csv",
        "label": point["label"],
        "before": 0.5,
        "after": 1.0,
        "difference": 0.5,
        "examples": 2,
        "better": 2,
        "worse": 0,
    }
    assert not Path("tablebench-report").exists()
    for arguments, why in (
        (("a", "--page", "p.html"), "name two runs, A and B; 1 given"),
        (
            ("a", "b", "--page", "p.html", "--out", "o"),
            "leave out --out, --by, --no-plots and --marks",
        ),
        (("a", "no", "--page", "p.html"), "no is not a run folder"),
        (("a", "b", "--allow-unlike"), "--allow-unlike needs --page"),
        (("a", "b", "--page", "a/run.json/p.html"), "cannot write the page"),
    ):
        code, out, err = command(capsys, "report", *arguments)
        assert (code, out) == (2, "")
        assert why in err
    # Unlike runs need --allow-unlike, and the page shows the difference.
    change_facts("a", seed=5)
    code, _, err = command(capsys, "report", "a", "b", "--page", "p.html")
    assert code == 2
    assert "the runs are unlike: seed: 5 against 0" in err
    assert not Path("p.html").exists()
    code, *_ = command(capsys, "report", "a", "b", "--page", "p.html", "--allow-unlike")
    assert code == 0
    assert "seed : 5 → 0" in text_of(
        BeautifulSoup(Path("p.html").read_text("utf-8"), "html.parser"), "#baseline ~ .warning"
    )


def test_unlike_runs_are_refused_unless_allowed(two, capsys):
    change_facts("b", seed=5)
    gate = ("--bench-gate", "toy.performance >= baseline - 0.9", "--bench-gate-point")
    for arguments in (("compare", "a", "b"), ("rejudge", "b", *gate, "--bench-baseline", "a")):
        code, out, err = command(capsys, *arguments)
        assert (code, out) == (2, "")
        assert "the runs are unlike: seed: 0 against 5" in err
        assert err.count("\n") == 1
        assert command(capsys, *arguments, "--allow-unlike")[0] == 0


def test_a_json_file_that_cannot_be_written_is_refused(two, capsys):
    code, _, err = command(capsys, "compare", "a", "b", "--json", "a/run.json/c.json")
    assert code == 2
    assert "--json: cannot write" in err


def test_gates_are_judged_from_stored_answers(two, bench, capsys):
    calls_before = len(bench.calls("ask"))
    code, out, err = command(
        capsys, "rejudge", "b", "--bench-gate", "toy.no_answer <= 0.5", "--bench-gate-point"
    )
    assert (code, err) == (0, "")
    assert out.startswith("tablebench/scripted:script.jsonl  (b)\n")
    assert "The gate holds." in out
    code, out, _ = command(capsys, "rejudge", "b", "--bench-gate", "toy.no_answer <= 0.1")
    assert code == 10
    assert "The gate fails." in out
    code, out, _ = command(capsys, "rejudge", "b", "--bench-gate", "toy.performance >= 0.9")
    assert code == 11  # two examples are too few
    assert "The gate is undecided." in out
    assert len(bench.calls("ask")) == calls_before
    assert command(capsys, "rejudge", "b")[0] == 0


def test_gates_against_a_baseline(two, capsys):
    gate = ("--bench-gate", "toy.performance >= baseline + 0.1", "--bench-gate-point")
    assert command(capsys, "rejudge", "b", *gate, "--bench-baseline", "a")[0] == 0
    assert command(capsys, "rejudge", "a", *gate, "--bench-baseline", "b")[0] == 10
    code, _, err = command(capsys, "rejudge", "b", *gate)
    assert code == 2
    assert "--bench-baseline=RUN" in err


def test_rejudge_uses_the_gates_of_the_run_by_default(two, capsys):
    change_facts("b", gates=["toy.no_answer <= 0.1"])
    assert command(capsys, "rejudge", "b")[0] == 10
    assert command(capsys, "rejudge", "b", "--bench-gate", "toy.no_answer <= 0.9")[0] == 0


def test_rejudge_accepts_gates_on_planned_cases_that_were_not_reached(bench, capsys):
    """Only one dataset, format and perturbation is recorded: the run ended after one case."""
    bench.data(toy=[ADA, BO, CY], zoo=[ADA])
    bench.suite(SUITE.replace("toy", "zoo"), "test_zoo.py")
    gates = ["zoo.pass_rate >= 0.1", "toys.no_answer <= 1", "toy[csv][transpose].performance >= 0"]
    bench.run("--model=echo/any", *FORMATS, *options(gates), results="a")
    path = bench.path / "a/records.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    change_facts("a", status="running", gates=gates)
    code, out, err = command(capsys, "rejudge", "a")
    assert (code, err) == (11, "")
    assert out.count("the run ended before all planned cases were asked: it was killed") == 3
    # Gates may name what was planned, and nothing else.
    planned = "toy[csv].performance >= 0.5"
    assert command(capsys, "rejudge", "a", *options([gates[0], planned]))[0] == 11
    code, out, err = command(capsys, "rejudge", "a", "--bench-gate=toy[json].performance >= 0.5")
    assert (code, out) == (2, "")
    assert "unknown serializer or perturbation 'json'" in err


def test_rejudge_keeps_only_what_the_stopping_rule_decided(bench, capsys):
    rows = [[f"e{number:03}", f"Question {number}?", ["36"]] for number in range(100)]
    bench.data(toy=rows)
    decided, other = "toy.performance >= 0.5", "toy.performance >= 0.4"
    arguments = ("--bench-stop-when-decided", f"--bench-gate={decided}")
    assert bench.run("--model=echo/any", *FORMATS, *arguments, results="a").ret == 0
    assert read_facts(bench.path / "a").entries["cases_saved"] > 0
    code, out, _ = command(capsys, "rejudge", "a")
    assert code == 0
    assert "Decided after pass 1 of 4" in out
    code, out, _ = command(capsys, "rejudge", "a", "--bench-gate", decided, "--bench-gate", other)
    assert code == 11
    assert "its own gates were decided" in out
    # Another threshold may lead to another decision.
    assert command(capsys, "rejudge", "a", "--bench-threshold", "toy=0.5")[0] == 11


def test_rejudge_writes_verdicts_and_texts_to_a_new_folder(two, bench, capsys):
    gate = ("--bench-gate", "toy.no_answer <= 0.9")
    new = ("--bench-threshold", "toy=0.5", "--out", "new")
    assert command(capsys, "rejudge", "b", *gate, *new)[0] == 0
    assert [gate["state"] for gate in read_facts(bench.path / "new").entries["gates"]] == ["holds"]
    assert command(capsys, "report", "new", "--no-plots")[0] == 0
    page = (bench.path / "new/report.html").read_text("utf-8")
    assert "<title>Passes: the gate holds" in page
    texts = [path / "texts.jsonl.gz" for path in (bench.path / "b", bench.path / "new")]
    assert texts[0].read_bytes() == texts[1].read_bytes()
    facts = read_facts(bench.path / "new").entries
    assert (facts["rejudged"]["origin"], facts["thresholds"]["toy"]) == ("b", 0.5)
    code, _, err = command(capsys, "rejudge", "a", "--out", "new")
    assert code == 2
    assert err.startswith("tablebench: --out: ")


@pytest.mark.parametrize(("ran", "judged"), reduced(MODES, MODES[0]))
def test_rejudge_in_another_mode_equals_a_run_in_that_mode(bench, capsys, ran, judged):
    bench.suite(upstream.SUITE, "test_suite.py")
    upstream.tabfact(bench.path / "data/tabfact")
    upstream.wikitq(bench.path / "data/wikitq")
    # Only `fixed` reads `refuted` before a space and a dot; only `reference` reads 3 as 3.0.
    script = bench.script(
        {"match": "tern is from", "text": "Refuted ."},
        {"match": "gull is older", "text": "Entailed."},
        {"match": "Which ship", "text": "the Gull, or the Tern"},
        {"default": "3"},
    )
    arguments = ("--bench-shots=0", "--bench-data=data", "--bench-dataset=tabfact,wikitq")
    for mode in (ran, judged):
        bench.run(f"--model={script}", *arguments, f"--bench-compat={mode}", results=mode)
    code, out, err = command(capsys, "rejudge", ran, "--bench-compat", judged, "--out", "again")
    assert (code, err) == (0, "")
    assert f"5 answers scored again in compat {judged}: " in out
    assert f"prompts that were made in compat {ran}" in out
    kept = ("case_id", "outcome", "score", "passed", "metric", "parts", "prediction", "references")
    again, real = (
        [
            [getattr(record, name) for name in kept]
            for record in sorted(read_records(bench.path / name), key=lambda record: record.case_id)
        ]
        for name in ("again", judged)
    )
    assert again == real
    first = [record.score for record in read_records(bench.path / ran)]
    assert first != [record.score for record in read_records(bench.path / "again")]
    assert command(capsys, "compare", "again", judged)[0] == 0


def test_rejudge_scores_a_dataset_of_a_conftest(two, capsys, monkeypatch, tmp_path_factory):
    again = ("--bench-compat=fixed",)
    run, conftest = str(Path("a").resolve()), str(Path("conftest.py").resolve())
    code, out, _ = command(capsys, "rejudge", "a", *again)
    assert code == 0
    assert "scored again in compat fixed: 0 scores changed" in out
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(tmp_path_factory.mktemp("elsewhere"))
        code, _, err = command(capsys, "rejudge", run, *again)
        assert code == 2
        assert "dataset 'toy' is neither built in nor" in err
        code, out, _ = command(capsys, "rejudge", run, *again, "--plugin", conftest)
        assert code == 0
        assert "scored again in compat fixed: 0 scores changed" in out
    code, _, err = command(capsys, "rejudge", "a", "--bench-compat=fixed", "--plugin", "nothing.py")
    assert code == 2
    assert "--plugin nothing.py: cannot be loaded: FileNotFoundError" in err
    code, out, _ = command(capsys, "rejudge", "a", "--bench-threshold", "toy=0")
    assert code == 0
    assert "verdicts changed: 8 from wrong to right" in out
