"""TAT-QA, AIT-QA and FeTaQA in a report: means, BLEU of a corpus, and the published rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sacrebleu import corpus_bleu

from pytest_tablebench.papers.boards import other_leaderboard
from pytest_tablebench.papers.runs import load_runs
from tests.support.run_folders import record, write_run

ANSWERS = [
    ("the cat sat on the mat today", "the cat sat on the mat yesterday"),
    ("two boats left the harbour", "two boats left the harbour at noon"),
]


def test_a_row_of_means_precedes_the_published_rows(tmp_path: Path) -> None:
    sentences = [
        replace(
            record(f"f{number}", "html", "none", 0.5, dataset="fetaqa", benchmark="other"),
            prediction=reply,
            references=(expected,),
            parts={"rouge1": 0.6, "rouge2": 0.4, "rougeL": 0.5},
        )
        for number, (reply, expected) in enumerate(ANSWERS)
    ]
    cells = [
        record(f"a{number}", "html", "none", score, dataset="aitqa", benchmark="other")
        for number, score in enumerate([1.0, 0.0, 0.0, 1.0])
    ]
    [run] = load_runs([write_run(tmp_path / "run", [*sentences, *cells])])
    board = other_leaderboard([run])
    assert board is not None
    # BLEU of both replies as one corpus.
    expected = corpus_bleu([reply for reply, _ in ANSWERS], [[text for _, text in ANSWERS]]).score
    row = board.rows[0]
    assert row[:5] == ("m", "this run", None, None, 0.5)
    assert row[5:8] == (0.6, 0.4, 0.5)
    assert row[8:] == pytest.approx((expected / 100,))
    published = {line[0]: line[2:] for line in board.rows[1:]}
    assert list(published["human"][:3]) == [0.841, pytest.approx(0.908), None]
    assert list(published["T5-large"][3:]) == [0.63, 0.41, 0.53, pytest.approx(0.3054)]


def test_runs_of_other_datasets_have_no_table(tmp_path: Path) -> None:
    [run] = load_runs([write_run(tmp_path / "run", [record("e", "html", "none", 1.0)])])
    assert other_leaderboard([run]) is None
