"""Header, plan, progress and closing table on the terminal."""

from __future__ import annotations

import re
import time

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.hooks import current
from pytest_tablebench.reports.progress import Progress, waiting_text
from tests.support.toy_bench import ADA, BO, CY, SUITE

SCRIPT = (
    {"match": "How old is Ada?", "text": "36"},
    {"case_id": "toy/bo/html/none", "text": "41"},
    {"case_id": "toy/bo/html/transpose", "text": "41"},
    {"match": "How old is Bo?", "text": "?"},
    {"case_id": "toy/cy/html/none", "text": "12"},
    {"case_id": "toy/cy/csv/none", "error": "timeout"},
    {"match": "How old is Cy?", "text": "?"},
)
"""
            html/none  html/transpose  csv/none    csv/transpose    mean   1 - range
    ada     1          1               1           1                1      1
    bo      1          1               0           0                0.5    0
    cy      1          0               no answer   0                0.333  0
"""
GRID = ("--bench-serializer=html,csv", "--bench-perturbation=none,transpose")


def table(result: pytest.RunResult) -> dict[str, list[str]]:
    """Return the cells of the final table by the first column."""
    lines = result.outlines
    head = next(n for n, line in enumerate(lines) if re.match(r" +performance", line))
    rows = {"": re.split(r"  +", lines[head].strip())}
    for line in lines[head + 1 :]:
        if not line or line.startswith(("run folder", "=")):
            break
        name, *cells = re.split(r"  +", line)
        rows[name] = cells
    return rows


COUNTING = """
import pytest_tablebench.hooks.current

pytest_tablebench.hooks.current.REPORTS_BETWEEN_TRIMS = 10

def pytest_sessionfinish(session):
    terminal = session.config.pluginmanager.getplugin("terminalreporter")
    parts = [report.nodeid.partition("[")[0] for report in terminal.stats.get("", [])]
    print("\\nKEPT", sum("test_toy" in part for part in parts), len(parts))
"""
OTHERS = """
import pytest

@pytest.mark.parametrize("n", range(9))
def test_other(n):
    pass
"""


@pytest.fixture
def counting(bench, monkeypatch):
    """The option of a plugin that counts kept reports, and trims after ten."""
    # The plugin sets the number too; the fixture restores it.
    monkeypatch.setattr(current, "REPORTS_BETWEEN_TRIMS", current.REPORTS_BETWEEN_TRIMS)
    bench.pytester.makepyfile(counting=COUNTING)
    bench.pytester.syspathinsert()
    return "-pcounting"


@pytest.mark.parametrize("options", [(), ("-n1", "--dist=loadfile")], ids=["alone", "xdist"])
def test_reports_of_set_ups_and_tear_downs_are_not_kept(bench, counting, options):
    """Without trimming, 23 reports of our set-ups and tear-downs would be kept."""
    bench.pytester.makepyfile(test_zz=OTHERS)
    model = f"--model={bench.script(*SCRIPT)}"
    # A worker finds the plugin only if pytest starts with its folder on the path.
    run = bench.run_apart if options else bench.run
    result = run(*GRID, *options, "-s", counting, model)
    result.assert_outcomes(passed=7 + 9, failed=4, errors=1)
    [kept] = [line.split()[1:] for line in result.outlines if line.startswith("KEPT")]
    ours, all_kept = map(int, kept)
    assert ours < 10
    assert all_kept == ours + 18


def test_durations_keep_all_reports(bench, counting):
    model = f"--model={bench.script(*SCRIPT)}"
    result = bench.run(*GRID, "--durations=0", "-vv", "-s", counting, model)
    result.stdout.fnmatch_lines(["KEPT 23 23"])


# Header and plan


def test_the_header_shows_model_mode_and_folder(bench):
    address = "--bench-api-base=https://me:hunter2@host/v1?k=hunter2"
    result = bench.run("--model=echo/any", "--bench-limit=1", "--bench-data=.", address)
    assert "hunter2" not in result.stdout.str()
    [line] = [line for line in result.outlines if line.startswith("tablebench: model")]
    assert "model echo/any at https://host/v1" in line
    assert "compat fixed" in line
    assert "results run" in line
    assert "(the default)" not in line


def test_without_options_the_header_is_shown_once_after_collection(bench):
    bench.suite(SUITE.replace('"toy"', '"starter"'))
    result = bench.pytester.runpytest_inprocess("-k", "fin-01-lookup-1-html-none")
    headers = [line for line in result.outlines if line.startswith("tablebench: model")]
    assert len(headers) == 1
    assert "(the default)" in headers[0]


