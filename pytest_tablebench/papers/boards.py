"""The tables over all benchmarks: runs with published rows, ToRR's among them, and judges.

The sections of the specifications are realhitbench.md 4 (judges) and 9, torr_analyses.md 0 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.config.papers import PAPER_SETTINGS
from pytest_tablebench.config.reading import Shots
from pytest_tablebench.documents.formats import percent
from pytest_tablebench.metrics import corpus_bleu
from pytest_tablebench.papers._published import (
    Noted,
    beside_published,
    caveat,
    paper,
    published,
    same_model,
    shares,
)
from pytest_tablebench.papers._realhit import realhit_ablations, realhit_leaderboard, realhit_means
from pytest_tablebench.papers._skills import treb_leaderboard
from pytest_tablebench.papers.analyses._levels import serializer_spread
from pytest_tablebench.papers.analyses.grid import read_scores
from pytest_tablebench.papers.runs import runs_by_mode
from pytest_tablebench.papers.structure import Marks, realhit_tables
from pytest_tablebench.papers.table import (
    PaperTable,
    Printed,
    Row,
    captioned,
    reason_of,
    row_note,
    value_of,
)
from pytest_tablebench.results import read_records
from pytest_tablebench.results.figures import mean_parts, plain_mean
from pytest_tablebench.results.judges import agreement_of
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.tables.perturbations import GRID
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.names import counted

# TAT-QA, AIT-QA and FeTaQA


def other_leaderboard(runs: Sequence[Run]) -> PaperTable | None:
    """Return the runs and the published rows; None for runs without any of the datasets."""
    rows: list[tuple[Row, str]] = []
    for run in runs_by_mode(runs, "other"):
        em, f1, *rouge = mean_parts(run.rows, [*map(tuple, paper("other")["parts"])])
        cells = plain_mean(row.score for row in run.rows if row.dataset == "aitqa")
        rows.append(((run.model, "this run", em, f1, cells, *rouge, _corpus_bleu(run)), ""))
    lines = [list(line.values()) for line in published("other_leaderboard")]
    return beside_published(
        "other_leaderboard",
        [*published("other_leaderboard")[0]][1:],
        rows,
        ((model, "published", *shares(figures)) for model, *figures in lines),
        names={run.model: run.facts.model for run in runs},
    )


def _corpus_bleu(run: Run) -> float | None:
    """Return BLEU of a run's answers to FeTaQA as one corpus; None without any."""
    cases = {row.case_id for row in run.rows if row.dataset == "fetaqa"}
    pairs = [
        (str(record.prediction), str(record.references[0]))
        for record in (read_records(run.path) if cases else ())
        if record.case_id in cases and record.score is not None and record.references
    ]
    return corpus_bleu(*map(list, zip(*pairs, strict=True))) if pairs else None


# Judges

JUDGES = "judges"
_Agreement = tuple[str, str, str, str, int, float | None, float | None]
"""Model, dataset, both judges, answers, kappa and rank correlation."""


def judge_agreement(runs: Sequence[Run]) -> PaperTable | None:
    """Return the agreement of each pair of judges about the same answers of a model.

    The marks are from two of the runs, or from one run that was judged again. None if no answer
    has the marks of two judges.
    """
    rows: dict[tuple[str, ...], _Agreement] = {}
    for row in (*_computed(runs), *_recorded(runs)):
        rows.setdefault((*row[:2], *sorted(row[2:4])), row)
    same = "one of them gave all answers the same marks"
    notes = (same if row[-2] is None else "" for row in rows.values())
    return captioned(JUDGES, rows.values(), (), notes) if rows else None


def _computed(runs: Sequence[Run]) -> Iterator[_Agreement]:
    """Yield the agreement by dataset for each pair of runs."""
    for first, second in combinations(runs, 2):
        judges, model = (first.facts.judge, second.facts.judge), first.facts.model
        if None in judges or judges[0] == judges[1] or model != second.facts.model:
            continue
        for name, figures in agreement_of(first.rows, second.rows).items():
            figures_of = figures.answers, figures.kappa, figures.rank
            yield model, name, str(judges[0]), str(judges[1]), *figures_of


