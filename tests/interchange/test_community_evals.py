"""The hub's file of a model's results, as huggingface_hub reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from pytest_tablebench.cli import main
from tests.support.run_folders import write_run

SCORES: dict[str, list[float | None]] = {"a": [1.0, 1.0, 0.5, None], "b": [0.5, 0.5, 0.5, 0.5]}


def export(run: Path, *options: str) -> int:
    return main(["export", str(run), "--to", "community-evals", *options])


def test_a_dataset_is_an_entry_that_the_hub_reads(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SCORES, end="2026-05-01T10:05:00+00:00", limit=2)
    task = "toy=Multilingual-Multimodal-NLP/TableBench:qa"  # whose commit is pinned
    assert export(run, "--hub-dataset", task, "--source-url", "https://example.org/run") == 0
    file = run / "export" / ".eval_results" / "toy.yaml"
    [entry] = parse_eval_result_entries(yaml.safe_load(file.read_text("utf-8")))
    assert (entry.dataset_id, entry.task_id) == ("Multilingual-Multimodal-NLP/TableBench", "qa")
    assert entry.dataset_revision == "90593ad8af90f027f6f478b8c4c1981d9f073a83"
    # Of the first example three answers with a mean of 5/6, of the second 1/2; together 2/3.
    assert entry.value == pytest.approx(2 / 3)
    assert entry.date == "2026-05-01T10:05:00+00:00"
    assert entry.source_url == "https://example.org/run"
    assert entry.notes == (
        "pytest-tablebench 0.1.0, mean score; 2 examples, 8 cases, 1 without an answer left out; "
        "compat fixed; limit 2; strategy direct"
    )


def test_a_whole_benchmark_has_a_file_of_its_own(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", SCORES)
    assert export(run, "--hub-dataset", "toys=acme/toys:all", "--hub-dataset", "toy=a/b:c") == 0
    files = (run / "export" / ".eval_results").iterdir()
    assert sorted(path.name for path in files) == ["toy.yaml", "toys.yaml"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "name the benchmark on the hub"),
        (["--hub-dataset", "toy=hle"], "is not NAME=DATASET:TASK"),
        (["--hub-dataset", "toi=acme/toys:all"], "the run has no 'toi'; did you mean 'toy"),
        (["--hub-dataset", "toy=a/b:c", "--source-url", "javascript:x"], "--source-url"),
    ],
)
def test_what_names_no_benchmark_is_refused(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", SCORES)
    assert export(run, *options) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.yaml"))


def test_a_dataset_without_an_answer_has_no_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", {"a": [None, None, None, None]})
    assert export(run, "--hub-dataset", "toy=acme/toys:all") == 2
    assert "toy has no answered case" in capsys.readouterr().err
