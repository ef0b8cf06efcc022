"""A log of Inspect's, by its structure; tests/contract has the package read it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from tests.support.exported_runs import FORMULA, PROMPT, QUESTION, write_full_run
from tests.support.run_folders import record, write_run


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The logs of the run's two datasets, `other/one` first."""
    out = tmp_path_factory.mktemp("inspect")
    run = write_full_run(out / "run")
    assert main(["export", str(run), "--to", "inspect", "--out", str(out / "logs")]) == 0
    return sorted((out / "logs").iterdir())


def member(log: Path, name: str) -> Any:
    with zipfile.ZipFile(log) as file:
        return json.loads(file.read(name))


def test_a_dataset_is_a_log_with_a_sample_for_each_case(logs: list[Path]) -> None:
    other, toy = logs
    assert toy.name.startswith("2026-05-01T10-00-00-00-00_toy_")
    assert other.name.startswith("2026-05-01T10-00-00-00-00_other-one-")
    with zipfile.ZipFile(toy) as file:
        assert file.namelist() == [
            "_journal/start.json",
            "samples/a/csv/none/direct_epoch_1.json",
            "samples/a/html/transpose/direct_epoch_1.json",
            "samples/a/html/none/direct_epoch_1.json",
            "samples/b/csv/none/pot_epoch_1.json",
            "samples/b/csv/none/direct_epoch_2.json",
            "summaries.json",
            "header.json",
        ]
        assert file.testzip() is None


def test_the_header_has_the_figures_and_how_many_have_no_score(logs: list[Path]) -> None:
    header = member(logs[1], "header.json")
    assert (header["version"], header["status"]) == (2, "success")
    assert header["eval"]["model"] == "acme/m-1"
    assert header["eval"]["model_generate_config"] == {"temperature": 0, "max_tokens": 512}
    assert "/home/me" not in json.dumps(header)
    [score] = header["results"]["scores"]
    assert (score["scored_samples"], score["unscored_samples"]) == (4, 1)
    assert score["metrics"]["no_answer"]["value"] == pytest.approx(0.2)


def test_no_answer_is_an_error_without_a_score(logs: list[Path]) -> None:
    lost = member(logs[1], "samples/a/html/none/direct_epoch_1.json")
    assert (lost["scores"], lost["error"]["message"]) == ({}, "timeout")
    assert lost["output"]["choices"] == []
    wrong = member(logs[1], "samples/a/html/transpose/direct_epoch_1.json")
    assert "error" not in wrong
    assert wrong["scores"]["exact_match"]["value"] == 0.25
    assert wrong["scores"]["exact_match"]["metadata"]["passed"] is False
    assert wrong["output"]["choices"][0]["message"]["content"] == FORMULA
    errors = [one["error"] for one in member(logs[1], "summaries.json")]
    assert errors == [None, None, "timeout", None, None]


def test_a_sample_has_question_prompt_and_conversation(logs: list[Path]) -> None:
    talk = member(logs[1], "samples/b/csv/none/pot_epoch_1.json")
    assert (talk["input"], talk["target"]) == (QUESTION, ["Hexley", "HEXLEY"])
    assert talk["messages"][0] == {"role": "user", "content": PROMPT}
    call = talk["messages"][2]["tool_calls"][0]
    assert call["arguments"] == {"text": "print(len(df))"}
    assert talk["messages"][3] == {
        "role": "tool",
        "content": "6\n(ok)",
        "tool_call_id": call["id"],
    }
    assert talk["output"]["choices"][0]["stop_reason"] == "max_tokens"  # it is flagged truncated
    assert talk["model_usage"]["acme/m-1"]["total_tokens"] == 15
    assert talk["metadata"]["tags"]["kind"] == "lookup"


def test_the_same_run_gives_the_same_bytes(logs: list[Path]) -> None:
    run = logs[0].parents[1] / "run"
    again = run.with_name("again")
    assert main(["export", str(run), "--to", "inspect", "--out", str(again)]) == 0
    assert [path.read_bytes() for path in sorted(again.iterdir())] == [
        path.read_bytes() for path in logs
    ]


def test_no_id_leads_out_of_the_zip(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [record("../../x", "c\\sv", "none", 1.0, dataset="../y")])
    assert main(["export", str(run), "--to", "inspect"]) == 0
    [log] = (run / "export").iterdir()
    with zipfile.ZipFile(log) as file:
        assert not any(".." in name or "\\" in name for name in file.namelist())
