"""Agreement of two judges about the same answers (spec: realhitbench.md section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pytest_tablebench.papers.text import PaperTable, Value
from pytest_tablebench.results.judges import agreement_of
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.entries import mapping

JUDGES = "judges"

_COLUMNS = ("model", "dataset", "judge", "other judge", "answers", "kappa", "rank correlation")
_NOTES = (
    "kappa: Cohen's, of marks in tens of a hundred, weighted by the square of their distance "
    "(0 is chance, 1 is the same marks)",
    "rank correlation: Spearman's, of the marks themselves",
)


def judge_agreement(runs: Sequence[Run]) -> PaperTable | None:
    """Return the agreement of each pair of judges about the same answers of a model.

    The marks are from two of the runs, or from one run that was judged again. None if no answer
    has the marks of two judges.
    """
    rows: dict[tuple[str, ...], tuple[Value, ...]] = {}
    for names, by_dataset in (*_computed(runs), *_recorded(runs)):
        for dataset, figures in by_dataset.items():
            model, first_judge, second_judge = names
            key = model, dataset, *sorted((first_judge, second_judge))
            rows.setdefault(key, (model, dataset, first_judge, second_judge, *figures))
    if not rows:
        return None
    same = "one of them gave all answers the same marks"
    return PaperTable(
        JUDGES,
        "Agreement of judges about the same answers",
        _COLUMNS,
        tuple(rows.values()),
        tuple(same if row[-2] is None else "" for row in rows.values()),
        notes=_NOTES,
    )


_Figures = Mapping[str, tuple[int, float | None, float | None]]


def _computed(runs: Sequence[Run]) -> Iterator[tuple[tuple[str, str, str], _Figures]]:
    """Yield model and judges with their agreement by dataset, for each pair of runs."""
    for first, second in combinations(runs, 2):
        judges, model = (first.facts.judge, second.facts.judge), first.facts.model
        if None in judges or judges[0] == judges[1] or model != second.facts.model:
            continue
        agreements = agreement_of(first.rows, second.rows)
        yield (
            (model, str(judges[0]), str(judges[1])),
            {
                name: (agreement.answers, agreement.kappa, agreement.rank)
                for name, agreement in agreements.items()
            },
        )


def _recorded(runs: Sequence[Run]) -> Iterator[tuple[tuple[str, str, str], _Figures]]:
    """Yield the same for runs that were judged again, from the agreement that they recorded."""
    for run in runs:
        before = run.facts.rejudged.get("judge")
        if before is None:
            continue
        agreements = mapping(run.facts.rejudged, "agreement")
        by_dataset = {
            str(name): (
                figures["answers"],
                _number(figures.get("kappa")),
                _number(figures.get("rank")),
            )
            for name, figures in agreements.items()
            if isinstance(figures, dict) and isinstance(figures.get("answers"), int)
        }
        yield (run.facts.model, str(before), str(run.facts.judge)), by_dataset


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
