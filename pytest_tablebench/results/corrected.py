"""Figures by the corrected gold, and the corrections that a run has used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tablebench.results.score_columns import NameColumn, SparseColumn
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Integers, ScoreColumns

CHANGING = ("wrong", "several")
"""The verdicts of corrections that change the gold of an example that is not left out."""

VERDICT_TEXTS = {
    "right": "people confirmed the gold",
    "wrong": "the gold was wrong",
    "several": "several answers are right",
}
"""The verdicts of corrections that leave no example out, in words."""


class CorrectedCase(NamedTuple):
    """A case with a correction; `entry` is the `corrected` of its record."""

    benchmark: str
    dataset: str
    example: str
    entry: Mapping[str, Any]


def corrected_outcome(entry: Mapping[str, Any]) -> str:
    """Return the outcome of a case by the corrected gold, from the `corrected` of its record.

    It is `right`, `wrong`, `no_answer`, `scored` (no verdict) or `left_out`.
    """
    if entry.get("left_out") is not None:
        return "left_out"
    if entry.get("score") is None:
        return "no_answer"
    passed = entry.get("passed")
    return "scored" if passed is None else "right" if passed else "wrong"


def corrected_cases(records: Iterable[Any]) -> list[CorrectedCase]:
    """Return the cases with a correction, of records or rows."""
    return [
        CorrectedCase(record.benchmark, record.dataset, record.example_id, record.corrected)
        for record in records
        if record.corrected is not None
    ]


def corrected_counts(cases: Iterable[CorrectedCase]) -> dict[str, Any]:
    """Return the numbers of examples that corrections changed and left out, and the reasons.

    An example of which only some cases are left out counts in both numbers.
    """
    changed: set[tuple[str, str]] = set()
    left_out: dict[tuple[str, str], str] = {}
    for case in cases:
        example, reason = (case.dataset, case.example), case.entry.get("left_out")
        if reason is not None:
            left_out[example] = min(reason, left_out.get(example, reason))
        elif case.entry.get("verdict") in CHANGING:
            changed.add(example)
    reasons = sorted(Counter(left_out.values()).items(), key=lambda item: (-item[1], item[0]))
    return {"changed": len(changed), "left_out": len(left_out), "reasons": dict(reasons)}


def corrections_entry(file: str, digest: str, cases: Iterable[CorrectedCase]) -> dict[str, Any]:
    """Return the entry `corrections` of `run.json`.

    `file` is the name of the file, without its folder; `digest` identifies its content.
    """
    counts = corrected_counts(cases)
    del counts["reasons"]
    return {"file": file, "digest": digest, **counts}


def kept_rows(table: ScoreColumns) -> list[int]:
    """Return the rows that no correction leaves out, in order."""
    left_out = {
        row for row, entry in table.corrections.items() if entry.get("left_out") is not None
    }
    return [row for row in range(len(table)) if row not in left_out]


def corrected_columns(table: ScoreColumns) -> dict[str, Any]:
    """Return the fields of a table in which corrections replace scores, verdicts and parts.

    Rows that a correction leaves out are missing, and so are names that only they have. Tests over
    the cases have read the published gold, so the table has no `checks`.
    """
    is_kept = np.zeros(len(table), dtype=bool)
    is_kept[kept_rows(table)] = True
    score, passed = np.array(table.score), np.array(table.passed)
    for row, entry in table.corrections.items():
        if entry.get("score") is not None:
            verdict = entry.get("passed")
            score[row], passed[row] = entry["score"], np.nan if verdict is None else verdict
    new_rows = is_kept.cumsum() - 1
    axes = {
        axis: _only(NameColumn(names, table.codes[axis]), is_kept)
        for axis, names in table.names.items()
    }
    tags = {tag: _only(column, is_kept) for tag, column in table.tags.items()}
    return {
        "names": {axis: column.names for axis, column in axes.items()},
        "codes": {axis: column.codes for axis, column in axes.items()},
        "score": score[is_kept],
        "passed": passed[is_kept],
        "checks": {},
        "parts": _kept(_corrected_parts(table), is_kept, new_rows),
        "tags": {tag: column for tag, column in tags.items() if any(column.names)},
        "altered": frozenset(table.altered.intersection(axes["perturbation"].names)),
        "cluster": None if table.cluster is None else _only(table.cluster, is_kept),
        "tallies": _kept(table.tallies, is_kept, new_rows),
        **{
            name: None if (column := getattr(table, name)) is None else column[is_kept]
            for name in ("threshold", "repeat", "answers", "answer_marks")
        },
    }


def _corrected_parts(table: ScoreColumns) -> dict[str, SparseColumn]:
    scored = {
        row: entry.get("parts") or {}
        for row, entry in table.corrections.items()
        if entry.get("score") is not None
    }
    changed = np.array(sorted(scored), dtype=np.int64)
    names = {*table.parts, *(name for parts in scored.values() for name in parts)}
    columns = {}
    for name in sorted(names):
        rows, values = np.array([], dtype=np.int64), np.array([])
        if name in table.parts:
            stays = ~np.isin(table.parts[name].rows, changed)
            rows, values = table.parts[name].rows[stays], table.parts[name].values[stays]
        new = [row for row in changed.tolist() if name in scored[row]]
        rows = np.concatenate([rows, np.array(new, dtype=np.int64)])
        values = np.concatenate([values, [float(scored[row][name]) for row in new]])
        order = rows.argsort(kind="stable")
        columns[name] = SparseColumn(rows[order], values[order])
    return columns


def _kept(
    columns: Mapping[str, SparseColumn], is_kept: Flags, new_rows: Integers
) -> dict[str, SparseColumn]:
    kept = {}
    for name, column in columns.items():
        stays = is_kept[column.rows]
        if stays.any():
            kept[name] = SparseColumn(new_rows[column.rows[stays]], column.values[stays])
    return kept


def _only(column: NameColumn, is_kept: Flags) -> NameColumn:
    """Return the kept rows of a column, with only their names."""
    codes = column.codes[is_kept]
    used, places = np.unique(codes, return_inverse=True)
    names = tuple(column.names[code] for code in used.tolist())
    return NameColumn(names, places.astype(codes.dtype).reshape(codes.shape))
