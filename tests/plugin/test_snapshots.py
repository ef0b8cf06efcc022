"""Answers compared with stored ones: what is recorded, what is said, what stays as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import syrupy.extensions.amber  # noqa: F401 - pytester takes out what a test imports

from pytest_tablebench._snapshot_files import (
    SnapshotFile,
    file_name,
    read_entries,
    write_entries,
)
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.snapshots import Entry
from tests.support.toy_bench import ADA, BO, CONFTEST, CY, SUITE, Bench

FULL = bool(os.environ.get("TABLEBENCH_FULL"))

RIGHT = {"ada": "36", "bo": "41", "cy": "12"}


def answers(bench: Bench, **texts: str | None) -> str:
    """A scripted model for ada, bo and cy: right but for what is given; None is no answer."""
    lines = [
        {"match": f"How old is {name.capitalize()}?"}
        | ({"error": "timeout"} if text is None else {"text": text})
        for name, text in (RIGHT | texts).items()
    ]
    return "--model=" + bench.script(*lines)


def stored(bench: Bench) -> dict[str, Entry]:
    """All stored answers by name."""
    found = {}
    for path in sorted((bench.path / "snapshots").glob("*")):
        assert path.suffix == ".ambr", path
        found |= {name: Entry.decode(data) for name, data in read_entries(path).items()}
    return found


def content(bench: Bench) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (bench.path / "snapshots").glob("*")}


def changes(bench: Bench, results: str) -> dict[str, Any]:
    text = (bench.path / results / "snapshots.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def counts(bench: Bench, results: str) -> dict[str, int]:
    """The counts that are not 0."""
    return {kind: count for kind, count in changes(bench, results)["counts"].items() if count}


def summary(result: pytest.RunResult) -> list[str]:
    """The lines of our section."""
    lines = result.outlines
    start = next(n for n, line in enumerate(lines) if "snapshots of answers" in line)
    end = next((n for n, line in enumerate(lines) if n > start and line.startswith("=")), None)
    return lines[start + 1 : end]


def run(bench: Bench, *arguments: str, workers: int, results: str) -> pytest.RunResult:
    """A run in this process, or in as many others."""
    if not workers:
        return bench.run(*arguments, results=results)
    return bench.run_apart(*arguments, "-n", str(workers), results=results)


RECORD = ("--bench-snapshot", "--snapshot-update")


# Recording and comparing.


@pytest.mark.parametrize("workers", [0, 2])
def test_answers_are_recorded_and_compared(bench: Bench, workers: int) -> None:
    model = answers(bench, bo="forty")
    first = run(bench, model, *RECORD, workers=workers, results="first")
    first.assert_outcomes(passed=2, failed=1)
    assert stored(bench) == {
        "test_toy[toy/ada/html/none]": Entry("right", 1.0, "36"),
        "test_toy[toy/bo/html/none]": Entry("wrong", 0.0, "forty"),
        "test_toy[toy/cy/html/none]": Entry("right", 1.0, "12"),
    }
    assert counts(bench, "first") == {"new": 3}
    before = content(bench)
    second = run(bench, model, "--bench-snapshot", workers=workers, results="second")
    second.assert_outcomes(passed=2, failed=1)
    assert second.ret == first.ret
    assert counts(bench, "second") == {"same": 3}
    assert changes(bench, "second")["changes"] == []
    assert content(bench) == before


def test_three_kinds_of_change(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    before = content(bench)
    model = answers(bench, bo="41\nor so", cy="about 13")
    result = bench.run(model, "--bench-snapshot", results="second")
    result.assert_outcomes(passed=2, failed=1)  # as the answers are, whatever is stored
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


def test_the_same_text_with_another_verdict_has_flipped(bench: Bench) -> None:
    bench.run(answers(bench, ada="37"), *RECORD, results="first")
    bench.data(toy=[["ada", ADA[1], ["37"]], BO, CY])
    result = bench.run(answers(bench, ada="37"), "--bench-snapshot", results="second")
    assert counts(bench, "second") == {"same": 2, "flipped": 1}
    assert "wrong -> right  toy/ada/html/none" in summary(result)


def test_an_update_records_what_changed(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    result = bench.run(answers(bench, cy="13"), *RECORD, results="second")
    assert changes(bench, "second")["updated"] is True
    assert counts(bench, "second") == {"same": 2, "flipped": 1}
    assert stored(bench)["test_toy[toy/cy/html/none]"] == Entry("wrong", 0.0, "13")
    assert summary(result)[0].endswith("; recorded in snapshots/")


def test_only_new_ones_are_recorded_where_asked_for(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, "--bench-limit=2", results="first")
    new_only = ("--bench-snapshot", "--snapshot-update-new-only")
    bench.run(answers(bench, ada="37", cy="13"), *new_only, results="second")
    assert {name.split("/")[1]: entry.text for name, entry in stored(bench).items()} == {
        "ada": "36",
        "bo": "41",
        "cy": "13",
    }


def test_without_an_answer_nothing_is_compared_or_overwritten(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    before = content(bench)
    result = bench.run(answers(bench, bo=None), *RECORD, results="second")
    result.assert_outcomes(passed=2, errors=1)
    assert content(bench) == before
    assert counts(bench, "second") == {"same": 2, "no_answer": 1}
    assert "1 without an answer (not compared)" in summary(result)[0]
    assert "unused" not in summary(result)[0]


@pytest.mark.parametrize("option", ["--snapshot-update", ""])
def test_without_the_option_nothing_happens(bench: Bench, option: str) -> None:
    result = bench.run(answers(bench), *filter(None, [option]))
    assert not (bench.path / "snapshots").exists()
    assert not (bench.path / "run" / "snapshots.json").exists()
    result.stdout.no_fnmatch_line("*snapshots of answers*")


def test_without_an_update_no_file_appears(bench: Bench) -> None:
    result = bench.run(answers(bench), "--bench-snapshot")
    assert not (bench.path / "snapshots").exists()
    assert counts(bench, "run") == {"new": 3}
    assert "3 new; --snapshot-update records them" in summary(result)[0]


def test_the_ini_key(bench: Bench) -> None:
    bench.pytester.makeini("[pytest]\nbench_snapshot = true\n")
    bench.run(answers(bench), "--snapshot-update")
    assert len(stored(bench)) == 3


def test_models_and_suites_have_files_of_their_own(bench: Bench) -> None:
    bench.suite(SUITE, "test_other.py")
    one, two = answers(bench), "--model=" + bench.script({"default": "?"}, name="two.jsonl")
    bench.run(one, two, *RECORD)
    names = {"test_toy[toy/ada/html/none]", "test_toy[toy/bo/html/none]"}
    assert len(content(bench)) == 4
    for path in (bench.path / "snapshots").iterdir():
        found = {name: Entry.decode(data) for name, data in read_entries(path).items()}
        assert found.keys() == names | {"test_toy[toy/cy/html/none]"}
        assert all((entry.text == "?") == ("two" in path.name) for entry in found.values())
    alone = bench.run(one, "--bench-snapshot", results="alone")
    assert counts(bench, "alone") == {"same": 6}  # as many models as before or not
    assert "unused" not in summary(alone)[0]


def test_repeats_are_kept_apart(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, "--bench-repeats=2", "--bench-limit=1")
    assert stored(bench).keys() == {
        "test_toy[toy/ada/html/none]",
        "test_toy[toy/ada/html/none/r2]",
    }


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
]


@pytest.mark.parametrize(("part", "workers"), [*((part, 0) for part in PARTS), (("-k", "ada"), 2)])
def test_a_part_of_the_cases_leaves_the_rest_alone(
    bench: Bench, part: tuple[str, ...], workers: int
) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    before = stored(bench)
    model = answers(bench, ada="37")
    result = run(bench, model, *RECORD, *part, workers=workers, results="second")
    [file] = changes(bench, "second")["files"].values()
    assert file == {"stored": 3, "unused": None}
    assert "unused" not in summary(result)[0]
    after = stored(bench)
    ran = counts(bench, "second")
    assert {name: after[name] for name in before if "ada" not in name} == {
        name: entry for name, entry in before.items() if "ada" not in name
    }
    assert sum(ran.values()) >= 1
    html = "test_toy[toy/ada/html/none]"
    assert after[html].text == ("36" if "--bench-serializer=csv" in part else "37")


def test_a_run_cut_short_leaves_the_rest_alone(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    result = bench.run(answers(bench, ada="37"), *RECORD, "-x", results="second")
    result.assert_outcomes(failed=1)
    assert {name.split("/")[1]: entry.text for name, entry in stored(bench).items()} == {
        "ada": "37",
        "bo": "41",
        "cy": "12",
    }
    assert changes(bench, "second")["files"].popitem()[1]["unused"] is None


@pytest.mark.parametrize("workers", [0, 2])
def test_a_whole_run_counts_what_is_unused_and_keeps_it(bench: Bench, workers: int) -> None:
    # Ini keys that narrow the grid are a part as well: all formats, then.
    bench.pytester.makeini("[pytest]\nbench_snapshot = true\n")
    model = "--model=" + bench.script({"default": "36"})
    whole(bench, model, "--snapshot-update", workers=0, results="first")
    bench.data(toy=[ADA, BO])
    kept = stored(bench)
    result = whole(bench, model, "--snapshot-update", workers=workers, results="second")
    cells = sum("cy" in name for name in kept)
    assert cells > 0
    assert changes(bench, "second")["files"].popitem()[1]["unused"] == cells
    assert f"{cells} unused (stored, and no case any more)" in summary(result)[0]
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # for its wrong answers, nothing else
    assert stored(bench).keys() == kept.keys()


def whole(bench: Bench, *arguments: str, workers: int, results: str) -> pytest.RunResult:
    """A run over all formats and perturbations."""
    given = (f"--bench-results={results}", "--bench-store=none", "--bench-no-page", *arguments)
    if not workers:
        return bench.pytester.runpytest_inprocess(*given)
    return bench.pytester.runpytest_subprocess(*given, "-n", str(workers))


# Hostile answers.

HOSTILE = {
    "ada": "36\n# name: test_toy[toy/bo/html/none]\n  right 1.0\n  |forged\n# ---\n",
    "bo": "a\r\nb\rc\x00d\ud800e\x1b[31mred\u202egnp\u2028\x85 # ---",
    "cy": "\n\n  \n# serializer version: 9\n# ---\n\\x41 \t\n",
}


def test_hostile_answers_come_back_and_forge_nothing(bench: Bench) -> None:
    model = answers(bench, **HOSTILE)
    bench.run_apart(model, *RECORD, "-n", "2", results="first")
    found = {name: entry.text for name, entry in stored(bench).items()}
    assert found == {f"test_toy[toy/{name}/html/none]": text for name, text in HOSTILE.items()}
    bench.run(model, *RECORD, results="second")
    assert counts(bench, "second") == {"same": 3}
    result = bench.run_apart(answers(bench), "--bench-snapshot", results="third")
    shown = result.stdout.str()
    assert not set(shown) & set("\x00\x1b\u202e\u2028\x85\ud800")
    assert any("\\x1b[31m" in line for line in summary(result))


def test_an_answer_of_five_megabytes(bench: Bench) -> None:
    text = "# ---\r\n" * 100_000 + "word " * 900_000
    bench.run(answers(bench, ada=text), *RECORD, results="first")
    assert stored(bench)["test_toy[toy/ada/html/none]"].text == text
    result = bench.run(answers(bench, ada=text + "!"), "--bench-snapshot", results="second")
    assert counts(bench, "second") == {"same": 2, "reworded": 1}
    assert (bench.path / "second" / "snapshots.json").stat().st_size < 20_000
    assert "{+!+}" in "\n".join(summary(result))


@pytest.mark.parametrize(
    ("suite", "model"),
    [
        ("../../../etc/passwd", "../../root"),
        ("test_a.py", "x" * 500),
        ("t" * 500 + ".py", "\x1b[31m\n\ud800"),
        ("C:\\tests\\test_a.py", "openai/gpt-4o:latest"),
        ("", ""),
        ("tests/ä.py", "модель"),
    ],
)
def test_file_names_are_harmless(suite: str, model: str) -> None:
    name = file_name(suite, model)
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>|\n\x1b ')
    assert not name.startswith(".")
    assert name.endswith(".ambr")
    assert len(name) < 200


def test_file_names_differ() -> None:
    suites = ["test_a.py", "a/test_a.py", "a.test_a.py", "a/b.c/t.py", "a/b/c/t.py", "../test_a.py"]
    models = ["gpt-4o", "GPT-4o", "openai/gpt-4o", "openai-gpt-4o", "gpt-4o-1"]
    names = {file_name(suite, model).lower() for suite in suites for model in models}
    assert len(names) == len(suites) * len(models)
    assert file_name("suites/test_torr.py", "gpt-4o") == "suites.test_torr--gpt-4o.ambr"
    installed = "../venv/lib/python3.11/site-packages/pytest_tablebench/suites/test_torr.py"
    assert file_name(installed, "m") == "pytest_tablebench.suites.test_torr--m.ambr"


# Files that cannot be used.


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (b"\xff\xfe", "cannot be read"),
        (b"# serializer version: tablebench-2\n", "not written by this version"),
        (b"# name: a\n  right 1.0\n  |x\n# ---\n", "not written by this version"),
        (b"# serializer version: tablebench-1\n# name:\n  x\n# ---\n", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_left_alone(
    bench: Bench, damage: bytes, said: str
) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    [path] = (bench.path / "snapshots").iterdir()
    path.write_bytes(damage)
    result = bench.run(answers(bench), *RECORD, results="second")
    result.assert_outcomes(passed=3)
    assert path.read_bytes() == damage
    assert counts(bench, "second") == {}
    [problem] = changes(bench, "second")["problems"]
    assert path.name in problem
    assert said in problem
    assert "record again" in problem
    assert problem in summary(result)


def test_a_damaged_entry_is_new(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    [path] = (bench.path / "snapshots").iterdir()
    path.write_text(path.read_text().replace("|41", "41"))
    result = bench.run(answers(bench), *RECORD, results="second")
    assert counts(bench, "second") == {"same": 2, "new": 1}
    assert "1 damaged entries, compared with nothing" in summary(result)[-1]
    assert stored(bench)["test_toy[toy/bo/html/none]"].text == "41"


def test_a_file_where_the_folder_belongs_is_refused(bench: Bench) -> None:
    (bench.path / "snapshots").write_text("mine")
    result = bench.run(answers(bench), "--bench-snapshot")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--bench-snapshot: * is no folder*"])
    assert bench.calls("ask") == []


def test_syrupys_own_folder_must_be_another_one(bench: Bench) -> None:
    result = bench.run(answers(bench), "--bench-snapshot", "--snapshot-dirname=snapshots")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--snapshot-dirname: *choose another name*"])


def test_snapshots_of_ones_own_are_left_to_syrupy(bench: Bench) -> None:
    own = "\n\ndef test_own(snapshot):\n    assert {value} == snapshot\n"
    bench.suite(SUITE + own.format(value=1))
    model = answers(bench)
    options = ("--bench-snapshot", "-n", "2")
    bench.run_apart(model, *options, "--snapshot-update", results="first").assert_outcomes(passed=4)
    before = content(bench)
    assert len(before) == 1
    assert (bench.path / "__snapshots__" / "test_suite.ambr").is_file()
    bench.suite(SUITE + own.format(value=2))
    result = bench.run_apart(model, *options, results="second")
    result.assert_outcomes(passed=3, failed=1)
    assert counts(bench, "second") == {"same": 3}
    bench.suite(SUITE)  # its own entry is unused now, and an update removes it
    bench.run_apart(model, *options, "--snapshot-update", results="third")
    assert content(bench) == before


# Many answers, many processes.

ROUNDS = """

