"""Samples that lm-eval 0.4.13 wrote, as a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from tests.support.exported_runs import record_lines

HERE = Path(__file__).parent / "lm_eval_0_4_13"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(HERE, tmp_path / "lm")


def test_samples_are_cases_and_the_report_shows_them(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(["import", str(folder), "--from", "lm-eval", "--out", str(out)]) == 0
    assert "imported 6 cases of 3 datasets, 0 without an answer" in capsys.readouterr().out
    found = {one["case_id"]: one for one in record_lines(out)}
    one = found["toy_mc/1/unknown/none"]
    assert (one["model"], one["metric"], one["part"], one["score"]) == (
        *("toys/dummy-1", "acc", "acc", 1.0),
    )
    assert one["parts"] == {"acc": 1.0, "acc_norm": 1.0}
    # The continuation " 6" was the likelier one, and the second is the right one.
    assert (one["raw"], one["references"]) == ("6", ["6"])
    read = found["toy_gen/strict-match/0/unknown/none"]
    assert (read["raw"], read["prediction"], read["outcome"]) == ("lol", "[invalid]", "wrong")
    assert json.loads((out / "run.json").read_text("utf-8"))["params"] == {
        "temperature": 0.0,
        "max_tokens": 32,
    }
    assert main(["report", str(out), "--no-plots"]) == 0
    said = capsys.readouterr().out
    assert "imported from lm-eval 0.4.13; unknown: tables, thresholds, times" in said
    assert "toy_mc                      1.000" in said
    page = (out / "report.html").read_text("utf-8")
    assert "6 cases" in page
    assert "imported from lm-eval 0.4.13; unknown: tables, thresholds" in page


def test_without_results_the_model_has_to_be_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    next(folder.glob("results_*")).unlink()
    command = ["import", str(folder), "--from", "lm-eval", "--out", str(tmp_path / "run")]
    assert main(command) == 2
    assert "name it with --model NAME" in capsys.readouterr().err
    assert main([*command, "--model", "acme/m-1"]) == 0
    assert {one["model"] for one in record_lines(tmp_path / "run")} == {"acme/m-1"}


def test_what_is_no_sample_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = next(folder.glob("samples_toy_mc_*"))
    lines = samples.read_text("utf-8").splitlines()
    bad = json.loads(lines[1])
    del bad["acc"], bad["acc_norm"]
    samples.write_text("\n".join([lines[0], json.dumps(bad)]), "utf-8")
    command = ["import", "--from", "lm-eval", "--out", str(tmp_path / "run")]
    assert main([*command, str(samples)]) == 2
    assert f"{samples.name}, line 2: not a sample of lm-eval" in capsys.readouterr().err
    assert main([*command, str(samples.rename(folder / "x.jsonl"))]) == 2
    assert "its name is not samples_TASK_DATE.jsonl" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main([*command, str(tmp_path / "empty")]) == 2
    assert "lm-eval writes them with --log_samples" in capsys.readouterr().err
