"""Files of every-eval-ever: each aggregate with the rows that lie beside it."""

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
from pytest_tablebench.util.names import printable


def read_every_eval_ever(paths: Sequence[Path]) -> list[Evaluation]:
    """Read aggregate files, and those in folders, with their rows.

    Raises `DataError` naming what cannot be read, is of another version, or has no rows.
    """
    return [_evaluation(path) for path in files_of(paths, "*.json", "there is no .json file in it")]


def _evaluation(path: Path) -> Evaluation:
    facts, place = read_json(path), printable(str(path))
    check_facts(facts, place)
    if not facts["schema_version"].startswith("0."):
        version = printable(facts["schema_version"], 20)
        raise DataError(f"{place}: version {version} of the schema is not known, 0.3.0 is")
    detail = mapping(facts, "detailed_evaluation_results")
    named = detail.get("file_path")
    if not isinstance(named, str):
        raise DataError(f"{place}: it has figures only, and a run is made of cases")
    # The name alone: the path is the datastore's, and the file lies beside this one.
    rows_file = path.with_name(PurePosixPath(named).name or "unnamed")
    rows = tuple(EvaluationRow(data, where) for data, where in read_lines(rows_file))
    _check_rows(rows_file, detail, len(rows))
    for row in rows:
        if row.data.get("evaluation_id") != facts["evaluation_id"]:
            raise DataError(f"{row.place}: its `evaluation_id` is not that of {path.name}")
    return Evaluation(path, facts, rows)


def _check_rows(path: Path, detail: Mapping[str, Any], count: int) -> None:
    """Raise `DataError` where the rows are not those that the aggregate speaks of."""
    total, mark, place = detail.get("total_rows"), detail.get("checksum"), printable(str(path))
    if isinstance(total, int) and total != count:
        raise DataError(f"{place} has {count:,} rows, and there should be {total:,}")
    if isinstance(mark, str) and detail.get("hash_algorithm") in {"sha256", "md5"}:
        with path.open("rb") as file:
            digest = file_digest(file, detail["hash_algorithm"]).hexdigest()
        if digest != mark.lower():
            raise DataError(
                f"{place} is not the file that was written (checksum); fetch it again, or take "
                f"`checksum` out of the .json file beside it"
            )