class Rounds:
    def complete(self, request):
        now = (HERE / "round.txt").read_text()
        return Reply(f"{now}\\n# name: {request.case_id}\\n\\n{now} x\\r\\n")


_register = pytest_tablebench_register_provider


def pytest_tablebench_register_provider(register):
    _register(register)
    register("rounds", lambda model, settings: Rounds())
"""


@pytest.mark.slow
def test_updates_by_four_workers_lose_and_corrupt_nothing(bench: Bench) -> None:
    examples, rounds = (1000, 10) if FULL else (100, 2)
    bench.pytester.makeconftest(CONFTEST + ROUNDS)
    bench.data(toy=[[f"e{n:04}", f"What is {n}?", ["x"]] for n in range(examples)])
    for number in range(rounds):
        (bench.path / "round.txt").write_text(f"round {number}")
        name = f"run{number}"
        options = ("--model=rounds/m", "--bench-serializer=html,csv", "-n", "4", "-q")
        bench.run_apart(*options, *RECORD, results=name)
        kind = "reworded" if number else "new"
        assert counts(bench, name) == {kind: 2 * examples}
        found = {entry: answer.text for entry, answer in stored(bench).items()}
        assert found == {
            f"test_toy[{case}]": f"round {number}\n# name: {case}\n\nround {number} x\r\n"
            for n in range(examples)
            for case in (f"toy/e{n:04}/html/none", f"toy/e{n:04}/csv/none")
        }


WRITER = """
import sys
from pathlib import Path
from pytest_tablebench._snapshot_files import write_entries

