"""Snapshot files: hostile content, unreadable files, several processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.snapshot_comparison import (
    SnapshotFile,
    file_name,
    read_entries,
    write_entries,
)
from pytest_tablebench.results.snapshots import Entry
from tests.support.present import present
from tests.support.snapshots import RECORD, answers, changes, content, counts, stored, summary
from tests.support.toy_bench import SUITE, Bench

# Hostile answers.

HOSTILE = {
    "ada": "36\n# name: test_toy[toy/bo/html/none]\n  right 1.0\n  |forged\n# ---\n",
    "bo": "a\r\nb\rc\x00d\ud800e\x1b[31mred\u202egnp\u2028\x85 # ---",
    "cy": "\n\n  \n# serializer version: 9\n# ---\n\\x41 \t\n",
}


def test_hostile_answers_are_stored_unchanged_and_forge_no_entry(bench: Bench) -> None:
    model = answers(bench, **HOSTILE)
    bench.run(model, *RECORD, "-n1", results="first")
    texts = {name: entry.text for name, entry in stored(bench).items()}
    assert texts == {f"test_toy[toy/{name}/html/none]": text for name, text in HOSTILE.items()}
    bench.run(model, *RECORD, results="second")
    assert counts(bench, "second") == {"same": 3}
    result = bench.run(answers(bench), "--bench-snapshot", results="third")
    shown = result.stdout.str()
    assert not set(shown) & set("\x00\x1b\u202e\u2028\x85\ud800")
    assert any("\\x1b[31m" in line for line in summary(result))


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
def test_snapshot_file_names_are_short_ascii(suite: str, model: str) -> None:
    name = file_name(suite, model)
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>|\n\x1b ')
    assert not name.startswith(".")
    assert name.endswith(".ambr")
    assert len(name) < 200


def test_snapshot_file_names_are_distinct() -> None:
    suites = ["test_a.py", "a/test_a.py", "a.test_a.py", "a/b.c/t.py", "a/b/c/t.py", "../test_a.py"]
    models = ["gpt-4o", "GPT-4o", "openai/gpt-4o", "openai-gpt-4o", "gpt-4o-1"]
    names = {file_name(suite, model).lower() for suite in suites for model in models}
    assert len(names) == len(suites) * len(models)
    assert file_name("suites/test_torr.py", "gpt-4o") == "suites.test_torr--gpt-4o.ambr"
    installed = "../venv/lib/python3.11/site-packages/pytest_tablebench/suites/test_torr.py"
    assert file_name(installed, "m") == "pytest_tablebench.suites.test_torr--m.ambr"


# Files that cannot be used.


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b"\xff\xfe", "cannot be read"),
        (b"# serializer version: tablebench-2\n", "not written by this version"),
        (b"# name: a\n  right 1.0\n  |x\n# ---\n", "not written by this version"),
        (b"# serializer version: tablebench-1\n# name:\n  x\n# ---\n", "cannot be read"),
    ],
)
def test_a_damaged_snapshot_file_is_refused(tmp_path: Path, damage: bytes, reason: str) -> None:
    path = tmp_path / "a.ambr"
    path.write_bytes(damage)
    with pytest.raises(SettingsError, match=rf"^a\.ambr .*{reason}.*record again"):
        read_entries(path)


def test_an_unreadable_snapshot_file_is_reported_and_left_unchanged(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    [path] = (bench.path / "snapshots").iterdir()
    path.write_bytes(b"\xff\xfe")
    result = bench.run(answers(bench), *RECORD, results="second")
    result.assert_outcomes(passed=3)
    assert path.read_bytes() == b"\xff\xfe"
    assert counts(bench, "second") == {}
    [problem] = changes(bench, "second")["problems"]
    assert problem.startswith(f"{path.name} cannot be read")
    assert problem in summary(result)


def test_an_answer_with_a_damaged_entry_is_new(bench: Bench) -> None:
    bench.run(answers(bench), *RECORD, results="first")
    [path] = (bench.path / "snapshots").iterdir()
    path.write_text(path.read_text().replace("|41", "41"))
    result = bench.run(answers(bench), *RECORD, results="second")
    assert counts(bench, "second") == {"same": 2, "new": 1}
    assert "1 damaged entries were not compared" in summary(result)[-1]
    assert stored(bench)["test_toy[toy/bo/html/none]"].text == "41"


def test_other_snapshots_are_left_to_syrupy(bench: Bench) -> None:
    snapshot_test = "\n\ndef test_own(snapshot):\n    assert {value} == snapshot\n"
    bench.suite(SUITE + snapshot_test.format(value=1))
    model = answers(bench)
    bench.run(model, *RECORD, results="first").assert_outcomes(passed=4)
    before = content(bench)
    assert len(before) == 1
    assert (bench.path / "__snapshots__" / "test_suite.ambr").is_file()
    bench.suite(SUITE + snapshot_test.format(value=2))
    result = bench.run(model, "--bench-snapshot", results="second")
    result.assert_outcomes(passed=3, failed=1)
    assert counts(bench, "second") == {"same": 3}
    bench.suite(SUITE)  # an update by syrupy removes its unused entry
    bench.run(model, *RECORD, "-n1", results="third")
    assert content(bench) == before


# Several processes.


WRITER = """
import sys
from pathlib import Path
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.snapshot_comparison import write_entries

for number in range(10):
    write_entries(Path(sys.argv[1]), {f"{sys.argv[2]}-{number}": f"right 1.0\\n|{number}"})
"""


def test_concurrent_writers_lose_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "snapshots" / "a.ambr"
    root = str(Path(__file__).parents[2])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(n)], cwd=root, stderr=subprocess.PIPE
        )
        for n in range(2)
    ]
    assert [process.communicate(timeout=60)[1] for process in processes] == [b""] * 2
    assert len(read_entries(path)) == 20
    assert [file.name for file in path.parent.iterdir()] == ["a.ambr"]


def test_a_snapshot_file_damaged_since_loading_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.ambr"
    file = SnapshotFile(path, path)
    assert file.note("t", "c", Entry("right", 1.0, "x")) is None
    assert file.kinds == {"t": "new"}
    path.write_bytes(b"something else")
    [problem] = file.finish(update=True, new_only=False)
    assert "nothing recorded: a.ambr was not written by this version" in problem
    assert path.read_bytes() == b"something else"


def test_the_last_answer_of_a_case_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.ambr"
    write_entries(path, {"t": Entry("right", 1.0, "x").encode()})
    file = SnapshotFile(path, path)
    change = present(file.note("t", "c", Entry("wrong", 0.0, "y")))
    assert change["kind"] == "flipped"
    assert file.note("t", "c", Entry("right", 1.0, "x")) is None
    assert (file.changes, file.kinds) == ({}, {"t": "same"})
