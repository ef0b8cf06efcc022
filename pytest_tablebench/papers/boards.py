"""The tables over all benchmarks: runs with published rows, and the judges' agreement.

The sections of the specification are realhitbench.md 4 (judges) and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from pytest_tablebench.metrics import corpus_bleu
from pytest_tablebench.papers._published import beside_published, paper, published, shares
from pytest_tablebench.papers._realhit import realhit_ablations, realhit_leaderboard, realhit_means
from pytest_tablebench.papers._skills import treb_leaderboard
from pytest_tablebench.papers._torr import leaderboard, leaderboard_beside, torr_spread
from pytest_tablebench.papers.runs import runs_by_mode
from pytest_tablebench.papers.structure import Marks, realhit_tables
from pytest_tablebench.papers.table import PaperTable, Row, captioned
from pytest_tablebench.results import read_records
from pytest_tablebench.results.figures import mean_parts, plain_mean
from pytest_tablebench.results.judges import agreement_of
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.entries import mapping

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
