"""Files that others wrote for every-eval-ever: what they say is a run, the rest stays unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from pytest_tablebench.cli import main
from pytest_tablebench.interchange import _foreign
from pytest_tablebench.results.texts import TEXTS, PromptText, TranscriptText, read_texts
from tests.support.exported_runs import record_lines

SCHEMAS = Path(__file__).parent / "every_eval_ever_0_3_0"
OURS = Path(__file__).parents[2] / "docs" / "schemas"
NAME = "0c2bd0c2-6a1b-4b8e-9d52-8a63d1a4f0a1"
ID = "towns/acme/m-1/1777629600"


def result(mark: str, **config: Any) -> dict[str, Any]:
    given = {"metric_name": mark, "lower_is_better": False, **config}
    return {
        "evaluation_result_id": mark,
        "evaluation_name": "Towns (hard)",
        "source_data": {"dataset_name": "towns", "source_type": "other"},
        "metric_config": given,
        "score_details": {"score": 0.5},
        "generation_config": {"generation_args": {"temperature": 0.2, "max_tokens": 64}},
    }


def facts(*results: dict[str, Any], **changes: Any) -> dict[str, Any]:
    details = {"deployment_type": "unknown", "model_availability": "unknown"}
    return {
        "schema_version": "0.3.0",
        "evaluation_id": ID,
        "retrieved_timestamp": "1777629600",
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "acme",
            "evaluator_relationship": "other",
        },
        "model_info": {"name": "M 1", "id": "acme/m-1", "additional_details": details},
        "eval_library": {"name": "harness", "version": "2.0"},
        "evaluation_results": list(results) or [result("em")],
        **changes,
    }


def row(sample: str = "q1", score: float = 1.0, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "schema_version": "0.3.0",
        "evaluation_id": ID,
        "model_id": "acme/m-1",
        "evaluation_name": "Towns (hard)",
        "evaluation_result_id": "em",
        "sample_id": sample,
        "interaction_type": "single_turn",
        "input": {"raw": "Which town?", "formatted": None, "reference": ["Hexley"]},
        "output": {"raw": ["Hexley"]},
        "messages": None,
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score == 1.0},
        "token_usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
        "performance": {"latency_ms": 1500},
        "error": None,
        "metadata": {"subject": "geography"},
    }
    return found | changes


def write(folder: Path, whole: dict[str, Any], lines: list[Any], name: str = NAME) -> Path:
    """An aggregate file with rows beside it; a line may be bytes."""
    folder.mkdir(exist_ok=True)
    path = f"data/towns/acme/m-1/{name}_samples.jsonl"
    detail = {"format": "jsonl", "file_path": path} | whole.pop("detail", {})
    data = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines]
    (folder / f"{name}_samples.jsonl").write_bytes(b"\n".join(data) + b"\n")
    whole = {"detailed_evaluation_results": detail, **whole}
    (folder / f"{name}.json").write_text(json.dumps(whole), "utf-8")
    return folder


def imported(folder: Path, out: Path) -> list[dict[str, Any]]:
    assert main(["import", str(folder), "--out", str(out)]) == 0
    return record_lines(out)


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of files that are no run; nothing is written then."""
    out = folder.with_name("out")
    assert main(["import", str(folder), "--out", str(out)]) == 2
    assert not out.exists()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_the_rows_of_these_tests_are_valid(tmp_path: Path) -> None:
    for name, data in (("eval", facts()), ("instance_level_eval", row())):
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
        Draft7Validator(schema).validate(data)


