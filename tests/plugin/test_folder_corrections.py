"""Corrections that a dataset folder names in its `tablebench.toml`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jinja2  # noqa: F401 - imported once, before pytester removes what a run imports
import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets import row_digest
from pytest_tablebench.datasets.folder import folder_datasets
from pytest_tablebench.results.corrections import Correction, Corrections, write_corrections
from tests.support.own_folders import OwnBench, write_folder
from tests.support.present import present

SETTINGS = 'corrections = "gold.csv"\n'


@pytest.fixture
def two(own: OwnBench) -> OwnBench:
    """Two data folders, both with corrections of `coffee`."""
    for name in ("one", "two"):
        write_folder(own.folders / name)
        _write(own.folders, name)
    return own


def _correction(data: Path, name: str, *answers: str) -> Correction:
    dataset = next(dataset for dataset in folder_datasets(data) if dataset.name == name)
    digest = row_digest(dataset.open(data / name).example("coffee"))
    return Correction(name, "coffee", digest, "wrong", answers)


def _write(data: Path, name: str, *corrections: Correction) -> None:
    items = corrections or (_correction(data, name, "tea"),)
    write_corrections(data / name / "gold.csv", items)
    (data / name / "tablebench.toml").write_text(SETTINGS, encoding="utf-8")


def _digest(data: Path) -> str:
    """Return the digest of the corrections of both folders."""
    return Corrections.of(_correction(data, name, "tea") for name in ("one", "two")).digest


def test_a_run_uses_the_files_of_its_datasets(two: OwnBench) -> None:
    gate = "--bench-gate=one@corrected.performance >= 0.9"
    result = two.run(gate, "--bench-gate-point", "-n1")
    result.assert_outcomes(passed=2, failed=2)  # as the published gold says
    assert result.ret == 0  # the gate decides
    assert "one@corrected.performance >= 0.9" in result.stdout.str()
    assert two.facts()["corrections"] == {
        "file": "one/gold.csv, two/gold.csv",
        "digest": _digest(two.folders),
        "changed": 2,
        "left_out": 0,
    }
    summary = two.summary()
    [published], [corrected] = (
        entry["benchmarks"].values() for entry in (summary, summary["corrected"])
    )
    assert (published["performance"], corrected["performance"]) == (0.5, 1.0)


def test_a_shard_without_a_case_of_a_dataset_uses_all_files(two: OwnBench) -> None:
    questions = (two.folders / "two" / "questions.csv").read_text("utf-8")
    for number in range(5):  # shards do not split the questions of a table
        text = f"product,price\nmilk,{number}.10\n"
        (two.folders / "two" / f"milk{number}.csv").write_text(text, "utf-8")
        questions += f"milk{number}.csv,Price of milk {number}?,{number}.10,milk{number}\n"
    (two.folders / "two" / "questions.csv").write_text(questions, "utf-8")
    for number in (1, 2):
        two.run(f"--bench-shard={number}/2", results=f"part{number}")
        assert two.facts(f"part{number}")["corrections"]["digest"] == _digest(two.folders)
    parts = [(two.path / f"part{number}/records.jsonl") for number in (1, 2)]
    texts = [path.read_text("utf-8") for path in parts]
    assert ['"one/coffee' in text for text in texts].count(False) == 1


def test_the_option_replaces_the_files(two: OwnBench) -> None:
    write_corrections(two.path / "all.csv", [_correction(two.folders, "two", "3.10")])
    two.run("--bench-corrections=all.csv")
    assert two.facts()["corrections"]["file"] == "all.csv"
    entries = {record["case_id"]: record.get("corrected") for record in two.records()}
    assert entries["one/coffee/html/none"] is None
    assert present(entries["two/coffee/html/none"])["score"] == 0.0


@pytest.mark.parametrize("link", [False, True])
def test_a_file_outside_the_folder_is_refused(two: OwnBench, link: bool) -> None:
    outside = two.folders / "two" / "gold.csv"
    if link:
        (two.folders / "one" / "gold.csv").unlink()
        (two.folders / "one" / "gold.csv").symlink_to(outside)
    else:
        text = 'corrections = "../two/gold.csv"\n'
        (two.folders / "one" / "tablebench.toml").write_text(text, encoding="utf-8")
    result = two.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*one/tablebench.toml, corrections: *gold.csv*"])
    assert not (two.path / "run").exists()
    assert main(["check", str(two.folders)]) == 1


def test_bad_corrections_are_refused_by_folder(
    two: OwnBench, capsys: pytest.CaptureFixture[str]
) -> None:
    correction = _correction(two.folders, "one", "tea")
    unknown = replace(correction, example="cocoa")
    changed = replace(correction, digest="0" * 20)
    for items, message in (
        ([replace(correction, dataset="two")], "gold.csv contains no correction of one"),
        ([unknown], "one/cocoa does not exist in this data"),
        ([changed], "one/coffee: the row changed since this correction was made"),
    ):
        _write(two.folders, "one", *items)
        result = two.run("--bench-dataset=one")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*one/tablebench.toml, corrections: *{message}*"])
        capsys.readouterr()
        assert main(["check", str(two.folders)]) == 1
        assert message in capsys.readouterr().out
    _write(two.folders, "one", unknown, changed)
    main(["check", str(two.folders)])
    out = capsys.readouterr().out
    assert "one/gold.csv: one/cocoa does not exist" in out
    assert "one/gold.csv: one/coffee: the row changed" in out
    assert "one: 2 questions (1 text, 1 number), 2 problems" in out
    assert "two: 2 questions (1 text, 1 number), no problem" in out


def test_a_corrected_gate_needs_a_selected_dataset_with_corrections(two: OwnBench) -> None:
    (two.folders / "two" / "tablebench.toml").unlink()
    gate = "--bench-gate=all@corrected.performance >= 0.9"
    result = two.run(gate, "--bench-dataset=two")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*the run has no corrections*"])


def test_a_described_dataset_names_its_corrections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = '{"ask": "Which port?", "gold": ["Hallin"]}\n'
    settings = f'{SETTINGS}[files]\ntest = "q.jsonl"\n[rows]\nquestion = "ask"\nanswers = "gold"\n'
    write_folder(tmp_path / "ports", {"q.jsonl": rows, "tablebench.toml": settings})
    write_corrections(
        tmp_path / "ports" / "gold.csv", [Correction("ports", "2", "0" * 20, "broken")]
    )
    assert main(["check", str(tmp_path)]) == 1
    assert "ports/gold.csv: ports/2 does not exist" in capsys.readouterr().out