def _recorded(runs: Sequence[Run]) -> Iterator[_Agreement]:
    """Yield the same for runs that were judged again, from the agreement that they recorded."""
    for run in runs:
        before = run.facts.rejudged.get("judge")
        if before is None:
            continue
        for name, figures in mapping(run.facts.rejudged, "agreement").items():
            if isinstance(figures, dict) and isinstance(figures.get("answers"), int):
                kappa, rank = _number(figures.get("kappa")), _number(figures.get("rank"))
                judges = str(before), str(run.facts.judge)
                yield run.facts.model, str(name), *judges, figures["answers"], kappa, rank


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


# ToRR

_PAPER = paper("torr")

DATASETS: Mapping[str, str] = _PAPER["datasets"]
"""The paper's ten columns, with our names of the datasets."""

SINGLE = "one configuration"
"""The flag of figures over one configuration, in which robustness is not defined."""

_HEADLINE = ("performance", "robustness")
_COLUMNS = ("model", "source", *_HEADLINE, *DATASETS)


def leaderboard(runs: Sequence[Run]) -> PaperTable | None:
    """Return the table in the layout of the paper's Table 2; None without any ToRR dataset.

    The given runs come first. Performance and robustness are shown only if a run has all ten
    datasets. A run's note lists its differences from the paper.
    """
    rows = [
        (_board_row(run, scope), "; ".join(_notes(run, scope))) for run, scope in _torr_scopes(runs)
    ]
    others = _published_rows("torr_table2", _COLUMNS[2:])
    names = _model_names(runs)
    return beside_published(
        "leaderboard", [*DATASETS], rows, others, names=names, headline=_HEADLINE
    )


def leaderboard_beside(runs: Sequence[Run]) -> PaperTable | None:
    """Return each figure of a run with the published one of the same model.

    None if no model of the runs has a published row.
    """
    names, others = _model_names(runs), _published_rows("torr_table2", _COLUMNS[2:])
    rows: list[Row] = [
        (run.model, pair.model, pair.figure, *figures)
        for run, scope in _torr_scopes(runs)
        for pair in same_model(names, _COLUMNS, _board_row(run, scope), others)
        for figures in [(pair.published, pair.measured, pair.measured - pair.published)]
    ]
    return captioned("leaderboard_beside", rows) if rows else None


def torr_spread(runs: Sequence[Run]) -> PaperTable | None:
    """Return the serializer spread of each run, then the paper's Table 5 as printed.

    None if no run has two serializers in a dataset of ToRR.
    """
    rows: list[Noted] = []
    for run in runs_by_mode(runs, "torr"):
        all_spreads = serializer_spread(read_scores(_torr_rows(run)))["perturbations=all"]
        for model, spreads in all_spreads.items():
            by_column = {column: spreads.get(name, {}) for column, name in DATASETS.items()}
            values = [value_of(entry) for entry in by_column.values()]
            if any(value is not None for value in values):
                reasons = {column: reason_of(entry) for column, entry in by_column.items()}
                rows.append(((model, "this run", *values), row_note(reasons)))
    others = _published_rows("torr_table5", [*DATASETS])
    return beside_published("torr_spread", [*DATASETS], rows, others, names=_model_names(runs))


def _published_rows(name: str, columns: Sequence[str]) -> list[Row]:
    return [
        (line["model"], "published", *(Printed(line[column]) for column in columns))
        for line in published(name)
    ]


def _model_names(runs: Sequence[Run]) -> dict[str, str]:
    """Return the models by the labels of their runs."""
    return {run.model: run.facts.model for run in runs_by_mode(runs, "torr")}


def _torr_scopes(runs: Sequence[Run]) -> Iterator[tuple[Run, Mapping[str, Any]]]:
    """Yield the runs that have a dataset of ToRR, one for each mode, with their figures."""
    for run in runs_by_mode(runs, "torr"):
        rows = _torr_rows(run)
        if rows:
            (scope,) = summarize(rows)["benchmarks"].values()
            yield run, scope


