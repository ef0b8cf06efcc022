"""The perturbations that keep a question's answer correct.

An answer stays correct if the perturbation changes nothing that a step of its plan needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_tablebench.generate.pair import PlanStep

CHANGES: Mapping[str, frozenset[str]] = {
    "none": frozenset(),
    "shuffle_rows": frozenset({"row order"}),
    "shuffle_cols": frozenset({"column order"}),
    "transpose": frozenset({"direction"}),
    "insert_empty_rows": frozenset({"row order"}),
    "duplicate_rows": frozenset({"row order", "row count"}),
    "duplicate_columns": frozenset({"column order", "column count"}),
    "mask_cols_names": frozenset({"names"}),
    "shuffle_cols_names": frozenset({"names"}),
    "truncate_rows": frozenset({"row order", "row count", "rows"}),
    "repeat_rows": frozenset({"row order", "row count"}),
    "distractor_columns": frozenset({"column count"}),
    "synonym_names": frozenset({"wording of names"}),
    "abbreviate_names": frozenset({"wording of names"}),
}
"""What each perturbation of `tables.perturbations` changes; for rows, rows with content.

Perturbations that are missing here change the requested value, or the answer with the table.
"""

_BY_NAME = frozenset({"names", "rows"})
_COUNTED = _BY_NAME | {"row count"}
_ONE_CELL = frozenset({"rows", "row count", "column count"})
"""For questions about a value that occurs once in the table."""
_NEEDS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("where", "both", "either", "extreme", "exceeds"), _BY_NAME),
    **dict.fromkeys(("cell", "cells", "find", "change", "ratio", "is_cell", "is_more"), _BY_NAME),
    "cell_at": frozenset({"row order", "column order", "direction", "rows"}),
    "row_of": _ONE_CELL | {"row order", "direction"},
    "heading_of": _ONE_CELL | {"names", "wording of names"},
    "partner": _COUNTED | {"column count", "wording of names"},
}
_SIDES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("up", "down"), _ONE_CELL | {"row order", "direction"}),
    **dict.fromkeys(("left", "right"), _ONE_CELL | {"column order", "direction"}),
}


def surviving(steps: Sequence[PlanStep]) -> tuple[str, ...]:
    """Return the perturbations that keep the answer correct."""
    needs: set[str] = set()
    for step in steps:
        if step.name == "neighbour":
            needs |= _SIDES[step.arguments[1]]
        elif step.name == "statistic" and step.arguments[1] in {"min", "max", "range"}:
            needs |= _BY_NAME
        else:
            needs |= _NEEDS.get(step.name, _COUNTED)
    return tuple(name for name, changes in CHANGES.items() if not changes & needs)
