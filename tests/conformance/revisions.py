"""Golden records whose `fixed` value a newer rule of ours replaces.

`fixed` is our own mode: its values in the records come from a specification, not from published
code, and the rules have moved on since. Values of `reference` are never replaced. Each entry gives
the value that the record has, so that a record which changes is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Revision:
    """A newer value of `fixed`.

    Arguments:
        old: the value in the record.
        new: the value that counts.
        reason: the rule that replaces it.
    """

    old: Any
    new: Any
    reason: str


REVISIONS: Mapping[str, Revision] = {
    "treb/judge_parse/004": Revision(
        {"status": "ok", "score": 8.0},
        {"status": "ok", "score": 3.0},
        "of several marks the last counts",
    ),
    "treb/judge_parse/019": Revision(
        {"status": "not_a_number", "score": None},
        {"status": "ok", "score": 7.0},
        "a mark may be written as a text in LaTeX",
    ),
    "treb/judge_parse/020": Revision(
        {"status": "not_a_number", "score": None},
        {"status": "ok", "score": 7.0},
        "a box may contain a line break",
    ),
    "realhitbench/chart_program/018": Revision(
        {"ecr": True, "pass": False, "y_values": [0.8, 0.8], "layout": "as_given"},
        {"ecr": True, "pass": True, "y_values": [0.8, 0.8], "layout": "as_given"},
        "bars may lie where a bar chart is asked for",
    ),
    "realhitbench/chart_program/021": Revision(
        {"ecr": True, "pass": False, "y_values": [], "layout": "as_given"},
        {"ecr": True, "pass": True, "y_values": [], "layout": "as_given"},
        "points may be drawn as the marks of a line without the line",
    ),
}


def revised(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record with the newer value of `fixed`, if there is one."""
    revision = REVISIONS.get(str(record.get("id")))
    if revision is None:
        return record
    assert record["expected"]["fixed"] == revision.old, f"{record['id']} has changed"
    return {**record, "expected": {**record["expected"], "fixed": revision.new}}
