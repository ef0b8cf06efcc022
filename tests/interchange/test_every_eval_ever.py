"""Ours to every-eval-ever and back: valid by its schemas, and nothing is lost that has a place."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.cli import main
from pytest_tablebench.results import read_facts
from pytest_tablebench.results.run import load_run
from tests.support.exported_runs import PROMPT, QUESTION, record_lines, write_full_run
from tests.support.run_folders import record, write_run

SCHEMAS = Path(__file__).parent / "every_eval_ever_0_3_0"


def validator(name: str) -> Draft7Validator:
    return Draft7Validator(json.loads((SCHEMAS / name).read_text("utf-8")))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_full_run(tmp_path_factory.mktemp("exported") / "run")


@pytest.fixture(scope="module")
def out(run: Path) -> Path:
    assert main(["export", str(run), "--to", "every-eval-ever"]) == 0
    return run / "export"


def aggregates(out: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """The aggregate file of each benchmark."""
    files = sorted((out / "data").rglob("*.json"))
    return {path.parts[-4]: (path, json.loads(path.read_text("ascii"))) for path in files}


def rows(out: Path) -> list[dict[str, Any]]:
    files = sorted((out / "data").rglob("*_samples.jsonl"), key=str, reverse=True)
    return [json.loads(line) for path in files for line in path.read_bytes().splitlines()]


def test_all_files_are_valid_by_the_schemas(out: Path) -> None:
    whole, one = validator("eval.schema.json"), validator("instance_level_eval.schema.json")
    found = aggregates(out)
    assert set(found) == {"toys", "others"}
    for _, aggregate in found.values():
        whole.validate(aggregate)
    lines = rows(out)
    assert len(lines) == 6
    for line in lines:
        one.validate(line)
    assert not one.is_valid(lines[0] | {"evaluation": {"score": None, "is_correct": False}})


def test_the_aggregate_finds_its_rows(out: Path) -> None:
    path, aggregate = aggregates(out)["toys"]
    assert path.parent == out / "data" / "toys" / "acme" / "m-1"
    detail = aggregate["detailed_evaluation_results"]
    samples = out / detail["file_path"]
    assert samples == path.with_name(f"{path.stem}_samples.jsonl")
    assert detail["total_rows"] == 5
    assert detail["checksum"] == sha256(samples.read_bytes()).hexdigest()
    known = {one["evaluation_result_id"] for one in aggregate["evaluation_results"]}
    assert {row["evaluation_result_id"] for row in rows(out)} - known == {"other/one::performance"}
    assert aggregate["evaluation_timestamp"] == "1777629600"  # 2026-05-01T10:00:00Z


def test_figures_are_those_of_the_run(run: Path, out: Path) -> None:
    scope = json.loads((run / "summary.json").read_text("utf-8"))["benchmarks"]["toys"]
    results = {
        one["evaluation_result_id"]: one for one in aggregates(out)["toys"][1]["evaluation_results"]
    }
    found = results["toy::performance"]["score_details"]
    assert found["score"] == scope["datasets"]["toy"]["performance"]
    assert found["details"] == {"n_examples": "2", "n_cases": "5"}
    assert results["toy::no_answer"]["score_details"]["score"] == pytest.approx(0.2)  # 1 of 5
    assert results["toy::no_answer"]["metric_config"]["lower_is_better"]
    sent = results["toy::performance"]["generation_config"]["generation_args"]
    assert sent == {"temperature": 0, "max_tokens": 512}


def test_no_answer_is_an_error_and_no_wrong_answer(out: Path) -> None:
    right, wrong, lost = rows(out)[:3]
    assert (right["error"], right["evaluation"]["is_correct"]) == (None, True)
    assert (wrong["error"], wrong["evaluation"]["score"]) == (None, 0.25)
    assert (lost["error"], lost["output"]["raw"], lost["answer_attribution"]) == ("timeout", [], [])
    assert lost["metadata"]["outcome"] == "no_answer"


def test_question_prompt_and_conversation_have_their_places(out: Path) -> None:
    first, *_, talk = rows(out)[:4]
    assert first["input"] == {
        "raw": QUESTION,
        "formatted": PROMPT,
        "reference": ["Hexley", "HEXLEY"],
    }
    assert talk["interaction_type"] == "agentic"
    roles = [(one["role"], one.get("content")) for one in talk["messages"]]
    assert roles[:4] == [
        ("user", PROMPT),
        ("assistant", "Let me count."),
        ("assistant", None),
        ("tool", "6\n(ok)"),
    ]
    assert talk["messages"][2]["tool_calls"][0]["arguments"] == {"text": "print(len(df))"}
    assert talk["evaluation"]["tool_calls_count"] == 1


def test_nothing_names_places_of_ones_own_machines(out: Path) -> None:
    for path in (out / "data").rglob("*.json*"):
        text = path.read_text("ascii")
        assert "/home/me" not in text
        assert "10.1.2.3" not in text


def test_there_and_back_nothing_is_lost(
    run: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    back = tmp_path / "back"
    assert main(["import", str(out), "--out", str(back)]) == 0
    said = capsys.readouterr().out
    assert "imported 6 cases of 2 datasets, 1 without an answer, from pytest-tablebench" in said
    said = read_facts(back).imported_text
    assert said == "imported from pytest-tablebench 0.1.0; unknown: tables"
    assert summary_of(load_run(back)) == summary_of(load_run(run))
    own = sorted(record_lines(run), key=lambda one: one["case_id"])
    assert sorted(record_lines(back), key=lambda one: one["case_id"]) == own
    before, after = (json.loads((one / "run.json").read_text("utf-8")) for one in (run, back))
    assert after.pop("imported")["unknown"] == ["tables"]
    left_out = {name for name in before if name not in after}
    assert left_out == {"store", "data", "api_base", "missing"}
    assert after == {name: before[name] for name in after}
    assert main(["import", str(out), "--out", str(back)]) == 2
    assert "already contains a run" in capsys.readouterr().err
    # And once more: the same run gives the same files.
    assert main(["export", str(back), "--to", "every-eval-ever"]) == 0
    again, first = (
        {path.name: path.read_bytes() for path in folder.rglob("*.json*")}
        for folder in (back / "export", out)
    )
    for files in (again, first):
        files |= {name: json.loads(data) for name, data in files.items() if name.endswith(".json")}
    assert again == first


def test_figures_alone_carry_nothing_of_the_data(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["export", str(run), "--to", "every-eval-ever", "--no-samples", "--out", str(out)]
    assert main(command) == 0
    files = [path for path in out.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json"}
    assert "Which town" not in "".join(path.read_text("ascii") for path in files)
    assert main(["import", str(out), "--out", str(tmp_path / "back")]) == 2
    assert "contains only figures; a run needs the file of cases" in capsys.readouterr().err


@pytest.mark.parametrize(
    "model", ["gpt-4o", "../../x", "a//b", "unknown/m", "con/m", "a/b.", "/a/b"]
)
def test_a_model_that_names_no_folder_is_refused(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", [record("a", "csv", "none", 1.0)], model=model)
    assert main(["export", str(run), "--to", "every-eval-ever"]) == 2
    assert "--model-id" in capsys.readouterr().err
    given = ["--model-id", "openai/gpt-4o:x/y", "--relationship", "third_party"]
    assert main(["export", str(run), "--to", "every-eval-ever", *given]) == 0
    assert list((run / "export" / "data").glob("toys/openai/gpt-4o_x_y/*.json"))
