"""The project's own instructions, each with the rule that tells whether it is kept."""

from __future__ import annotations

import json
from importlib.resources import files

from pytest_tablebench.datasets.treb._samples import Sample

_FILE = "instructions.jsonl"


def instructions() -> list[Sample]:
    """Return the instructions as samples; their answer is one that keeps the rule."""
    text = (files(__package__) / _FILE).read_text(encoding="utf-8")
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        row = json.loads(line)
        rule = {"rule": row["rule"], "arguments": row["arguments"]}
        place = f"{_FILE}, row {number}"
        found.append(Sample(row["id"], place, row["question"], row["answer"], context=rule))
    return found