def _torr_rows(run: Run) -> list[RunRow]:
    """Return the rows of a run about the ten datasets of ToRR."""
    names = set(DATASETS.values())
    return [row for row in run.rows if row.benchmark == "torr" and row.dataset in names]


def _board_row(run: Run, scope: Mapping[str, Any]) -> Row:
    datasets = scope.get("datasets", {})
    whole = set(datasets) == set(DATASETS.values())
    return (
        run.model,
        "this run",
        scope["performance"] if whole else None,
        scope["robustness"] if whole and SINGLE not in scope["flags"] else None,
        *(datasets.get(name, {}).get("performance") for name in DATASETS.values()),
    )


def _notes(run: Run, scope: Mapping[str, Any]) -> Iterator[str]:
    """Yield how a run differs from the paper's, one clause each."""
    datasets = scope.get("datasets", {})
    missing = [name for name in DATASETS.values() if name not in datasets]
    if missing:
        yield caveat("torr", "missing", names=", ".join(missing))
    compat = run.facts.compat
    if compat != "reference":
        yield caveat("torr", "compat", compat=compat)
    yield from _grid_notes(run)
    usual_shots = PAPER_SETTINGS["torr"].shots or Shots()
    shots_of = {}
    for name in datasets:
        # Earlier versions recorded the option alone.
        shots = run.facts.by_dataset.get(name, {"shots": run.facts.shots}).get("shots")
        if shots is not None and shots != usual_shots.of(name):
            shots_of[name] = caveat("torr", "shots", shots=shots)
    yield from _by_text(shots_of)
    for key, usual in _PAPER["usual"].items():
        others = sorted({getattr(row, key) for row in _torr_rows(run)} - {usual})
        if others:
            yield caveat("torr", "mode", axis=key, names=", ".join(others), usual=usual)
    if scope.get("no_answer"):
        yield caveat("torr", "no_answer", share=percent(scope["no_answer"]))
    for name in datasets:
        yield from (f"{name}: {note}" for note in run.facts.notes(name))


def _by_text(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield each text once, with the names that have it."""
    for text in dict.fromkeys(texts.values()):
        yield f"{text}: {', '.join(name for name in texts if texts[name] == text)}"


def _grid_notes(run: Run) -> Iterator[str]:
    """Yield which datasets have other configurations, or other numbers of examples."""
    usual = {*product(_PAPER["serializers"], GRID)}
    grids, counts = {}, {}
    for name in DATASETS.values():
        rows = [row for row in _torr_rows(run) if row.dataset == name]
        grid = {(row.serializer, row.perturbation) for row in rows}
        if rows and grid != usual:
            key = "other_grid" if len(grid) == len(usual) else "grid"
            grids[name] = caveat("torr", key, configurations=counted(len(grid), "configuration"))
        examples = len({row.example_id for row in rows})
        if rows and examples not in {_PAPER["examples"], _PAPER["fewer"].get(name)}:
            counts[name] = caveat("torr", "examples", examples=counted(examples, "example"))
    yield from _by_text(grids)
    yield from _by_text(counts)


# All of them

Maker = Callable[[Sequence[Run]], PaperTable | None]

BOARDS: Mapping[str, Maker] = {
    "leaderboard": leaderboard,
    "leaderboard_beside": leaderboard_beside,
    "torr_spread": torr_spread,
    "treb_leaderboard": treb_leaderboard,
    "realhit_leaderboard": realhit_leaderboard,
    "realhit_means": realhit_means,
    "realhit_ablations": realhit_ablations,
    "realhit_tables": realhit_tables,
    "other_leaderboard": other_leaderboard,
    JUDGES: judge_agreement,
}
"""The maker of each table, by the stem of its files; it returns None without data."""


def boards_of(runs: Sequence[Run], marks: Marks | None = None) -> list[PaperTable]:
    """Return the tables for which the runs have data.

    `marks` are a model's marks of the structure of tables.
    """
    makers: dict[str, Maker] = {**BOARDS, "realhit_tables": partial(realhit_tables, marks=marks)}
    return [table for make in makers.values() if (table := make(runs)) is not None]
