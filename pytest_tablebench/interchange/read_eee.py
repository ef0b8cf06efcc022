"""Read files of every-eval-ever: each aggregate file with its rows in the same folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange._evaluation import (
    Evaluation,
    EvaluationRow,
    files_of,
    read_json,
    read_lines,
)
from pytest_tablebench.interchange._row_check import check_facts
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.names import shortened


def read_every_eval_ever(paths: Sequence[Path]) -> list[Evaluation]:
    """Read aggregate files, or folders of them, with their rows.

    Raises `DataError` with the file that cannot be read, has another version, or has no rows.
    """
    return [_evaluation(path) for path in files_of(paths, "*.json", "contains no .json file")]


def _evaluation(path: Path) -> Evaluation:
    facts, place = read_json(path), str(path)
    check_facts(facts, place)
    if not facts["schema_version"].startswith("0."):
        version = shortened(facts["schema_version"], 20)
        raise DataError(f"{place}: unknown schema version {version}; known: 0.3.0")
    detail = mapping(facts, "detailed_evaluation_results")
    named = detail.get("file_path")
    if not isinstance(named, str):
        raise DataError(f"{place}: contains only figures; a run needs the file of cases")
    # The path is the datastore's; the file is next to this one under the same name.
    rows_file = path.with_name(PurePosixPath(named).name or "unnamed")
    rows = tuple(EvaluationRow(data, where) for data, where in read_lines(rows_file))
    _check_rows(rows_file, detail, len(rows))
    for row in rows:
        if row.data.get("evaluation_id") != facts["evaluation_id"]:
            raise DataError(f"{row.place}: its `evaluation_id` differs from {path.name}")
    return Evaluation(path, facts, rows)


def _check_rows(path: Path, detail: Mapping[str, Any], count: int) -> None:
    """Raise `DataError` if the number of rows or the checksum differs from the aggregate's."""
    total, mark, place = detail.get("total_rows"), detail.get("checksum"), str(path)
    if isinstance(total, int) and total != count:
        raise DataError(f"{place} has {count:,} rows, but should have {total:,}")
    if isinstance(mark, str) and detail.get("hash_algorithm") in {"sha256", "md5"}:
        with path.open("rb") as file:
            digest = file_digest(file, detail["hash_algorithm"]).hexdigest()
        if digest != mark.lower():
            raise DataError(
                f"{place}: its checksum differs, so it was changed or damaged; fetch it again, or "
                f"remove `checksum` from the .json file in the same folder"
            )
