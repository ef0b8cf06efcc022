"""`--bench-snapshot`: answers are recorded and compared with snapshots."""

from __future__ import annotations

import re

import pytest

from pytest_tablebench.results.snapshot_comparison import read_entries
from pytest_tablebench.results.snapshots import Entry
from tests.support.snapshots import RECORD, answers, changes, content, counts, stored, summary
from tests.support.toy_bench import ADA, BO, SUITE, Bench


def test_disabled_plugins_are_loaded_again_by_the_run_that_needs_them(bench: Bench) -> None:
    off = "-p no:allure_pytest -p no:syrupy"
    bench.pytester.makeini(f"[pytest]\naddopts = {off}\n")
    refused = bench.run(answers(bench), *RECORD)
    refused.stderr.fnmatch_lines(["*unrecognized arguments: --snapshot-update"])
    bench.run(answers(bench), *RECORD, "-p", "syrupy", results="first")
    assert counts(bench, "first") == {"new": 3}


def test_snapshots_work_without_syrupys_plugin_beside_an_option_of_another(bench: Bench) -> None:
    option = 'parser.addoption("--snapshot-update", action="store_true")'
    bench.pytester.makepyfile(other_snapshots=f"def pytest_addoption(parser):\n    {option}\n")
    bench.pytester.syspathinsert()
    plugins = ("-p", "no:syrupy", "-p", "other_snapshots")
    bench.run(answers(bench), *RECORD, *plugins, results="first")
    assert counts(bench, "first") == {"new": 3}


# Recording and comparing.


def test_answers_are_recorded_and_compared(bench: Bench) -> None:
    model = answers(bench, bo="forty")
    first = bench.run(model, *RECORD, results="first")
    first.assert_outcomes(passed=2, failed=1)
    assert stored(bench) == {
        "test_toy[toy/ada/html/none]": Entry("right", 1.0, "36"),
        "test_toy[toy/bo/html/none]": Entry("wrong", 0.0, "forty"),
        "test_toy[toy/cy/html/none]": Entry("right", 1.0, "12"),
    }
    assert counts(bench, "first") == {"new": 3}
    before = content(bench)
    # `test_snapshot_changes_fail_fails_tests_of_changed_answers` compares under workers.
    second = bench.run(model, "--bench-snapshot", results="second")
    second.assert_outcomes(passed=2, failed=1)
    assert second.ret == first.ret
    assert counts(bench, "second") == {"same": 3}
    assert changes(bench, "second")["changes"] == []
    assert content(bench) == before


def test_bench_fresh_asks_a_changed_model_again(bench: Bench) -> None:
    """The model has changed behind its name, so stored answers are out of date."""
    small = ["--model=echo/any", "--bench-serializer=html", "--bench-perturbation=none"]
    small += ["--bench-store=answers", "--bench-snapshot"]

    def calls_and_counts(*options: str, results: str) -> tuple[int, dict[str, int]]:
        before = len(bench.calls("ask"))
        bench.run(*small, *options, results=results)
        return len(bench.calls("ask")) - before, counts(bench, results)

    assert calls_and_counts("--snapshot-update", results="first") == (3, {"new": 3})
    bench.adapt(('Reply("36"', 'Reply("41"'))
    assert calls_and_counts(results="stored") == (0, {"same": 3})
    # "41" instead of "36": right for one case that was wrong, wrong for one that was right.
    assert calls_and_counts("--bench-fresh=b", results="fresh") == (
        3,
        {"flipped": 2, "reworded": 1},
    )
    assert bench.facts("fresh")["fresh"] == "b"
    assert calls_and_counts("--bench-fresh=b", results="again") == (
        0,
        {"flipped": 2, "reworded": 1},
    )
    assert calls_and_counts(results="as before") == (0, {"same": 3})
    for results in ("new", "newer"):  # without a name every run is fresh
        assert calls_and_counts("--bench-fresh", results=results)[0] == 3


