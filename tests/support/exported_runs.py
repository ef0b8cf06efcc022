"""A run whose records use every field, for tests of exports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_tablebench.results import Record
from pytest_tablebench.results.texts import TEXTS, TextWriter, example_key
from tests.support.run_folders import record, write_run

FORMULA = '=HYPERLINK("http://evil.example","x")'
QUESTION = "Which town\u2028is largest?\x85"  # line ends to Python, inside a line of JSON
PROMPT = "Table: ...\n\nQuestion: Which town is largest?"
TURNS = (
    ("reply", "Let me count."),
    ("program", "print(len(df))"),
    ("output", "6\n(ok)"),
    ("drawn", "a tree"),
    ("user", "And now?"),
    ("reply", "Six: \u00e9"),
)

STEP = {"kind": "ask", "digest": "ab12", "outcome": "stop", "cost_usd": None, "latency_s": 0.5}


def full_records() -> list[Record]:
    """Return records of the three outcomes; each field is used by at least one."""
    facts: dict[str, Any] = {
        "model": "acme/m-1",
        "references": ("Hexley", "HEXLEY"),
        "prompt_digest": "p0",
        "tags": {"kind": "lookup", "tag:odd": "=1"},
        "threshold": 1.0,
        "part": "exact_match",
        "latency_s": 0.30000000000000004,
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "cost_usd": 0.00125,
    }
    steps: dict[str, Any] = {
        "steps": (STEP, {"kind": "execute", "digest": "cd34", "outcome": "ok"}),
        "transcript": "t0",
        "checks": {"test_toy": True, "test_odd": None},
        "parts": {"exact_match": 1.0, "partial": 0.5},
        "flags": ("truncated",),
    }
    return [
        record("a", "csv", "none", (1.0, "Hexley"), **facts, prediction="hexley"),
        record("a", "html", "transpose", (0.25, FORMULA), **facts, prediction=["x", 2]),
        record("a", "html", "none", None, **facts),
        replace(
            record("b", "csv", "none", (1.0, "Six: \u00e9"), **(facts | steps), prediction="6"),
            strategy="pot",
        ),
        record("b", "csv", "none", (0.0, ""), model="acme/m-1", repeat=2, tail="/r2"),
        record(
            "c",
            "csv",
            "none",
            (1.0, "\u2028 said"),
            model="acme/m-1",
            benchmark="others",
            dataset="other/one",
            metric="assertion",
            preserves_meaning=False,
            from_store=True,
            prompt_tokens=5,
        ),
    ]


def write_full_run(path: Path, **facts: Any) -> Path:
    """Write the run with its texts, and with local paths in `run.json`."""
    local: dict[str, Any] = {
        "store": "/home/me/answers",
        "data": "/home/me/data",
        "api_base": "http://10.1.2.3",
    }
    run_facts = {"model": "acme/m-1", "start": "2026-05-01T10:00:00+00:00", "exit_code": 0}
    ended = {"end": "2026-05-01T10:05:00+00:00", "missing": {"wikitq": "/home/me/data/wikitq"}}
    write_run(path, full_records(), **(local | run_facts | ended | facts))
    texts = TextWriter(path / TEXTS)
    texts.prompt("p0", PROMPT)
    texts.transcript("t0", TURNS)
    for example in ("a", "b"):
        for arrangement in ("none", "transpose"):
            texts.example(example_key("toy", example, arrangement), QUESTION, ())
    texts.close()
    return path


def record_lines(run: Path) -> list[dict[str, Any]]:
    """Return the records of a run folder as they are written."""
    return [json.loads(line) for line in (run / "records.jsonl").read_text("ascii").splitlines()]
