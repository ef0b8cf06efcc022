"""RealHiTBench's published rows beside one's own: which figure is whose, and what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.paper._published import published
from pytest_tablebench.reports.paper._realhit import (
    realhit_leaderboard,
    realhit_means,
    realhit_tables,
)
from pytest_tablebench.reports.paper._runs import Row, RunData
from pytest_tablebench.results._texts import TEXTS, TextWriter


def row(dataset: str, tokens: str = "<10K", **parts: float) -> Row:
    return Row(
        "realhitbench", dataset, "1", "latex", "none", 0.0, False, None,
        parts=parts, tags={"tokens": tokens}, case_id=f"{dataset}/1", model="m",
    )  # fmt: skip


def run(*rows: Row, **facts: Any) -> RunData:
    return RunData(Path("run"), "m", facts, rows)


OWN = (
    row("realhit_fc", em=1.0, f1=1.0),
    row("realhit_fc", ">20K", em=0.0, f1=0.5),
    row("realhit_da", rouge_l=0.25),
    row("realhit_cg", **{"pass@1": 0.0, "ecr": 1.0}),
)


def test_figures_are_means_of_named_parts_and_what_was_not_asked_is_empty() -> None:
    board = realhit_leaderboard([run(*OWN)])
    assert board is not None
    own = dict(zip(board.columns, board.rows[0], strict=True))
    assert (own["FC em"], own["FC f1"], own["NR em"], own["DA gpt_eval"]) == (0.5, 0.75, None, None)
    assert (own["DA rouge_l"], own["CG pass@1"], own["CG ecr"]) == (0.25, 0.0, 1.0)
    [_, *others] = board.rows
    # 28 rows of Table 2, 8 of Table 5, 4 of Table 7.
    assert len(others) == len(published("realhitbench")) == 40
    named = [dict(zip(board.columns, one, strict=True)) for one in others]
    [gpt] = [
        one for one in named
        if (one["model"], one["input"], one["strategy"]) == ("GPT4o", "text", "treethinker")
    ]  # fmt: skip
    assert gpt["FC em"] == pytest.approx(0.6452, abs=0.0005)
    # The printed header of Table 5 would have F1 below EM.
    assert all(one["FC f1"] >= one["FC em"] for one in named)


def test_what_differs_from_the_paper_is_said() -> None:
    board = realhit_leaderboard([run(*OWN, compat="fixed", structure="both", judge="other/x")])
    assert board is not None
    note = board.row_notes[0]
    assert "3 questions of 3,071" in note
    assert "judged by other/x" in note
    assert "structure both, paper self" in note
    assert "mode fixed" in note
    like = realhit_leaderboard(
        [run(*OWN, compat="reference", structure="self", judge="openai/gpt-4o")]
    )
    assert like is not None
    assert like.row_notes[0] == "3 questions of 3,071"


def test_means_are_by_task_and_by_tokens_of_the_table() -> None:
    found = realhit_means([run(*OWN)])
    assert found is not None
    own = dict(zip(found.columns, found.rows[0], strict=True))
    # By hand: facts (0.5 + 0.75) / 2, analysis 0.25, charts 0.5; of large tables the one fact.
    assert (own["fc"], own["da"], own["cg"]) == (0.625, 0.25, 0.5)
    assert own["all"] == pytest.approx((0.625 + 0.25 + 0.5) / 3)
    assert (own[">20K"], own["10-20K"]) == (0.25, None)
    printed = {(one[0], one[1], one[3]): one for one in found.rows[1:]}
    ablated = printed["GPT-4o", "published, Table 4", "treethinker[tree=off]"]
    assert dict(zip(found.columns, ablated, strict=True))["all"] == pytest.approx(0.5527)


def test_sizes_of_a_runs_tables_stand_beside_table_8(tmp_path: Path) -> None:
    with_texts = RunData(tmp_path, "m", {}, (row("realhit_fc"),))
    assert realhit_tables([with_texts]) is None
    writer = TextWriter(tmp_path / TEXTS)
    for count in range(1, 11):
        table = {"header": ["a"] * count, "rows": [["xx", ""], [count, None]] * count}
        writer.example(f"realhit_fc/{count}/none", "?", [table])
        writer.example(f"realhit_fc/{count}/transpose", "?", [{**table, "header": ["a"] * 90}])
        writer.example(f"other/{count}/none", "?", [{**table, "header": ["a"] * 99}])
    writer.example("realhit_fc/again/none", "?", [table])
    writer.close()
    found = realhit_tables([with_texts])
    assert found is not None
    # The seventh of ten tables: 14 rows, 7 columns; of `xx` and a figure 1.5 characters.
    assert found.rows[0] == ("m", "tables of this run", 14, 7, 1.5, *[None] * 4)
    printed = {line[0]: line[2:] for line in found.rows[1:]}
    assert printed["RealHiTBench"] == (69, 16, 9.59, 60.55, 57.54, 43.48, 69.86)
    assert printed["HiTab"] == (23, 13, 7.3, 57.91, 47.1, 33.98, 55.64)


def test_other_runs_have_no_such_table() -> None:
    assert realhit_leaderboard([run()]) is None
    assert realhit_means([run()]) is None
    assert realhit_tables([run()]) is None