def test_changes_are_same_reworded_or_flipped(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    before = content(bench)
    model = answers(bench, bo="41\nor so", cy="about 13")
    result = bench.run(model, "--bench-snapshot", results="second")
    result.assert_outcomes(passed=2, failed=1)  # by the answers, not by the snapshots
    assert counts(bench, "second") == {"same": 1, "reworded": 1, "flipped": 1}
    flipped, reworded = changes(bench, "second")["changes"]
    assert (flipped["case_id"], flipped["kind"]) == ("toy/cy/html/none", "flipped")
    assert flipped["old"] == {"verdict": "right", "score": 1.0, "text": "12"}
    assert flipped["new"] == {"verdict": "wrong", "score": 0.0, "text": "about 13"}
    assert (reworded["case_id"], reworded["kind"]) == ("toy/bo/html/none", "reworded")
    lines = summary(result)
    assert lines[0].endswith(
        ": 1 same text, 1 other text with the same verdict, 1 flipped, 0 new; "
        "--snapshot-update records them"
    )
    assert lines[1:] == [
        "right -> wrong  toy/cy/html/none",
        "  [-12-]{+about 13+}",
        "reworded  toy/bo/html/none",
        "  41{+\\nor so+}",
    ]
    assert content(bench) == before


def test_an_update_records_what_changed_and_no_missing_answer(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    result = bench.run(answers(bench, bo=None, cy="13"), *RECORD, results="second")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    assert changes(bench, "second")["updated"] is True
    assert counts(bench, "second") == {"same": 1, "flipped": 1, "no_answer": 1}
    assert stored(bench)["test_toy[toy/bo/html/none]"].text == "41"
    assert stored(bench)["test_toy[toy/cy/html/none]"] == Entry("wrong", 0.0, "13")
    assert "1 without an answer (not compared)" in summary(result)[0]
    assert summary(result)[0].endswith("; recorded in snapshots/")
    assert "unused" not in summary(result)[0]


def test_update_new_only_records_only_new_answers(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, "--bench-limit=2", results="first")
    new_only = ("--bench-snapshot", "--snapshot-update-new-only")
    bench.run(answers(bench, ada="37", cy="13"), *new_only, results="second")
    assert {name.split("/")[1]: entry.text for name, entry in stored(bench).items()} == {
        "ada": "36",
        "bo": "41",
        "cy": "13",
    }


def test_without_the_option_no_snapshot_is_made(bench: Bench) -> None:
    result = bench.run(answers(bench), "--snapshot-update")
    assert not (bench.path / "snapshots").exists()
    assert not (bench.path / "run" / "snapshots.json").exists()
    result.stdout.no_fnmatch_line("*snapshots of answers*")


def test_each_model_and_suite_has_a_snapshot_file(bench: Bench) -> None:
    bench.suite(SUITE, "test_other.py")
    first, two = answers(bench), "--model=" + bench.script({"default": "?"}, name="two.jsonl")
    bench.run(first, two, *RECORD)
    names = {"test_toy[toy/ada/html/none]", "test_toy[toy/bo/html/none]"}
    assert len(content(bench)) == 4
    for path in (bench.path / "snapshots").iterdir():
        entries = {name: Entry.decode(data) for name, data in read_entries(path).items()}
        assert entries.keys() == names | {"test_toy[toy/cy/html/none]"}
        assert all((entry.text == "?") == ("two" in path.name) for entry in entries.values())
    alone = bench.run(first, "--bench-snapshot", results="alone")
    assert counts(bench, "alone") == {"same": 6}  # a run of one of the models uses its files
    assert "unused" not in summary(alone)[0]


def test_the_first_ten_changes_are_shown(bench: Bench) -> None:
    bench.data(toy=[[f"e{n:02}", f"What is {n}?", ["x"]] for n in range(13)])
    bench.run("--model=" + bench.script({"default": "x"}), *RECORD, results="first")
    model = "--model=" + bench.script({"default": "y"})
    lines = summary(bench.run(model, "--bench-snapshot", results="second"))
    assert sum(line.startswith("right -> wrong") for line in lines) == 10
    assert lines[-1] == "not shown: 3 more changed; all are in snapshots.json"
    assert len(changes(bench, "second")["changes"]) == 13


# A part of the cases.

PARTS = [
    ("--bench-limit=1",),
    ("-k", "ada"),
    ("--deselect", "test_suite.py::test_toy[bo-html-none]"),
    ("test_suite.py::test_toy[ada-html-none]",),
    ("--bench-serializer=csv",),
    ("--bench-dataset=toy", "--bench-limit=2"),
    ("-x",),
]


def test_a_run_over_some_cases_leaves_other_snapshots_unchanged(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    [path] = (bench.path / "snapshots").iterdir()
    recorded, before = path.read_bytes(), stored(bench)
    html = "test_toy[toy/ada/html/none]"
    model = answers(bench, ada="37")
    for number, part in enumerate(PARTS):
        path.write_bytes(recorded)
        result = bench.run(model, *RECORD, *part, results=f"part-{number}")
        [file] = changes(bench, f"part-{number}")["files"].values()
        assert file == {"stored": 3, "unused": None}, part
        assert "unused" not in summary(result)[0]
        assert sum(counts(bench, f"part-{number}").values()) >= 1
        after = stored(bench)
        assert {name: after[name] for name in before if name != html} == {
            name: entry for name, entry in before.items() if name != html
        }
        assert after[html].text == ("36" if "--bench-serializer=csv" in part else "37")


def test_a_whole_run_counts_unused_snapshots_and_keeps_them(bench: Bench) -> None:
    # A grid that ini keys narrow is not the whole run either, so it uses all formats.
    bench.pytester.makeini("[pytest]\nbench_snapshot = true\n")
    model = "--model=" + bench.script({"default": "36"})
    words = (model, "--snapshot-update", "--bench-store=none", "--bench-no-page")
    bench.pytester.runpytest_inprocess(*words, "--bench-results=first")
    bench.data(toy=[ADA, BO])
    kept = stored(bench)
    result = bench.pytester.runpytest_inprocess(*words, "--bench-results=second")
    cells = sum("cy" in name for name in kept)
    assert cells > 0
    assert changes(bench, "second")["files"].popitem()[1]["unused"] == cells
    assert f"{cells} unused (stored, but no longer a case)" in summary(result)[0]
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # only because of wrong answers
    assert stored(bench).keys() == kept.keys()


# Another version of a model.


def test_answers_can_be_compared_with_snapshots_of_another_model(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    before = content(bench)
    [old] = before
    named = "--bench-snapshot-of=tablebench/scripted:script.jsonl"
    lines = [
        {"match": "Ada", "text": "36"},
        {"match": "Bo", "text": "forty"},
        {"match": "Cy", "text": "12 or so"},
    ]
    newer = "--model=" + bench.script(*lines, name="newer.jsonl")
    result = bench.run(newer, named, results="second")
    assert counts(bench, "second") == {"same": 1, "flipped": 2}
    assert changes(bench, "second")["compared_with"] == "tablebench/scripted:script.jsonl"
    assert summary(result)[0].startswith(
        "tablebench/scripted:newer.jsonl against tablebench/scripted:script.jsonl: 1 same text"
    )
    assert content(bench) == before

    # Recording keeps the older model's answers.
    bench.run(newer, named, "--snapshot-update", results="third")
    after = content(bench)
    assert after[old] == before[old]
    assert len(after) == 2
    bench.run(newer, "--bench-snapshot", results="fourth")
    assert counts(bench, "fourth") == {"same": 3}


def test_a_comparison_without_a_snapshot_sets_exit_code_11(bench: Bench) -> None:
    result = bench.run(answers(bench), "--bench-snapshot", results="first")
    result.assert_outcomes(passed=3)
    assert result.ret == 11
    assert bench.facts("first")["exit_code"] == 11
    assert not (bench.path / "snapshots").exists()
    assert counts(bench, "first") == {"new": 3}
    lines = summary(result)
    assert [line.partition(": ")[2] for line in lines] == [
        "0 of 3 answers had a snapshot; --snapshot-update records them"
    ]
    gate = "--bench-gate=all.no_answer <= 0"
    result = bench.run(answers(bench), "--bench-snapshot-of=older", gate, results="second")
    assert result.ret == 11
    assert summary(result)[0].endswith(
        " against older: 0 of 3 answers had a snapshot; a run with --snapshot-update and older "
        "records them"
    )
    # A wrong answer fails its test and the gate holds: the exit code is still 11.
    assert bench.run(answers(bench, cy="13"), "--bench-snapshot", gate, results="wrong").ret == 11
    assert bench.run(answers(bench), *RECORD, results="third").ret == 0
    assert bench.run(answers(bench), "--bench-snapshot", gate, results="fourth").ret == 0


# Changed answers that fail.

FAIL = "--bench-snapshot-changes=fail"


def test_snapshot_changes_fail_fails_tests_of_changed_answers(bench: Bench) -> None:
    bench.run(answers(bench, cy="13"), *RECORD, results="first")
    before = content(bench)
    model = answers(bench, bo="41\nor so", cy="14")
    gate = "--bench-gate=all.no_answer <= 0"
    result = bench.run(model, FAIL, gate, "-n1", results="second")
    # bo: right before and now, in other words. cy: wrong before and now, in other words.
    result.assert_outcomes(passed=1, failed=2)
    assert result.ret == 1  # the gate holds
    outcomes = {record["example_id"]: record["outcome"] for record in bench.records("second")}
    assert outcomes == {"ada": "right", "bo": "right", "cy": "wrong"}
    assert counts(bench, "second") == {"same": 1, "reworded": 2}
    shown = result.stdout.str()
    assert "2 right, 1 wrong" in shown
    assert re.search(r"see a wrong answer: .* toy/cy/", shown)
    assert shown.count("\nchanged since its snapshot: reworded") == 2
    assert "got:      41{+\\nor so+}" in shown
    assert "got:      [-13-]{+14+}" in shown
    assert content(bench) == before


def test_a_right_answer_that_changed_is_not_listed_as_wrong(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    result = bench.run(answers(bench, ada="36\nor so"), FAIL, "--bench-show=0", results="second")
    shown = result.stdout.str()
    assert "3 right, 0 wrong" in shown
    assert re.search(r"see a changed answer: .* toy/ada/", shown)
    assert "see a wrong answer" not in shown


def test_new_same_and_recorded_answers_fail_no_test(bench: Bench) -> None:
    new_only = (FAIL, "--snapshot-update-new-only")
    bench.run(answers(bench), *RECORD, "--bench-limit=2", results="first")
    bench.run(answers(bench), FAIL, results="second").assert_outcomes(passed=3)
    assert counts(bench, "second") == {"same": 2, "new": 1}
    other = answers(bench, ada="36 years")
    bench.run(other, *new_only, "--bench-limit=1", results="third").assert_outcomes(failed=1)
    result = bench.run(other, FAIL, "--snapshot-update", results="fourth")
    assert "changed since" not in result.stdout.str()
    assert bench.run(answers(bench), FAIL, results="fifth").ret == 1
