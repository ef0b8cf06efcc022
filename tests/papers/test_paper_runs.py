"""Several runs in a report: the differences between them, and the leaderboard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.papers._published import open_groups, published
from pytest_tablebench.papers.boards import DATASETS, leaderboard, leaderboard_beside, torr_spread
from pytest_tablebench.papers.report import analysis_of
from pytest_tablebench.papers.runs import (
    differences,
    run_remarks,
    runs_by_mode,
    with_distinct_labels,
)
from pytest_tablebench.papers.table import (
    table_blocks,
)
from pytest_tablebench.papers.tables import paper_tables
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.tables.perturbations import GRID
from tests.support.paper_runs import paper_run

SERIALIZERS = ("html", "csv", "json", "markdown", "indexed_row_major", "df", "concat")


# Differences between runs


def run_data(model: str, scored: list[RunRow], **facts: Any) -> Run:
    usual = {"model": model, "compat": "fixed", "seed": 0, "cases_planned": len(scored)}
    return paper_run(Path("runs") / model, model, RunFacts.from_json(usual | facts), tuple(scored))


def cells(
    model: str,
    dataset: str = "d",
    *,
    examples: int = 2,
    serializers: tuple[str, ...] = ("html",),
    perturbations: tuple[str, ...] = ("none",),
    benchmark: str = "b",
    score: float | None = 0.5,
) -> list[RunRow]:
    return [
        RunRow(benchmark, dataset, str(e), s, p, score, False, None, case_id="", model=model)
        for e in range(examples)
        for s in serializers
        for p in perturbations
    ]


def test_equal_runs_have_no_differences():
    assert differences([run_data("a", cells("a")), run_data("b", cells("b"))]) == []


def test_a_single_run_has_no_differences():
    assert differences([run_data("a", cells("a"))]) == []


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"compat": "reference"}, "compat differ: fixed (a), reference (b)"),
        ({"seed": 7}, "seed differ: 0 (a), 7 (b)"),
        ({"shots": 3}, "shots differ: the dataset's own (a), 3 (b)"),
        ({"params": {"temperature": 1}}, "params.temperature differ: not given (a), 1 (b)"),
        ({"versions": {"spacy": "9"}}, "versions.spacy differ: 8 (a), 9 (b)"),
        ({"datasets": {"d": {"files": {"f": "1"}}}}, "datasets.d.files differ: f 0 (a), f 1 (b)"),
    ],
)
def test_different_settings_are_named_with_their_models(facts, words):
    usual: dict[str, Any] = {"shots": None, "params": {}, "versions": {"spacy": "8"}}
    usual["datasets"] = {"d": {"files": {"f": "0"}}}
    runs = [run_data("a", cells("a"), **usual), run_data("b", cells("b"), **usual | facts)]
    [sentence] = differences(runs)
    assert sentence.startswith(words)
    assert "; " in sentence, "says what the difference means"


def test_settings_are_compared_by_dataset():
    def kept(name, own_shots, **facts):
        entries = {"d": {"shots": 5}, "e": {"shots": own_shots}}
        return run_data(name, cells(name), by_dataset=entries, **facts)

    # An option, and a dataset that declares the same value.
    assert differences([kept("a", 5), kept("b", 5, shots=5)]) == []
    [sentence] = differences([kept("a", 5), kept("b", 1)])
    assert sentence.startswith("shots of e differ: 5 (a), 1 (b); ")


def test_different_lists_of_names_are_written_in_words():
    def kept(name, *modalities):
        return run_data(name, cells(name), by_dataset={"d": {"modality": list(modalities)}})

    [sentence] = differences([kept("a", "text"), kept("b", "text", "image")])
    assert sentence.startswith("modality differ: text (a), image, text (b); ")


def test_different_grids_are_named():
    few, many = cells("a"), cells("b", serializers=("html", "csv"))
    (sentence,) = differences([run_data("a", few), run_data("b", many)])
    assert sentence.startswith("d: configurations differ: 1 (a), 2 (b); robustness")


def test_different_configurations_of_equal_number_are_named():
    first_rows, other_rows = cells("a"), cells("b", serializers=("csv",))
    (sentence,) = differences([run_data("a", first_rows), run_data("b", other_rows)])
    assert sentence.startswith("d: configurations differ: 1 (a), 1 others (b)")


def test_different_examples_and_datasets_are_named():
    sentences = differences(
        [run_data("a", cells("a", examples=5)), run_data("b", cells("b") + cells("b", "other"))]
    )
    assert sentences[0].startswith("datasets differ: d (a), d, other (b)")
    assert sentences[1] == "d: examples differ: 5 (a), 2 (b); 2 are common to all"
    assert len(sentences) == 2


def test_a_run_cut_off_or_without_answers_has_a_remark():
    run = run_data("a\x1b[1m", cells("a", score=None), cases_planned=9)
    assert run_remarks(run) == [
        "a\x1b[1m: interrupted, 2 of 9 cases are recorded",
        "a\x1b[1m: 2 of 2 cases without an answer: left out of every mean, which makes "
        "robustness too high",
    ]
    assert run_remarks(run_data("a", cells("a"))) == []


def test_two_runs_of_a_model_are_named_by_their_folders():
    first = run_data("a", cells("a"))
    two = paper_run(Path("again"), "a", first.facts, first.rows)
    named = with_distinct_labels([first, run_data("b", cells("b")), two])
    assert [run.model for run in named] == ["a", "b", "again"]
    for run in named:
        assert {row.model for row in run.rows} == {run.model}


def test_runs_of_a_model_in_different_modes_are_named_by_their_modes():
    first = run_data("a", cells("a"))
    tree = [replace(row, strategy="treethinker") for row in first.rows]
    other = paper_run(Path("b"), "a", first.facts, tree)
    assert [run.model for run in with_distinct_labels([first, other])] == [
        "a (direct, text)",
        "a (treethinker, text)",
    ]
    # Two runs have the same mode, so they are named by their folders.
    third = paper_run(Path("c"), "a", first.facts, tree)
    assert [run.model for run in with_distinct_labels([first, other, third])] == ["a", "b", "c"]


def test_a_run_is_split_by_mode_if_a_dataset_has_several():
    plain = cells("a", "d") + cells("a", "e")
    shown = [replace(row, modality="image") for row in cells("a", "d")]
    parts = runs_by_mode([run_data("a", plain + shown)], "b")
    assert [(run.model, len(run.rows)) for run in parts] == [
        ("a (direct, text)", 4),
        ("a (direct, image)", 2),
    ]
    assert {row.model for row in parts[1].rows} == {"a (direct, image)"}


def test_a_run_with_one_mode_per_dataset_is_not_split():
    mixed = cells("a", "d") + [replace(row, strategy="tcot") for row in cells("a", "e")]
    [part] = runs_by_mode([run_data("a", mixed + cells("a", benchmark="other"))], "b")
    assert (part.model, len(part.rows)) == ("a", 4)
    assert runs_by_mode([run_data("a", mixed)], "other") == []


@pytest.mark.parametrize(
    ("runs", "ranked"),
    [
        ([("a", "direct"), ("b", "direct")], "models"),
        ([("a", "direct"), ("a", "tcot"), ("a", "pot")], "the strategies of one model"),
        ([("a", "direct"), ("a", "tcot"), ("b", "pot")], "models and their strategies"),
        ([("a", "direct"), ("a", "direct")], "the runs of one model"),
    ],
)
def test_an_analysis_says_what_it_ranks(runs, ranked):
    data = []
    for number, (model, strategy) in enumerate(runs):
        rows = tuple(replace(row, strategy=strategy) for row in cells(model))
        run = Run(Path(f"runs/{number}"), RunFacts(model=model), label=model)
        run.rows = rows
        data.append(run)
    tree = analysis_of(with_distinct_labels(data), "b")
    assert tree["ranked"] == ranked
    titles = [table.title for table in paper_tables(tree)]
    assert f"Agreement of datasets on the ranking of {ranked} (Kendall's tau-b)" in titles


# Leaderboard


def torr(model: str, datasets: list[str], **options: Any) -> list[RunRow]:
    grid: dict[str, Any] = {"serializers": SERIALIZERS, "perturbations": GRID, "examples": 100}
    grid |= options
    return [row for name in datasets for row in cells(model, name, benchmark="torr", **grid)]


def test_published_rows_equal_those_of_the_paper():
    published_rows = published("torr_table2")
    assert len(published_rows) == 14
    assert set(published_rows[0]) == {"model", "performance", "robustness", *DATASETS}
    by_model = {row["model"]: row for row in published_rows}
    assert by_model["claude-3-5-sonnet"]["performance"] == "0.49"
    assert by_model["llama-3-1-8b-i"]["robustness"] == "0.53"
    assert by_model["mistral-7b-i"]["WikiTQ"] == "0.67"
    # The performance is the mean of ten columns; the paper misprints one row.
    for row in published_rows:
        mean = sum(float(row[name]) for name in DATASETS) / 10
        if row["model"] != "gpt-4o-mini":
            assert mean == pytest.approx(float(row["performance"]), abs=0.011), row["model"]


def test_a_run_with_the_papers_settings_is_first_and_has_no_note():
    run = run_data("mine", torr("mine", list(DATASETS.values())), compat="reference")
    board = leaderboard([run])
    assert board is not None
    assert board.columns == ("model", "source", "performance", "robustness", *DATASETS)
    assert board.rows[0] == ("mine", "this run", 0.5, 1.0, *[0.5] * 10)
    assert board.row_notes[0] == ""
    assert len(board.rows) == 15
    assert {row[1] for row in board.rows[1:]} == {"published"}
    assert any("2502.19412" in note for note in board.notes)
    published = next(
        line for line in terminal_lines(table_blocks(board)) if "claude-3-5-sonnet" in line
    )
    assert published.split()[1:4] == ["published", "0.49", "0.70"]


def test_a_run_with_other_settings_has_a_note_about_each():
    some = [
        replace(row, strategy="tcot")
        for row in torr("m", ["wikitq", "finqa"], serializers=("html", "csv"), examples=20)
    ]
    facts = {"datasets": {"wikitq": {"notes": ["demonstrations from elsewhere"]}}}
    board = leaderboard([run_data("m", some, shots=2, **facts)])
    assert board is not None
    first = dict(zip(board.columns, board.rows[0], strict=True))
    assert first["performance"] is None
    assert first["robustness"] is None
    assert first["WikiTQ"] == 0.5
    assert first["TabFact"] is None
    for words in (
        "need all ten datasets, missing: numericnlg",
        "mode fixed: several metrics differ from the paper's",
        "10 configurations (paper 35): finqa, wikitq",
        "20 examples (paper 100, TableBench FC 79): finqa, wikitq",
        "2 demonstrations, paper 5 (WikiTQ 1)",
        "strategy tcot, paper direct",
        "wikitq: demonstrations from elsewhere",
    ):
        assert words in board.row_notes[0]


def test_fact_checking_of_tablebench_has_fewer_examples_in_the_paper_too():
    some = torr("m", ["tablebench_fc"], examples=79) + torr("m", ["tablebench_nr"], examples=79)
    board = leaderboard([run_data("m", some, compat="reference")])
    assert board is not None
    assert "79 examples (paper 100, TableBench FC 79): tablebench_nr" in board.row_notes[0]


def test_cases_without_an_answer_are_noted_on_the_leaderboard():
    scored = torr("m", ["wikitq"], examples=3) + torr("m", ["finqa"], examples=1, score=None)
    board = leaderboard([run_data("m", scored)])
    assert board is not None
    assert "25.0 % of the cases have no answer" in board.row_notes[0]


def test_a_model_of_the_paper_is_compared_with_its_published_row():
    # Table 2: gpt-4o has performance .49, robustness .69 and .39 in FinQA.
    rows = torr("openai/gpt-4o-2024-11-20", list(DATASETS.values()), score=0.25)
    run = run_data("openai/gpt-4o-2024-11-20", rows, compat="reference")
    board, beside = leaderboard([run]), leaderboard_beside([run])
    assert board is not None
    assert board.row_notes[0] == (
        "compared with the published gpt-4o: performance published .49, here .250, "
        "robustness published .69, here 1.000"
    )
    assert beside is not None
    assert len(beside.rows) == 12
    model, name, figure, published_value, measured, difference = beside.rows[2]
    assert (model, name, figure) == ("openai/gpt-4o-2024-11-20", "gpt-4o", "FinQA")
    assert (published_value, measured) == (0.39, 0.25)
    assert difference == pytest.approx(-0.14)


def test_a_run_over_some_datasets_is_compared_by_dataset():
    run = run_data("gpt-4o", torr("gpt-4o", ["finqa"]), compat="reference")
    # A second run is named by its folder and still recognized as the same model.
    run.label = "again"
    board = leaderboard([run])
    assert board is not None
    words = "compared with the published gpt-4o: FinQA published .39, here .500; performance and"
    assert board.row_notes[0].startswith(words)


def test_an_unknown_model_has_no_published_row():
    run = run_data("gpt-4o-audio", torr("gpt-4o-audio", ["finqa"]))
    board = leaderboard([run])
    assert board is not None
    assert "compared with the published" not in board.row_notes[0]
    assert leaderboard_beside([run]) is None


def test_demonstrations_are_compared_by_dataset():
    def notes(**shots: int) -> str:
        by_dataset = {name: {"shots": number} for name, number in shots.items()}
        board = leaderboard([run_data("m", torr("m", list(shots)), by_dataset=by_dataset)])
        assert board is not None
        return board.row_notes[0]

    assert "demonstrations" not in notes(finqa=5, wikitq=1)
    assert "5 demonstrations, paper 5 (WikiTQ 1): wikitq" in notes(finqa=5, wikitq=5)


def test_the_serializer_spread_of_a_run_precedes_table_5():
    # FinQA: .75 in html and .5 in csv; WikiTQ has one serializer, so no spread.
    rows = [
        *cells("gpt-4o", "finqa", benchmark="torr", score=0.75),
        *cells("gpt-4o", "finqa", benchmark="torr", serializers=("csv",)),
        *cells("gpt-4o", "wikitq", benchmark="torr"),
    ]
    table = torr_spread([run_data("gpt-4o", rows)])
    assert table is not None
    assert table.columns == ("model", "source", *DATASETS)
    figures = dict(zip(table.columns, table.rows[0], strict=True))
    assert (figures["FinQA"], figures["WikiTQ"]) == (0.25, None)
    # Table 5: gpt-4o has .05 in FinQA.
    assert table.row_notes[0].startswith(
        "compared with the published gpt-4o: FinQA published .05, here"
    )
    assert len(table.rows) == 15
    assert torr_spread([run_data("m", cells("m", "finqa", benchmark="torr"))]) is None


def test_models_are_open_or_closed_by_name_or_by_the_runs_setting():
    runs = [
        run_data("openai/gpt-4o", []),
        run_data("together_ai/meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo", []),
        run_data("groq/openai/gpt-oss-20b", []),
        run_data("in-house", []),
        run_data("tuned", [], open_weights="yes"),
    ]
    assert list(open_groups(runs).values()) == ["closed", "open", "open", "open"]
    assert "in-house" not in open_groups(runs)
    published_models = [run_data(line["model"], []) for line in published("torr_table2")]
    groups = open_groups(published_models)
    closed = [name for name, group in groups.items() if group == "closed"]
    # Six of the paper's 14 models are served only by their makers.
    assert len(groups) == 14
    assert [name.partition("-")[0] for name in closed] == [*["claude"] * 2, *["gpt"] * 2] + [
        "gemini"
    ] * 2


def test_without_a_dataset_of_torr_there_is_no_leaderboard():
    assert leaderboard([run_data("m", cells("m", "starter"))]) is None
    assert leaderboard([run_data("m", cells("m", "wikitq", benchmark="mine"))]) is None
