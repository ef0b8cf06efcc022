"""Runs with a real language model in a file: without key, remote server and download."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pytest_tablebench.results import read_records
from tests.plugin.test_replay import ALONE
from tests.support.local_models import needs_smollm2, servers_in, smollm2
from tests.support.own_folders import OWN_SUITE, PRICES, QUESTIONS, write_folder
from tests.support.runs import run_pytest

NAME = "tablebench/smollm2"


@needs_smollm2
def test_a_run_with_a_local_model_can_be_replayed_under_another_file_name(tmp_path: Path) -> None:
    questions = QUESTIONS + "prices.csv,Which product costs more?,coffee,more\n"
    write_folder(tmp_path / "data" / "shop", {"prices.csv": PRICES, "questions.csv": questions})
    options = ("--bench-param", "max_tokens=6", "--bench-data", "data", "--bench-dataset", "shop")
    run = run_pytest(tmp_path, None, *options, model=NAME, count=3, key=None, suite=OWN_SUITE)
    records = list(run.records.values())
    assert len(records) == 3, run.output
    assert {record.outcome for record in records} <= {"right", "wrong"}, run.output
    for record in records:
        assert record.raw
        assert record.completion_tokens is not None
        assert 1 <= record.completion_tokens <= 6
        assert record.prompt_tokens is not None
        assert record.prompt_tokens > 40
    assert (run.facts["calls_paid"], run.facts["cost_usd"]) == (3, None)
    digest = hashlib.sha256(smollm2().read_bytes()).hexdigest()
    assert run.facts["model_file"] == {"name": smollm2().name, "sha256": digest}
    assert servers_in(tmp_path) == []
    # The store contains no address of the server.
    for path in (tmp_path / "answers").rglob("*"):
        assert not path.is_file() or b"127.0.0.1" not in path.read_bytes()

    # The same file is the same model under any name: here one with a shell command.
    (tmp_path / "$(touch run); é.gguf").symlink_to(smollm2())
    (tmp_path / "conftest.py").write_text(ALONE, encoding="utf-8")
    replayed = run_pytest(
        tmp_path,
        None,
        *options,
        *("--bench-replay", "--bench-results", "again"),
        model="gguf:$(touch run); é.gguf",
        count=3,
        key=None,
        suite=OWN_SUITE,
    )
    again = list(read_records(tmp_path / "again"))
    assert {record.example_id: record.raw for record in again} == {
        record.example_id: record.raw for record in records
    }, replayed.output
    assert all(record.from_store for record in again)