def test_the_plan_counts_what_is_selected(bench):
    result = bench.run("--model=echo/any", *GRID, "-k", "ada")
    [line] = [line for line in result.outlines if re.match(r"tablebench: \d+ cases", line)]
    assert line == "tablebench: 4 cases; grid 2 serializers x 2 perturbations"


# Progress


def test_a_short_run_has_one_line_of_progress(bench):
    bench.data(toy=[[f"q{n:02}", f"Which is {n:02}?", ["36"]] for n in range(40)])
    result = bench.run("--model=echo/any")
    shown = re.findall(r"^(\d+)/40 right (\d+) wrong 0 no answer 0", result.stdout.str(), re.M)
    assert shown == [("40", "40")]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (1000, [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]),
        (60, [334, 668, 1000]),
        (6000, [50, *range(100, 1000, 50), 1000]),
    ],
)
def test_progress_is_shown_at_tenths_within_20_seconds_and_5_minutes(seconds, shown):
    """A thousand cases at an even pace."""
    now = [0.0]
    progress = Progress(clock=lambda: now[0])
    due = []
    for done in range(1, 1001):
        now[0] = done * seconds / 1000
        if progress.due(done, 1000):
            due.append(done)
    assert due == shown


def test_progress_shows_rate_and_time_left():
    now = [100.0]
    progress = Progress(clock=lambda: now[0])
    counts = {"right": 2, "wrong": 1, "no_answer": 1}
    for elapsed, rate, left in (
        (4.0, "1.0/s", "16 s"),
        (40.0, "6.0/min", "3 min"),
        (3600.0, "4.0/h", "4.0 h"),
    ):
        now[0] = 100.0 + elapsed  # 4 of 20 done: four times as long again
        expected = f"4/20 right 2 wrong 1 no answer 1, {rate}, {left} left"
        assert progress.text(counts, 20) == expected
    assert progress.text({"right": 20, "wrong": 0, "no_answer": 0}, 20).endswith("no answer 0")


def test_the_rate_is_that_of_recent_cases():
    """800 answers come from the store at once; then a case takes a second."""
    now = [0.0]
    progress = Progress(clock=lambda: now[0])
    for done in range(801, 900):
        now[0] = float(done - 800)
        line = progress.text({"right": done, "wrong": 0, "no_answer": 0}, 1000, spent="0.10 USD")
    assert line == "899/1000 right 899 wrong 0 no answer 0, 1.0/s, 2 min left, 0.10 USD"


def test_progress_names_models_that_do_not_answer():
    since, until = (time.strftime("%H:%M:%S", time.localtime(at)) for at in (3600, 3780))
    wait = {"models": ["a/\x1b[31mb", "a/c"], "reason": "rate_limit", "since": 3600, "until": 3780}
    text = waiting_text([wait, {**wait, "models": ["d"], "reason": "timeout"}])
    assert text == (
        f"waiting for a/\x1b[31mb and 1 more since {since}, until {until} at most (rate_limit); "
        f"waiting for d since {since}, until {until} at most (timeout)"
    )
    counts = {"right": 2, "wrong": 1, "no_answer": 1}
    assert Progress().text(counts, 20, spent="4 calls", waiting=text) == f"4/20 {text}"
    assert waiting_text([]) == ""


# The table


