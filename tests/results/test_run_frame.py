"""A run as a data frame."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench import SettingsError, read_run
from pytest_tablebench.results.folder import RunFolder
from pytest_tablebench.results.record import Record

RIGHT = Record(
    *("d/e1/html/none", "m", "b", "d", "e1", "html", "none", "direct", "text", "right"),
    score=1.0,
    passed=True,
    parts={"em": 1.0},
    checks={"test_d": True},
    tags={"kind": "sum"},
)
UNANSWERED = replace(
    RIGHT,
    case_id="d/e2/html/none",
    example_id="e2",
    outcome="no_answer",
    score=None,
    passed=None,
    parts={},
    checks={},
    reason="timeout",
)


def write_run(folder: Path, *records: Record) -> Path:
    run = RunFolder(folder)
    run.write_run({"model": "m"})
    for record in records:
        run.append(record.to_line())
    run.close()
    return folder


def test_a_frame_has_a_row_per_case_and_a_column_per_field_and_part(tmp_path: Path) -> None:
    frame = read_run(str(write_run(tmp_path / "run", RIGHT, UNANSWERED)))
    assert list(frame["case_id"]) == ["d/e1/html/none", "d/e2/html/none"]
    assert frame["score"].mean() == 1.0  # a missing answer does not count as 0
    assert list(frame["parts.em"].isna()) == [False, True]
    assert frame.loc[0, "checks.test_d"]
    assert list(frame["tags.kind"]) == ["sum", "sum"]
    assert list(frame["reason"].isna()) == [True, False]
    assert frame.attrs["run"]["model"] == "m"
    assert not {"parts", "checks", "tags"} & set(frame.columns)


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"not a run folder: it has no run\.json"):
        read_run(tmp_path)