for number in range(10):
    write_entries(Path(sys.argv[1]), {f"{sys.argv[2]}-{number}": f"right 1.0\\n|{number}"})
"""


def test_runs_at_once_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "snapshots" / "a.ambr"
    root = str(Path(__file__).parents[2])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(n)], cwd=root, stderr=subprocess.PIPE
        )
        for n in range(4)
    ]
    assert [process.communicate(timeout=60)[1] for process in processes] == [b""] * 4
    assert len(read_entries(path)) == 40
    assert [found.name for found in path.parent.iterdir()] == ["a.ambr"]


def test_a_file_that_broke_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.ambr"
    file = SnapshotFile.load(path, "m")
    assert file.note("t", "c", Entry("right", 1.0, "x")) == "new"
    path.write_bytes(b"something else")
    with pytest.raises(SettingsError, match="not written by this version"):
        file.save(new_only=False)
    assert path.read_bytes() == b"something else"


def test_the_last_answer_of_a_case_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.ambr"
    write_entries(path, {"t": Entry("right", 1.0, "x").encode()})
    file = SnapshotFile.load(path, "m")
    assert file.note("t", "c", Entry("wrong", 0.0, "y")) == "flipped"
    assert file.note("t", "c", Entry("right", 1.0, "x")) == "same"
    assert (file.changes, file.pending, file.kinds) == ({}, {}, {"t": "same"})
    assert file.unused() == 0