def test_the_table_and_its_lines_show_the_measures_and_commands(bench, capsys):
    result = bench.run(f"--model={bench.script(*SCRIPT)}", *GRID, "--bench-limit=3", "-v")
    rows = table(result)
    assert rows[""] == [
        *("performance", "95 % interval", "robustness", "pass rate", "no answer"),
        *("examples", "cases"),
    ]
    performance, interval, *rest = rows["toy"]
    assert performance == "0.611"  # (1 + 1/2 + 1/3) / 3
    assert re.fullmatch(r"0\.\d{3} to \d\.\d{3}", interval)
    # (1 + 0 + 0) / 3, flagged as a range over fewer cells; 61.1 %; 1 of 12
    assert rest == ["0.333*", "61.1 %", "8.3 %", "3", "12"]
    result.assert_outcomes(passed=7, failed=4, errors=1)
    # html: 1, 1, 1/2; csv: 1, 0, 0; none: 1, 1/2, 1; transpose: 1, 1/2, 0
    # One of twelve cases has no answer: csv, transpose.
    counts = "over 5 to 6 answers each"
    for line in (
        f"toy: best serializer html (0.833), worst csv (0.333), {counts}",
        f"toy: best perturbation none (0.833), worst transpose (0.500), {counts}",
        "toy: no answer by reason: timeout 1",
    ):
        assert line in result.outlines
    # The last lines name the commands that show and repeat a wrong case.
    lines = result.outlines[result.outlines.index("run folder: run") :]
    shown, again = (
        next(line for line in lines if line.startswith(start)).partition(": ")[2]
        for start in ("see a wrong answer", "run it again")
    )
    assert shown == "tablebench show run toy/bo/csv/none"
    assert again.startswith(
        "pytest 'test_suite.py::test_toy[bo-csv-none]' --bench-model=tablebench/scripted:"
    )
    assert " (all failed tests: the same command with --lf)" in again
    # Without these options a case outside the default grid would not be collected.
    assert "--bench-serializer=html,csv --bench-perturbation=none,transpose" in again
    capsys.readouterr()
    for case in ("toy/bo/csv/none", "toy/bo/csv/n", "test_suite.py::test_toy[bo-csv-none]"):
        assert main(["show", str(bench.path / "run"), case]) == 0
        output = capsys.readouterr().out.splitlines()
        assert output[0] == "case: toy/bo/csv/none"
        assert "  Question: How old is Bo?" in "\n".join(output[output.index("prompt:") :])
        assert output[output.index("reply:") + 1] == "  ?"
        assert output[-1] == "score: 0.000, wrong (exact_match, right from 1)"
    assert main(["show", str(bench.path / "run"), "toy/cy/csv/none"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no answer: timeout"
    for wrong, message in (("toy/bo/", "4 cases begin with toy/bo/: "), ("x", "unknown case 'x'")):
        assert main(["show", str(bench.path / "run"), wrong]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gates", "meaning"),
    [
        ([], "set exit code 1, unless the run has gates (--bench-gate)."),
        (["--bench-gate=toy.pass_rate >= 0.1"], "fail no build by themselves: the gates do."),
    ],
    ids=["alone", "gated"],
)
def test_the_three_outcomes_open_the_summary(bench, gates, meaning):
    lines = bench.run(f"--model={bench.script(*SCRIPT)}", *GRID, *gates).outlines
    [title] = [n for n, line in enumerate(lines) if "= tablebench: " in line]
    counts = "7 right, 4 wrong, 1 without an answer"  # of the table at the top of this file
    assert lines[title + 1] == f"{counts}. Wrong answers are failed tests and {meaning}"
    # Other details are shown only with -v.
    texts = [line.partition(": ")[2] for line in lines if line.startswith("toy: ")]
    assert texts == ["no answer by reason: timeout 1"]


def test_a_benchmark_of_several_datasets_has_a_row(bench):
    bench.data(toy=[ADA], other=[BO, CY])
    bench.suite(SUITE + SUITE.replace("toy", "other"))
    rows = table(bench.run("--model=echo/any"))
    assert [rows[name][0] for name in ("toy", "other", "toys (all)")] == ["1.000", "0.000", "0.500"]
    assert [rows[name][-1] for name in ("toy", "other", "toys (all)")] == ["1", "2", "3"]


def test_the_command_that_repeats_a_case_contains_the_name_of_bench_fresh(bench):
    store = f"--bench-store={bench.path / 'store'}"
    result = bench.run(f"--model={bench.script({'default': '?'})}", "--bench-fresh", store, "-v")
    again = next(line for line in result.outlines if line.startswith("run it again: "))
    assert f"--bench-fresh={bench.facts()['fresh']}" in again


def test_each_model_has_a_table(bench):
    result = bench.run("--model=echo/one", "--model=echo/refuses", "--bench-limit=1")
    titles = [
        line.strip("= ")
        for line in result.outlines
        if line.startswith("=== ") or "= tablebench: " in line
    ]
    assert [title for title in titles if title.startswith("tablebench: ")] == [
        "tablebench: echo/one",
        "tablebench: echo/refuses",
    ]


@pytest.mark.parametrize(
    "options",
    [
        ("-pno:terminal",),
        ("-pno:xdist",),
        ("--tb=native",),
        ("--no-header", "--no-summary", "-qq"),
    ],
)
def test_the_run_is_recorded_without_other_plugins_and_however_little_is_shown(bench, options):
    result = bench.run(*options, "--model=echo/any")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "Traceback" not in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()
    assert len(bench.records()) == 3
    assert bench.facts()["status"] == "complete"
