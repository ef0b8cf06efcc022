"""Writing `questions.jsonl` from `tables.jsonl`.

`python -m pytest_tablebench.datasets.starter._build` writes the file, with `--check` it only
compares. The same tables and generator give the same bytes on every system.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from pytest_tablebench.generate import KINDS, Question, generate_questions
from pytest_tablebench.tables.table import Table

SEED = 2024
PER_TABLE = 6
DEMO_PREFIX = "demo-"
"""Tables whose ids start like this are only for demonstrations."""

_FOLDER = Path(__file__).parent
_STRIDE = 7
"""Neighbours in `tables.jsonl` share a topic; taking every 7th table mixes the topics."""


def build(tables_text: str) -> str:
    """Return the text of `questions.jsonl` for the text of `tables.jsonl`."""
    records = [json.loads(line) for line in tables_text.splitlines()]
    tests = [record for record in records if not record["id"].startswith(DEMO_PREFIX)]
    demos = [record for record in records if record["id"].startswith(DEMO_PREFIX)]
    lines = [_line("test", question) for question in _interleaved(_mixed(tests))]
    lines += [_line("demo", question) for question in _interleaved(demos)]
    return "".join(f"{line}\n" for line in lines)


def _mixed(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for start in range(_STRIDE) for record in records[start::_STRIDE]]


def _interleaved(records: Sequence[dict[str, Any]]) -> list[Question]:
    """Take each table's first question, then each one's second, and so on.

    Every table starts at another kind, so that the first questions already show most kinds.
    """
    rounds = []
    for number, record in enumerate(records):
        start = number * PER_TABLE % len(KINDS)
        kinds = KINDS[start:] + KINDS[:start]
        table = Table(record["header"], record["rows"], record["title"], name=record["id"])
        rounds.append(generate_questions(table, seed=SEED, per_table=PER_TABLE, kinds=kinds))
    return [question for question in chain(*zip_longest(*rounds)) if question is not None]


def _line(split: str, question: Question) -> str:
    record = {
        "id": question.id,
        "split": split,
        "kind": question.kind,
        "table": question.table_id,
        "question": question.text,
        "answers": list(question.answers),
        "ordered": question.ordered,
    }
    return json.dumps(record, ensure_ascii=False)


def main(arguments: Sequence[str] | None = None, *, folder: Path = _FOLDER) -> int:
    """Write the questions, or with `--check` return 1 if they differ from what is there."""
    parser = argparse.ArgumentParser(description="Generate the questions of the starter dataset.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    content = build((folder / "tables.jsonl").read_text(encoding="utf-8")).encode()
    target = folder / "questions.jsonl"
    if options.check:
        return 0 if target.exists() and target.read_bytes() == content else 1
    target.write_bytes(content)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
