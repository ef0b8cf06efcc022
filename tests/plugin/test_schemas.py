"""The files of a run folder match their JSON schemas."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from tests.support.outcomes import ALL_THREE
from tests.support.toy_bench import Bench

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
PAGE = SCHEMAS.parent / "run-folder.md"

NO_RECORDS: tuple[dict[str, Any], ...] = (
    {"outcome": "timeout"},
    {"outcome": "no_answer"},
    {"score": 1.5},
    {"score": None},
    {"repeat": 0},
    {"speed": 3},
    {"tags": {"kind": 1}},
)


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_files_of_a_run_match_their_schemas(bench: Bench) -> None:
    bench.run(f"--model={bench.script(*ALL_THREE)}", "--bench-gate=toy.performance >= 0.1")
    folder = bench.path / "run"
    with (folder / "records.jsonl").open(encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    assert {record["outcome"] for record in records} == {"right", "wrong", "no_answer"}
    check = validator("record")
    for record in records:
        check.validate(record)
    [right] = [record for record in records if record["outcome"] == "right"]
    assert not any(check.is_valid(right | change) for change in NO_RECORDS)
    for name in ("run", "summary"):
        validator(name).validate(json.loads((folder / f"{name}.json").read_text("utf-8")))
    with gzip.open(folder / "texts.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            validator("text").validate(json.loads(line))


def test_the_documentation_names_every_schema() -> None:
    page = PAGE.read_text("utf-8")
    for path in SCHEMAS.glob("*.json"):
        assert f"schemas/{path.name}" in page, path.name
