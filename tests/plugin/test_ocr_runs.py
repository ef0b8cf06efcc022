"""A run with pictures and the built-in OCR model."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.results import read_records
from tests.plugin.test_replay import ALONE
from tests.support.runs import run_pytest

OPTIONS = ("--bench-modality", "image")


def test_the_ocr_model_reads_a_picture_and_its_answer_is_stored(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    run = run_pytest(tmp_path, None, *OPTIONS, model="tablebench/ocr", key=None)
    [record] = run.records.values()
    assert (record.case_id, record.modality) == ("starter/fin-01-lookup-1/image/none", "image")
    # "What is given as Founded for Lakeshore Creamery?"
    assert (record.outcome, record.raw) == ("right", "1969"), run.output
    assert (run.facts["calls_paid"], run.facts["cost_usd"]) == (1, 0.0)

    (tmp_path / "conftest.py").write_text(ALONE, encoding="utf-8")
    replay = (*OPTIONS, "--bench-replay", "--bench-results", "again")
    again = run_pytest(tmp_path, None, *replay, model="tablebench/ocr", key=None)
    [replayed] = read_records(tmp_path / "again")
    assert (replayed.raw, replayed.from_store) == ("1969", True), again.output