def test_what_is_not_said_stays_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "in", facts(), [row(), row("q2", 0.25)])
    one, two = imported(folder, tmp_path / "out")
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "imported 2 cases of 1 dataset, 0 without an answer, from harness 2.0"
    assert said[1] == "unknown, because the files do not contain it: tables, thresholds, costs"
    schema = json.loads((OURS / "record.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(one)
    assert one["dataset"].startswith("Towns-hard")
    assert (one["benchmark"], one["example_id"], one["model"]) == ("towns", "q1", "acme/m-1")
    assert (one["serializer"], one["perturbation"], one["metric"]) == ("unknown", "none", "em")
    assert (one["outcome"], one["score"], one["threshold"]) == ("right", 1.0, None)
    assert (two["outcome"], two["score"], two["passed"]) == ("wrong", 0.25, False)
    assert (one["latency_s"], one["prompt_tokens"], one["cost_usd"]) == (1.5, 9, None)
    assert one["tags"] == {"subject": "geography"}
    run = json.loads((tmp_path / "out" / "run.json").read_text("utf-8"))
    schema = json.loads((OURS / "run.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(run)
    assert run["params"] == {"temperature": 0.2, "max_tokens": 64}
    assert "compat" not in run


def test_an_error_without_output_is_no_answer_and_one_with_is_flagged(tmp_path: Path) -> None:
    lost = row(error="rate limit", output={"raw": []}, evaluation={"score": 0, "is_correct": False})
    empty = row("q2", 0.0, output={"raw": [""]})
    late = row("q3", 1.0, error="token limit")
    found = imported(write(tmp_path / "in", facts(), [lost, empty, late]), tmp_path / "out")
    assert [(one["outcome"], one["score"], one["reason"], one["flags"]) for one in found] == [
        ("no_answer", None, "rate limit", []),
        ("wrong", 0.0, None, []),
        ("right", 1.0, None, ["error"]),
    ]


def test_rows_of_one_sample_are_one_case_with_parts_or_one_that_was_asked_again(
    tmp_path: Path,
) -> None:
    whole = facts(
        result("loss", lower_is_better=True), result("points", min_score=0, max_score=100)
    )
    lines = [
        row("q1", 3.5, evaluation_result_id="loss"),
        row("q1", 40.0, evaluation_result_id="points"),
        row("q1", 3.0, evaluation_result_id="loss"),
        row("q1", 60.0, evaluation_result_id="points"),
    ]
    one, two = imported(write(tmp_path / "in", whole, lines), tmp_path / "out")
    assert (one["score"], one["part"], one["repeat"]) == (0.4, "points", 1)
    assert one["parts"] == {"loss": 3.5, "points": 0.4}
    assert (two["score"], two["repeat"]) == (0.6, 2)
    assert two["case_id"] == f"{one['case_id']}/r2"


def test_a_conversation_is_a_prompt_and_what_came_behind_it(tmp_path: Path) -> None:
    messages = [
        {"turn_idx": 0, "role": "system", "content": "Be short."},
        {"turn_idx": 1, "role": "user", "content": "How many?"},
        {"turn_idx": 2, "role": "assistant", "content": "I count."},
        {"turn_idx": 3, "role": "tool", "content": "6"},
        {"turn_idx": 4, "role": "assistant", "content": "Six."},
    ]
    talk = row(interaction_type="multi_turn", output=None, messages=messages)
    [one] = imported(write(tmp_path / "in", facts(), [talk]), tmp_path / "out")
    assert one["raw"] == "Six."
    texts = list(read_texts(tmp_path / "out" / TEXTS))
    [prompt] = [text for text in texts if isinstance(text, PromptText)]
    [turns] = [text for text in texts if isinstance(text, TranscriptText)]
    assert (prompt.digest, prompt.text) == (one["prompt_digest"], "Be short.\n\nHow many?")
    assert turns.digest == one["transcript"]
    assert turns.turns == (("reply", "I count."), ("output", "6"), ("reply", "Six."))


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


BAD: dict[str, tuple[Any, str]] = {
    "no JSON": (b"{oops", "line 2: not valid JSON"),
    "NaN": (b'{"score": NaN}', "line 2: not valid JSON: NaN is not a JSON number"),
    "a list": (b"[1]", "line 2: not a JSON object"),
    "too deep": (deep(200_000), "line 2: not valid JSON"),
    "not UTF-8": (b'{"a": "\xff"}', "line 2: not valid JSON"),
    "no score": (
        row(evaluation={"is_correct": True}),
        "line 2: not a row of every-eval-ever: `eval",
    ),
    "text as score": (row(evaluation={"score": "1", "is_correct": True}), "line 2"),
    "endless score": (
        row(evaluation={"score": 10**400, "is_correct": True}),
        "line 2: not a row of every-eval-ever: `evaluation`",
    ),
    "score of no scale": (row(score=37.0), "line 1: none of its scores (em) is usable"),
    "both": (row(messages=[]), "line 2: needs either `output` or `messages`"),
    "tags": (row(metadata={"a": 1}), "line 2: not a row of every-eval-ever: `metadata`"),
    "other run": (row(evaluation_id="x/y/1"), "line 2: its `evaluation_id` differs from"),
}


@pytest.mark.parametrize(("line", "said"), BAD.values(), ids=BAD)
def test_a_bad_row_is_named_by_file_and_line(
    line: Any, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "in", facts(), [row("q1"), line])
    message = refused(folder, capsys)
    assert f"{NAME}_samples.jsonl" in message
    assert said in message


def test_a_line_without_end_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_foreign, "LONGEST", 2_000)
    folder = write(tmp_path / "in", facts(), [row("q1"), b'{"a": "' + b"x" * 5_000])
    assert refused(folder, capsys).endswith("longer than 2,000 bytes\n")


OWN: dict[str, tuple[dict[str, str], str]] = {
    "outcome": ({"outcome": "timeout"}, "line 1: not a case: `outcome` is 'timeout'"),
    "no JSON": ({"parts": "{"}, "line 1: metadata:"),
    "parts": ({"parts": "[1]"}, "line 1: not a case: `parts` is [1]"),
    "repeat": ({"repeat": "0"}, "line 1: not a case: `repeat` is 0"),
    "disagrees": ({"outcome": "no_answer", "threshold": "NaN"}, "line 1: not a case: `threshold`"),
}


@pytest.mark.parametrize(("change", "said"), OWN.values(), ids=OWN)
def test_what_says_to_be_ours_is_checked_too(
    change: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("case_id", "benchmark", "serializer", "perturbation", "strategy", "modality")
    fields = {**dict.fromkeys(names, "x"), "outcome": "right"}
    ours = facts(eval_library={"name": "pytest-tablebench", "version": "0.1.0"})
    folder = write(tmp_path / "in", ours, [row(metadata=fields | change)])
    assert said in refused(folder, capsys)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "figures only": ({"detailed_evaluation_results": None}, "contains only figures"),
    "outside": ({"detail": {"file_path": "../../secret.jsonl"}}, "secret.jsonl cannot be read"),
    "no name": ({"detail": {"file_path": ".."}}, "cannot be read"),
    "other rows": ({"detail": {"total_rows": 7}}, "has 1 rows, but should have 7"),
    "changed": (
        {"detail": {"hash_algorithm": "sha256", "checksum": "0" * 64}},
        "its checksum differs",
    ),
    "newer": ({"schema_version": "1.0"}, "unknown schema version 1.0"),
    "no model": ({"model_info": {}}, "`model_info`"),
    "other file": (
        {"evaluation_id": None},
        "every-eval-ever: `evaluation_id`",
    ),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_aggregate_is_named(
    change: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secret.jsonl").write_text("{}\n", "utf-8")
    message = refused(write(tmp_path / "in", facts(**change), [row()]), capsys)
    assert said in message


def test_a_run_has_one_model_and_each_case_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "in", facts(), [row()])
    write(folder, facts(), [row()], "twice")
    assert "occurs twice, first in" in refused(folder, capsys)
    other = facts(model_info={"name": "n", "id": "acme/n"})
    write(folder, other, [row("q2")], "twice")
    assert "these files have 2: acme/m-1, acme/n; import" in refused(folder, capsys)
