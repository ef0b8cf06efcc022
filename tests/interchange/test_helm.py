"""Files in the form of HELM's runs over ToRR's recipes, written by hand, as a run of ours."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from tests.support.exported_runs import record_lines

HERE = Path(__file__).parent / "helm_torr"
STATE, STATS, SPEC = "scenario_state.json", "per_instance_stats.json", "run_spec.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(HERE, tmp_path / "helm")


def taken(folder: Path, tmp_path: Path, *more: str) -> dict[str, dict[str, Any]]:
    out = tmp_path / "run"
    assert main(["import", str(folder), "--from=helm", f"--out={out}", *more]) == 0
    return {one["case_id"]: one for one in record_lines(out)}


def refusal(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["import", str(folder), "--from=helm", f"--out={tmp_path / 'run'}"]) != 0
    assert not (tmp_path / "run").exists()
    return capsys.readouterr().err


def change(path: Path, **entries: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | entries), "utf-8")


def test_replies_are_scored_here_and_compared_with_the_published_scores(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = taken(folder, tmp_path)
    said = capsys.readouterr().out
    assert "imported 7 cases of 2 datasets, 1 without an answer, from helm" in said
    # HELM's file calls `refuted` wrong, where the reference is `refuted`.
    assert "tabfact: mean score 0.750 here, 0.500 published; 1 of 4 cases differ, by 1.000" in said
    assert "finqa: mean score 0.500 here, 0.500 published; all 2 cases are equal" in said
    one = found["tabfact/test8/html/transpose"]
    assert (one["score"], one["outcome"], one["parts"]["published"]) == (1.0, "right", 0.0)
    assert one["tags"]["textual reasoning"] == "required"
    assert (one["benchmark"], one["model"]) == ("torr", "openai/gpt-4o-2024-11-20")
    assert (one["raw"], one["references"], one["latency_s"]) == ("refuted", ["refuted"], 0.75)
    lost = found["tabfact/test3/html/transpose"]
    assert (lost["outcome"], lost["reason"], lost["score"]) == ("no_answer", "provider_error", None)
    # The reply was ended by the token limit, and the instance is of the validation part.
    assert found["tabfact/validation5/csv/none"]["flags"] == ["truncated"]
    # Without the table and the printed answer a program cannot be executed.
    assert set(found["finqa/test0/json/shuffle_rows"]["parts"]) == {"program_accuracy", "published"}


def test_the_run_says_how_it_was_asked(folder: Path, tmp_path: Path) -> None:
    taken(folder, tmp_path)
    run = json.loads((tmp_path / "run/run.json").read_text("utf-8"))
    assert run["params"] == {"temperature": 0.0, "max_tokens": 512}
    assert run["by_dataset"] == {"finqa": {"shots": 5}, "tabfact": {"shots": 5}}
    assert (run["compat"], run["imported"]["from"]) == ("reference", "helm")
    assert (run["strategy"], run["modality"]) == ("direct", "text")


def test_replies_can_be_scored_by_the_corrected_metrics(folder: Path, tmp_path: Path) -> None:
    state = folder / "tab_fact-csv" / STATE
    said = json.loads(state.read_text("utf-8"))
    said["request_states"][1]["result"]["completions"][0]["text"] = "refuted (row 1)"
    change(state, **said)
    # A note behind the label is part of the answer in the published code.
    assert taken(folder, tmp_path)["tabfact/test8/csv/none"]["score"] == 0.0
    shutil.rmtree(tmp_path / "run")
    fixed = taken(folder, tmp_path, "--compat=fixed")
    assert fixed["tabfact/test8/csv/none"]["score"] == 1.0


def test_the_report_shows_the_published_row_of_the_model(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken(folder, tmp_path)
    assert main(["report", str(tmp_path / "run"), "--no-plots", f"--out={tmp_path / 'rep'}"]) == 0
    # Of ToRR's Table 2: FinQA .39, TabFact .83.
    said = capsys.readouterr().out
    assert (
        "compared with the published gpt-4o: FinQA published .39, here .500, TabFact published"
        in said
    )


def test_scores_that_are_missing_are_counted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "fin_qa-json" / STATS).write_text(
        '[{"instance_id": "test0", "stats": [{"name": {"name": "program_accuracy"}, "mean": NaN},'
        ' 5, {"name": 7}]}]'
    )
    found = taken(folder, tmp_path)
    assert "published" not in found["finqa/test0/json/shuffle_rows"]["parts"]
    assert "finqa: 2 answered cases have no published score" in capsys.readouterr().out


def test_several_trials_are_repeats(folder: Path, tmp_path: Path) -> None:
    state = folder / "fin_qa-json" / STATE
    said = json.loads(state.read_text("utf-8"))
    said["request_states"] += [one | {"train_trial_index": 1} for one in said["request_states"]]
    change(state, **said)
    assert taken(folder, tmp_path)["finqa/test0/json/shuffle_rows/r2"]["repeat"] == 2


@pytest.mark.parametrize(
    "wrong",
    [
        (SPEC, '{"name": "mmlu:subject=x", "scenario_spec": []}', "not a run of a ToRR recipe"),
        (SPEC, "{}", "not a run of a ToRR recipe"),
        (STATE, "[", "scenario_state.json: not valid JSON"),
        (STATE, '{"request_states": [5]}', "request_states[0]: not a request of HELM"),
        (STATE, '{"request_states": [{"instance": {}}]}', "the instance has no id"),
        (STATS, "{}", "per_instance_stats.json: not a list of JSON objects"),
        (STATS, "[1]", "per_instance_stats.json: not a list of JSON objects"),
    ],
)
def test_a_file_that_is_none_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: tuple[str, str, str]
) -> None:
    file, content, words = wrong
    (folder / "tab_fact-csv" / file).write_text(content, "utf-8")
    assert words in refusal(folder, tmp_path, capsys)


def test_other_refusals_name_what_is_wrong(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert "contains no run_spec.json" in refusal(tmp_path / "empty", tmp_path, capsys)
    change(folder / "tab_fact-csv" / SPEC, adapter_spec={})
    assert "names no model" in refusal(folder, tmp_path, capsys)
    change(folder / "tab_fact-csv" / SPEC, adapter_spec={"model": "other/model"})
    assert "a run has one model, but these files have 2" in refusal(folder, tmp_path, capsys)
    (folder / "tab_fact-csv" / STATE).unlink()
    assert "scenario_state.json cannot be read" in refusal(folder, tmp_path, capsys)
