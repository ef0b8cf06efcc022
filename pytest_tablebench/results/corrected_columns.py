"""The columns of a score table by the corrected gold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.results.score_columns import NameColumn, SparseColumn
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Integers, ScoreColumns


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
    place = is_kept.cumsum() - 1
    axes = {
        axis: _only(NameColumn(names, table.codes[axis]), is_kept)
        for axis, names in table.names.items()
    }
    tags = {tag: _only(column, is_kept) for tag, column in table.tags.items()}
    altered = table.altered.intersection(axes["perturbation"].names)
    return {
        "names": {axis: column.names for axis, column in axes.items()},
        "codes": {axis: column.codes for axis, column in axes.items()},
        "score": score[is_kept],
        "passed": passed[is_kept],
        "threshold": table.threshold[is_kept],
        "repeat": table.repeat[is_kept],
        "checks": {},
        "parts": _kept(_corrected_parts(table), is_kept, place),
        "answers": None if table.answers is None else table.answers[is_kept],
        "tags": {tag: column for tag, column in tags.items() if any(column.names)},
        "answer_marks": None if table.answer_marks is None else table.answer_marks[is_kept],
        "altered": frozenset(altered),
        "cluster": None if table.cluster is None else _only(table.cluster, is_kept),
        "tallies": _kept(table.tallies, is_kept, place),
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
    columns: Mapping[str, SparseColumn], is_kept: Flags, place: Integers
) -> dict[str, SparseColumn]:
    kept = {}
    for name, column in columns.items():
        stays = is_kept[column.rows]
        if stays.any():
            kept[name] = SparseColumn(place[column.rows[stays]], column.values[stays])
    return kept


def _only(column: NameColumn, is_kept: Flags) -> NameColumn:
    """Return the kept rows of a column, with only their names."""
    codes = column.codes[is_kept]
    used, places = np.unique(codes, return_inverse=True)
    names = tuple(column.names[code] for code in used.tolist())
    return NameColumn(names, places.astype(codes.dtype).reshape(codes.shape))
