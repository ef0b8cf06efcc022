"""RealHiTBench in a report: published rows and rows of runs, with notes about differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.papers._published import published
from pytest_tablebench.papers._realhit import (
    realhit_ablations,
    realhit_leaderboard,
    realhit_means,
    serializer_means,
)
from pytest_tablebench.papers._task_plots import formats_figure, map_figure
from pytest_tablebench.papers.structure import MappedTable, read_marks, realhit_tables
from pytest_tablebench.papers.table import captions
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import TEXTS, TextWriter
from tests.support.paper_runs import paper_run

FIGURES = captions()["figures"]
CHART: dict[str, Any] = {"pass@1": 0.0, "ecr": 1.0}


def row(dataset: str, tokens: str = "<10K", **parts: float) -> RunRow:
    return RunRow(
        "realhitbench", dataset, "1", "latex", "none", 0.0, False, None,
        parts=parts, tags={"tokens": tokens}, case_id=f"{dataset}/1", model="m",
    )  # fmt: skip


def run(*rows: RunRow, **facts: Any) -> Run:
    return paper_run(Path("run"), "m", RunFacts.from_json(facts), rows)


OWN = (
    row("realhit_fc", em=1.0, f1=1.0),
    row("realhit_fc", ">20K", em=0.0, f1=0.5),
    row("realhit_da", rouge_l=0.25),
    row("realhit_cg", **CHART),
)


def test_figures_are_means_of_parts_and_empty_without_cases() -> None:
    board = realhit_leaderboard([run(*OWN)])
    assert board is not None
    figures = dict(zip(board.columns, board.rows[0], strict=True))
    assert (figures["FC em"], figures["FC f1"], figures["NR em"], figures["DA gpt_eval"]) == (
        0.5,
        0.75,
        None,
        None,
    )
    assert (figures["DA rouge_l"], figures["CG pass@1"], figures["CG ecr"]) == (0.25, 0.0, 1.0)
    [_, *others] = board.rows
    # 28 rows of Table 2, 8 of Table 5, 4 of Table 7.
    assert len(others) == len(published("realhitbench")) == 40
    named: list[dict[str, Any]] = [dict(zip(board.columns, row, strict=True)) for row in others]
    [gpt] = [
        row for row in named
        if (row["model"], row["input"], row["strategy"]) == ("GPT4o", "text", "treethinker")
    ]  # fmt: skip
    assert gpt["FC em"] == pytest.approx(0.6452, abs=0.0005)
    # By the printed header of Table 5 F1 would be below EM.
    assert all(row["FC f1"] >= row["FC em"] for row in named)


def test_a_model_of_the_paper_is_compared_with_its_row_of_equal_input_and_strategy() -> None:
    # Table 2, GPT4o as text: FC em 60.31 asked directly, 64.50 by TreeThinker.
    board = realhit_leaderboard([run(*OWN, model="openai/gpt-4o-2024-11-20")])
    assert board is not None
    assert board.row_notes[0].startswith(
        "compared with the published GPT4o: FC em published .603, here .500, "
        "CG pass@1 published .201,"
    )
    by_tree = [replace(row, strategy="treethinker") for row in OWN]
    board = realhit_leaderboard([run(*by_tree, model="openai/gpt-4o-2024-11-20")])
    assert board is not None
    assert "FC em published .645, here .500" in board.row_notes[0]


def test_differences_from_the_paper_are_noted() -> None:
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


def test_means_are_grouped_by_task_and_by_tokens_of_the_table() -> None:
    table = realhit_means([run(*OWN)])
    assert table is not None
    figures = dict(zip(table.columns, table.rows[0], strict=True))
    # Facts (0.5 + 0.75) / 2, analysis 0.25, charts 0.5; large tables have one fact.
    assert (figures["fc"], figures["da"], figures["cg"]) == (0.625, 0.25, 0.5)
    assert figures["all"] == pytest.approx((0.625 + 0.25 + 0.5) / 3)
    assert (figures[">20K"], figures["10-20K"]) == (0.25, None)
    printed = {(row[0], row[1], row[3]): row for row in table.rows[1:]}
    ablated = printed["GPT-4o", "published, Table 4", "treethinker[tree=off]"]
    assert dict(zip(table.columns, ablated, strict=True))["all"] == pytest.approx(0.5527)


def test_oversized_tables_count_only_in_the_upper_buckets() -> None:
    large = [
        replace(row("realhit_fc_long", tokens, em=score, f1=score), benchmark="realhitbench_long")
        for tokens, score in ((">20K", 1.0), ("10-20K", 0.5), ("<10K", 1.0))
    ]
    for rows in ([*OWN, *large], [*OWN, *large[::-1]]):
        board = realhit_means([run(*rows)])
        assert board is not None
        figures = dict(zip(board.columns, board.rows[0], strict=True))
        # The facts of large tables score (0 + 1) / 2 and (0.5 + 1) / 2.
        assert (figures[">20K"], figures["10-20K"]) == (0.625, 0.5)
        # A fact, an analysis and a chart: the means do not include oversized tables.
        assert figures["<10K"] == pytest.approx((1.0 + 0.25 + 0.5) / 3)
        assert (figures["fc"], figures["da"]) == (0.625, 0.25)
        assert board.row_notes[0] == "buckets contain 1 question about oversized tables"
    alone = realhit_means([run(*large)])
    assert alone is not None
    figures = dict(zip(alone.columns, alone.rows[0], strict=True))
    assert (figures["fc"], figures["all"], figures[">20K"], figures["<10K"]) == (
        None,
        None,
        1.0,
        None,
    )
    assert realhit_leaderboard([run(*large)]) is None


def test_an_ablation_has_the_change_from_the_full_strategy() -> None:
    def scored(strategy: str, score: float, modality: str = "text") -> RunRow:
        cell = row("realhit_fc", em=score, f1=score)
        return replace(cell, strategy=strategy, modality=modality)

    runs = [
        run(scored("treethinker", 0.75), scored("treethinker", 0.5, "image"), model="m"),
        run(scored("treethinker[tree=off]", 0.5), model="m"),
        run(replace(scored("treethinker[tree=off]", 0.5), example_id="other"), model="m"),
        run(scored("treethinker[tree=off]", 0.5), model="another"),
    ]
    board = realhit_means(runs)
    assert board is not None
    place = board.columns.index("delta")
    # Other examples and another model have no full strategy to compare with.
    assert [line[place] for line in board.rows[:5]] == [None, None, -0.25, None, None]
    printed = {(row[0], row[1], row[3]): row[place] for row in board.rows[5:]}
    table = "published, Table 4"
    assert printed["GPT-4o", table, "treethinker[tree=off]"] == -0.0802
    assert printed["Llama3-70B", table, "treethinker[tree_reasoning=off]"] == -0.0765
    assert printed["GPT-4o", table, "treethinker"] is None


def test_variants_of_treethinker_have_a_table_with_their_measures() -> None:
    def scored(strategy: str, score: float, **parts: Any) -> RunRow:
        return replace(row("realhit_fc", em=score, f1=score, **parts), strategy=strategy)

    rows = [
        scored("treethinker", 0.5, tree_f1=0.8, keyword_headers=0.25),
        replace(
            scored("treethinker", 0.75, tree_f1=0.6, keyword_headers=0.75),
            case_id="realhit_fc/2",
        ),
        scored("treethinker[align=model]", 0.75, align_recall=1.0),
        scored("treethinker[align=0.9, tree=off]", 0.5),
        scored("direct", 0.5),
    ]
    board = realhit_ablations([run(*rows)])
    assert board is not None
    assert [line[3:] for line in board.rows[:3]] == [
        ("all", 0.625, None, pytest.approx(0.7), 0.5, None),
        ("tree-keyword alignment by the model", 0.75, 0.125, None, None, 1.0),
        (
            "tree-keyword alignment by rule, w/o tree generation",
            *(0.5, -0.125, None, None, None),
        ),
    ]
    # The six rows of Table 4.
    assert len(board.rows) == 3 + 6
    table = "published, Table 4"
    gpt = ("GPT-4o", table, "text", "w/o tree-based reasoning", 0.6075, -0.0254, None, None, None)
    assert gpt in [tuple(line) for line in board.rows]
    assert realhit_ablations([run(rows[-1])]) is None


def test_table_sizes_of_a_run_are_listed_with_table_8(tmp_path: Path) -> None:
    with_texts = paper_run(tmp_path, "m", RunFacts(), (row("realhit_fc"),))
    assert realhit_tables([with_texts]) is None
    writer = TextWriter(tmp_path / TEXTS)
    for count in range(1, 11):
        table = {"header": ["a"] * count, "rows": [["xx", ""], [count, None]] * count}
        writer.example(f"realhit_fc/{count}/none", "?", [table])
        writer.example(f"realhit_fc/{count}/transpose", "?", [{**table, "header": ["a"] * 90}])
        writer.example(f"other/{count}/none", "?", [{**table, "header": ["a"] * 99}])
    writer.example("realhit_fc/again/none", "?", [table])
    writer.close()
    sizes = realhit_tables([with_texts])
    assert sizes is not None
    # The seventh of ten tables has 14 rows and 7 columns; `xx` and a digit average 1.5 characters.
    assert sizes.rows[0][:5] == ("m", "tables of this run, by rule", 14, 7, 1.5)
    printed = {line[0]: line[2:] for line in sizes.rows[1:]}
    assert printed["RealHiTBench"] == (69, 16, 9.59, 60.55, 57.54, 43.48, 69.86)
    assert printed["HiTab"] == (23, 13, 7.3, 57.91, 47.1, 33.98, 55.64)


@pytest.fixture
def structured(tmp_path: Path) -> Run:
    """Return a run over a flat table and over an oversized structured table."""
    writer = TextWriter(tmp_path / TEXTS)
    flat = {"header": ["City", "Visitors"], "rows": [["Oslo", 3]]}
    levels = {
        "header": ["", "2023", "2024"],
        "rows": [["North", 1, 2], ["South", 3, 4]],
        "structure": {
            "header_rows": [["Region", "Sales", ""]],
            "row_headers": 1,
            "spans": [[0, 0, 2, 1], [0, 1, 1, 2]],
            "captions": [],
            "notes": [["Without online sales", "", ""]],
        },
    }
    writer.example("realhit_fc/1/none", "?", [flat])
    writer.example("realhit_fc_long/1/none", "?", [levels])
    writer.close()
    plain = replace(row("realhit_fc"), cluster="city-table01")
    large = replace(row("realhit_fc_long"), benchmark="realhitbench_long", cluster="sales-table01")
    return paper_run(tmp_path, "m", RunFacts(), (plain, large))


def test_the_structure_of_a_table_is_scored_by_rules(structured: Run) -> None:
    board = realhit_tables([structured])
    assert board is not None
    # By hand, the mean of a flat table (nothing) and the other: its columns' header has a second
    # level (2 more) and one name over others (1 more), which is 3 of 9, its rows' none; it has
    # notes (1 more of 9 in the partition; half of the supplementary information), and one table.
    assert board.rows[0][-4:] == pytest.approx(((3 / 9 + 0) / 2 * 50, 1 / 9 * 50, 0, 25), abs=1e-9)


def test_the_structure_of_a_table_is_scored_by_marks_from_a_file(
    structured: Run, tmp_path: Path
) -> None:
    file = tmp_path / "complexity.csv"
    heads = [f"{name} by model" for name in ("column header", "row header", "partition")]
    heads += ["compound by model", "visual by model"]
    file.write_text(
        f"table,{','.join(heads)}\nsales-table01.html,10,1,4,1,10\nunread.html,,,,,\n", "utf-8"
    )
    board = realhit_tables([structured], read_marks(file))
    assert board is not None
    assert board.rows[1][1] == "tables of this run, by a model"
    # (9 + 0) / 18, 3 of 9, none, 9 of 9.
    assert board.rows[1][-4:] == pytest.approx((50, 100 / 3, 0, 100))
    assert board.row_notes[1] == "marks of 1 table of 2"


@pytest.mark.parametrize("text", ["table,tokens\na,1\n", "", "table\x00,\n"])
def test_a_file_without_marks_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "complexity.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=r"--marks: .*complexity\.csv"):
        read_marks(file)


def test_the_plot_of_formats_has_a_bar_per_task(tmp_path: Path) -> None:
    rows = [
        row("realhit_fc", em=1.0, f1=0.5),
        replace(row("realhit_fc", em=0.0, f1=0.5), serializer="html"),
        replace(row("realhit_da", rouge_l=0.25), serializer="html"),
    ]
    means = serializer_means([run(*rows)], "realhitbench")
    # Facts, numbers, structure, analysis and charts.
    html = [0.25, None, None, 0.25, None]
    assert means == {"m": {"latex": [0.75, None, None, None, None], "html": html}}
    assert serializer_means([run(*rows)], "torr") == {}
    figure = Figure()
    assert formats_figure(figure, {"formats": means}, FIGURES["formats_by_task"])
    [axes] = figure.axes
    heights = [bar.get_height() for bar in axes.patches if isinstance(bar, Rectangle)]
    assert heights[0] == 0.75  # facts in LaTeX
    assert heights[5] == 0.25  # facts in HTML
    assert [label.get_text() for label in axes.get_xticklabels()] == ["FC", "NR", "SC", "DA", "CG"]
    assert not formats_figure(Figure(), {"formats": {"m": {"latex": html}}}, {})


def test_a_score_of_0_and_no_score_look_different() -> None:
    figure = Figure()
    scores = {"latex": [0.0, 0.5, None, None, None], "html": [0.5, None, None, None, None]}
    assert formats_figure(figure, {"formats": {"m": scores}}, FIGURES["formats_by_task"])
    [axes] = figure.axes
    assert [(text.get_text(), text.get_position()[0]) for text in axes.texts] == [("0", -0.2)]
    # Three tasks of LaTeX and four of HTML have no score.
    places = [round(float(x), 1) for line in axes.lines for x in np.asarray(line.get_xdata())]
    assert places == [1.8, 2.8, 3.8, 1.2, 2.2, 3.2, 4.2]


def test_the_map_of_tables_says_that_it_pools_runs() -> None:
    tables = [MappedTable("d", "t", 10, 100, 1, 0.5), MappedTable("d", "u", 20, 200, 1, 0.0)]
    titles = []
    for names in ("a", "ab"):
        figure = Figure()
        trees = {"tables": dict.fromkeys(names, tables)}
        assert map_figure(figure, trees, FIGURES["complexity_tokens"])
        titles.append([axes.get_title() or axes.get_ylabel() for axes in figure.axes])
    title = "Complexity and tokens of tables"
    assert titles[0] == [f"{title}: a", "mean score"]
    assert titles[1] == [f"{title}\nmean over the runs a, b", "mean score of 2 runs"]


def test_runs_of_other_datasets_have_no_table() -> None:
    assert realhit_leaderboard([run()]) is None
    assert realhit_means([run()]) is None
    assert realhit_tables([run()]) is None
