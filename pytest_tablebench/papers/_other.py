"""Runs with the published rows of TAT-QA, AIT-QA and FeTaQA."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tablebench.metrics import corpus_bleu
from pytest_tablebench.papers._published import Noted, beside_published, published
from pytest_tablebench.papers.runs import runs_by_mode
from pytest_tablebench.papers.text import PaperTable, Value
from pytest_tablebench.results import read_records
from pytest_tablebench.results.figures import mean_parts, plain_mean
from pytest_tablebench.results.run import Run

BENCHMARK = "other"

_COLUMNS = (
    *(("tatqa", "em"), ("tatqa", "f1")),
    *(("fetaqa", "rouge1"), ("fetaqa", "rouge2"), ("fetaqa", "rougeL")),
)
_CITATION = (
    "published: TAT-QA, ACL 2021; AIT-QA, NAACL 2022 industry track; FeTaQA, TACL 2022; by "
    "other code, on models that were trained for the task"
)
_BLEU = "sacrebleu is sacreBLEU's figure of all answers of FeTaQA as one corpus, as a share"


def other_leaderboard(runs: Sequence[Run]) -> PaperTable | None:
    """Return the runs and the published rows; None for runs without any of the datasets."""
    rows: list[Noted] = [(_row(run), "") for run in runs_by_mode(runs, BENCHMARK)]
    lines = published("other_leaderboard")
    return beside_published(
        "other_leaderboard",
        "TAT-QA, AIT-QA and FeTaQA with the figures of their papers",
        ("model", "source", *list(lines[0])[1:]),
        own_rows=rows,
        others=(
            (line.pop("model"), "published", *map(_share, line.values()))
            for line in map(dict, lines)
        ),
        notes=(_CITATION, _BLEU),
        names={run.model: run.facts.model for run in runs},
    )


def _row(run: Run) -> tuple[Value, ...]:
    em, f1, *rouge = mean_parts(run.rows, _COLUMNS)
    scores = [row.score for row in run.rows if row.dataset == "aitqa" and row.score is not None]
    cells = plain_mean(scores) if scores else None
    return (run.model, "this run", em, f1, cells, *rouge, _corpus_bleu(run))


def _corpus_bleu(run: Run) -> float | None:
    """Return BLEU of a run's answers to FeTaQA as one corpus; None without any."""
    cases = {row.case_id for row in run.rows if row.dataset == "fetaqa"}
    if not cases:
        return None
    pairs = [
        (str(record.prediction), str(record.references[0]))
        for record in read_records(run.path)
        if record.case_id in cases and record.score is not None and record.references
    ]
    return corpus_bleu(*map(list, zip(*pairs, strict=True))) if pairs else None


def _share(figure: str) -> float | None:
    return float(figure) / 100 if figure else None
