"""`tablebench report` over one, several, different, incomplete and hostile runs."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

# Pytester takes out of `sys.modules` what a test imports; matplotlib cannot be imported twice.
import matplotlib.backends.backend_agg
import matplotlib.backends.backend_svg
import matplotlib.figure
import matplotlib.image
import pytest

from tests.support.commands import command
from tests.support.matrix import reduced

REPORT = ["report", "run", "--no-plots", "--out", "made"], 0
REJUDGE = ["rejudge", "run", "--bench-gate", "toy.pass_rate >= 1", "--bench-gate-point"], 10
GRID = ("--bench-serializer=html,csv", "--bench-perturbation=none,transpose")


def table(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def test_report_of_one_run(bench, capsys):
    bench.run("--model=echo/any", *GRID)
    code, out, err = command(capsys, "report", "run", "--no-plots")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "echo/any  (run)"
    assert lines[1].split() == [
        *("performance", "95", "%", "interval", "robustness", "pass", "rate"),
        *("no", "answer", "examples", "cases"),
    ]
    # One of three questions is about Ada, who is 36.
    assert "\necho/any         0.333  0.333" in out
    assert "not computed: separability, separability_intervals, kendall_w, w_growth" in out
    assert "fewer than two models" in out
    assert "leaderboard: none, no run has a dataset of ToRR" in out
    assert lines[-2] == f"tables and figures: {Path('run/report')}"
    assert lines[-1] == f"page: {Path('run/report.html')}"
    folder = bench.path / "run/report"
    assert table(folder / "toys/performance.csv") == [
        ["model", "all datasets", "toy"],
        ["echo/any", "0.333333333", "0.333333333"],
    ]
    assert "| echo/any | 0.333 | 0.333 |" in (folder / "toys/performance.md").read_text("utf-8")
    assert not (folder / "toys/separability.png").exists()


def test_report_writes_the_page_that_the_run_wrote(bench, capsys):
    """The page written again has the same verdict, baseline and changed answers."""
    gate = "toy.pass_rate >= baseline - 0.5"
    old = bench.script({"default": "36"})
    bench.run(f"--model={old}", "--bench-snapshot", "--snapshot-update", results="old")
    new = bench.script({"match": "Question: How old is Bo?", "text": "41"}, {"default": "36"})
    against = ("--bench-baseline=old", f"--bench-gate={gate}", "--bench-snapshot")
    bench.run(f"--model={new}", *against, "--override-ini=bench_no_page=false")
    page = bench.path / "run" / "report.html"
    written = page.read_text("utf-8")
    assert "Before and after" in written
    assert "differs from its snapshot" in written
    assert gate.replace(">", "&gt;") in written
    page.unlink()
    code, out, err = command(capsys, "report", "run", "--no-plots")
    assert (code, err) == (0, "")
    assert page.read_text("utf-8") == written
    # Without the baseline's folder the page says what is missing.
    (bench.path / "old").rename(bench.path / "moved")
    code, out, err = command(capsys, "report", "run", "--no-plots")
    assert (code, err) == (0, "")
    gone = f"no comparison with the baseline: {bench.path / 'old'} is not a run folder"
    assert f"note: {gone}" in out
    assert gone in page.read_text("utf-8")
    assert "differs from its snapshot" in page.read_text("utf-8")


def test_the_page_of_a_killed_run_shows_its_gates_as_not_judged(bench, capsys):
    bench.run("--model=echo/any", "--bench-gate=toy.pass_rate >= 0.5")
    facts = bench.facts() | {"status": "running", "gates": ["toy.pass_rate >= 0.5"]}
    (bench.path / "run/run.json").write_text(json.dumps(facts), encoding="utf-8")
    command(capsys, "report", "run", "--no-plots")
    page = (bench.path / "run/report.html").read_text("utf-8")
    assert "Not judged: 1 gate" in page


def test_a_run_over_a_selection_is_marked(bench, capsys):
    def is_marked(option: str, lines: list[str]) -> bool:
        return f"a selection ({option}): other cases were not asked" in lines

    result = bench.run("--model=echo/any", "-k", "ada", "--override-ini=bench_no_page=false")
    assert is_marked("-k", result.outlines)
    assert "a selection (-k): other" in (bench.path / "run/report.html").read_text("utf-8")
    assert is_marked("-k", command(capsys, "report", "run", "--no-plots")[1].splitlines())
    whole = bench.run("--model=echo/any", results="whole")
    assert not any("a selection" in line for line in whole.outlines)
    # The failed cases of Bo and Cy run again.
    again = bench.run("--model=echo/any", "--lf", results="again")
    assert is_marked("--lf", again.outlines)
    assert len(bench.records("again")) == 2


def test_a_report_lists_its_files_and_can_be_written_again(bench, capsys):
    bench.run("--model=echo/any", *GRID)
    command(capsys, "report", "run")
    folder = bench.path / "run/report"
    drawn = {path.stem for path in folder.glob("toys/*.png")}
    assert drawn == {path.stem for path in folder.glob("toys/*.svg")}
    assert {"performance_robustness", "min_max", "score_histogram"} <= drawn
    for name in drawn:
        assert matplotlib.image.imread(folder / f"toys/{name}.png").size > 0
        ET.parse(folder / f"toys/{name}.svg")
    listed = json.loads((folder / "report.json").read_text("utf-8"))
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert set(listed["files"]) == names - {"report.json"}
    assert listed["runs"] == [{"model": "echo/any", "folder": "run"}]
    index = (folder / "README.md").read_text("utf-8")
    for name in listed["files"]:
        if name.endswith((".md", ".png")) and name != "README.md":
            assert f"({name})" in index

    (folder / "toys/mine.txt").write_text("kept", encoding="utf-8")
    code, _, _ = command(capsys, "report", "run", "--no-plots")
    assert code == 0
    assert not list(folder.rglob("*.png"))
    assert (folder / "toys/performance.csv").exists()
    assert (folder / "toys/mine.txt").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize(
    ("arguments", "code"),
    reduced([REPORT, REJUDGE, (["compare", "run", "run"], 0), (["list"], 0)], REJUDGE),
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_closed_output_pipe_is_no_error(bench, arguments, code):
    bench.run("--model=echo/any")
    reading, writing = os.pipe()
    os.close(reading)  # as `| head` does
    program = "import sys; from pytest_tablebench.cli import main; sys.exit(main())"
    with os.fdopen(writing, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=bench.path,
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=100,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (code, b"")
    if arguments[0] == "report":
        assert (bench.path / "made" / "README.md").exists()
        assert (bench.path / "made.html").exists()


def test_a_report_in_another_folder_leaves_the_run_unchanged(bench, capsys):
    bench.run("--model=echo/any")
    before = {path: path.read_bytes() for path in sorted((bench.path / "run").iterdir())}
    for _ in range(2):
        code, out, err = command(capsys, "report", "run", "--no-plots", "--out", "made")
        assert (code, err) == (0, "")
        assert out.splitlines()[-2:] == ["tables and figures: made", "page: made.html"]
    assert {path: path.read_bytes() for path in sorted((bench.path / "run").iterdir())} == before
    assert "<h1>echo/any</h1>" in (bench.path / "made.html").read_text("utf-8")


def test_report_of_two_models(bench, capsys, no_figures):
    answers = {"Ada": "36", "Bo": "41", "Cy": "12"}
    script = bench.script(
        *({"match": f"How old is {name}?", "text": text} for name, text in answers.items()),
        name="s.jsonl",
    )
    bench.run("--model=echo/any", f"--model={script}", *GRID, results="both")
    code, out, err = command(capsys, "report", "both", "--no-plots")
    assert (code, err) == (0, "")
    assert out.count("performance   95 % interval") == 2
    assert "note:" not in out
    folder = bench.path / "tablebench-report/toys"
    assert table(folder / "performance.csv")[1:] == [
        ["echo/any", "0.333333333", "0.333333333"],
        ["tablebench/scripted:s.jsonl", "1.0", "1.0"],
    ]
    assert table(folder / "kendall_w.csv")[1][:3] == ["toy", "1.0", "4"]


def test_report_of_a_torn_run(bench, capsys):
    bench.run("--model=echo/any", *GRID)
    records = bench.path / "run/records.jsonl"
    records.write_bytes(records.read_bytes()[:-40])
    code, out, err = command(capsys, "report", "run", "--no-plots")
    assert (code, err) == (0, "")
    assert "interrupted: 11 of 12 cases are recorded" in out
    index = (bench.path / "run/report/README.md").read_text("utf-8")
    assert "echo/any: interrupted, 11 of 12 cases are recorded" in index
    records.unlink()
    code, out, _ = command(capsys, "report", "run", "--no-plots")
    assert code == 0
    assert "interrupted: 0 of 12 cases are recorded" in out


def test_report_skips_other_files_among_runs(bench, capsys):
    bench.run("--model=echo/any", results="runs/a")
    (bench.path / "runs/empty").mkdir()
    (bench.path / "runs/notes.txt").write_text("", encoding="utf-8")
    # As the shell expands runs/*, and one of them twice.
    arguments = ("runs/a", "runs/empty", "runs/notes.txt", "./runs/a/")
    code, out, err = command(capsys, "report", *arguments, "--no-plots")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:2] == [
        "skipped, not a run folder: runs/empty, runs/notes.txt",
        "echo/any  (runs/a)",
    ]
    assert (bench.path / "runs/a/report.html").is_file()
    # A missing file is an error, and so is a list without a run.
    for names in (("runs/a", "runs/b"), ("runs/empty", "runs/notes.txt")):
        code, out, err = command(capsys, "report", *names)
        assert (code, out) == (2, "")
        assert err == err.splitlines()[0] + "\n"


def test_hostile_model_names_are_escaped_in_every_file(bench, capsys, no_figures):
    names = ["echo/=cmd|'/C calc'!A0", "echo/$\\frac{1$<b>|**x**", "=1+1", "echo/\x1b[31m\u202eabc"]
    bench.run("--model=echo/any", results="run0")
    for number, name in enumerate(names):
        if number:
            shutil.copytree(bench.path / "run0", bench.path / f"run{number}")
        facts = bench.facts(f"run{number}") | {"model": name}
        path = bench.path / f"run{number}/run.json"
        path.write_text(json.dumps(facts), encoding="utf-8")
    runs = [f"run{number}" for number in range(len(names))]
    code, out, err = command(capsys, "report", *runs, "--no-plots")
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert "\u202e" not in out
    folder = bench.path / "tablebench-report"
    for path in folder.rglob("*.csv"):
        for row in table(path):
            assert not [cell for cell in row if cell.startswith(("=", "+", "@"))], path
    for path in folder.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert "<b>" not in text
        assert "**x**" not in text
        assert "\x1b" not in text
    assert len(table(folder / "toys/performance.csv")) == len(names) + 1


def test_a_hostile_benchmark_stays_in_the_folder(bench, capsys):
    bench.adapt(('benchmark = "toys"', 'benchmark = "../../up"'))
    bench.run("--model=echo/any")
    code, _, _ = command(capsys, "report", "run", "--no-plots")
    assert code == 0
    (folder,) = (path for path in (bench.path / "run/report").iterdir() if path.is_dir())
    assert folder.name.startswith("up-")
    assert (folder / "performance.csv").exists()


# The folder of a report


def test_report_refuses_a_folder_with_other_files(bench, capsys):
    bench.run("--model=echo/any")
    (bench.path / "mine").mkdir()
    (bench.path / "mine/README.md").write_text("mine", encoding="utf-8")
    code, _, err = command(capsys, "report", "run", "--out", "mine")
    assert code == 2
    assert err == "tablebench: --out: mine contains other files; choose a new or empty folder\n"
    assert [path.name for path in (bench.path / "mine").iterdir()] == ["README.md"]
    assert (bench.path / "mine/README.md").read_text(encoding="utf-8") == "mine"
    # A folder that cannot be made is reported in one line as well.
    code, _, err = command(capsys, "report", "run", "--out", "mine/README.md/inside")
    assert code == 2
    assert err.startswith("tablebench: --out: ")
    assert err.count("\n") == 1


def test_a_tampered_list_of_files_deletes_no_other_file(bench, capsys):
    bench.run("--model=echo/any")
    outside = bench.path / "precious.md"
    outside.write_text("mine", encoding="utf-8")
    folder = bench.path / "out"
    folder.mkdir()
    (folder / "data.txt").write_text("mine", encoding="utf-8")
    files: list[Any] = ["../precious.md", str(outside), "data.txt", "a/../../precious.md", 7, None]
    (folder / "report.json").write_text(json.dumps({"files": files}), encoding="utf-8")
    code, _, _ = command(capsys, "report", "run", "--out", "out", "--no-plots")
    assert code == 0
    assert outside.exists()
    assert (folder / "data.txt").exists()


def test_report_compares_runs_of_torr_with_the_leaderboard(bench, capsys):
    bench.adapt(('benchmark = "toys"', 'benchmark = "torr"'))
    bench.run("--model=echo/any", *GRID)
    records = bench.path / "run/records.jsonl"
    text = records.read_text(encoding="utf-8").replace('"dataset": "toy"', '"dataset": "wikitq"')
    records.write_text(text, encoding="utf-8")
    code, out, _ = command(capsys, "report", "run", "--no-plots")
    assert code == 0
    assert "ToRR leaderboard" in out
    board = table(bench.path / "run/report/leaderboard.csv")
    first = dict(zip(board[0], board[1], strict=True))
    names = ("model", "source", "performance", "WikiTQ")
    assert [first[name] for name in names] == ["echo/any", "this run", "", "0.333333333"]
    assert [row[1] for row in board[2:]] == ["published"] * 14
