"""Export TReB's submission: JSON lines with the answer to each sample, one file per strategy.

The fields are upstream's: `id`, `model_name`, `question`, `generation` (the whole reply) and
`pred_answer` (the parsed answer, or the output of its program).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange.exporter import RunTexts, json_text, plain
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import counted, shortened, slug

LANGUAGES = ("English", "Chinese")
"""Upstream's folders of samples. Our example ids begin with them, upstream's ids do not."""

FIELDS = ("id", "model_name", "question", "generation", "pred_answer")


def write_treb_submission(run: Run, folder: Path) -> list[Path]:
    """Write `treb-STRATEGY.jsonl` for each strategy, with a line for each answered sample."""
    texts = RunTexts.of(run)
    by_strategy: dict[str, list[Record]] = {}
    for record in run.records:
        if record.benchmark == "treb" and record.score is not None:
            by_strategy.setdefault(record.strategy, []).append(record)
    if not by_strategy:
        raise DataError(f"{run.path} has no answered case of TReB, so nothing can be submitted")
    answers_of = {
        strategy: [submitted(record, texts) for record in records]
        for strategy, records in sorted(by_strategy.items())
    }
    for strategy, answers in answers_of.items():
        _check_once(answers, run.path, strategy)
    paths = []
    for strategy, answers in answers_of.items():
        path = folder / f"treb-{slug(strategy)}.jsonl"
        lines = (json.dumps(answer, ensure_ascii=False) for answer in answers)
        write_whole(path, "".join(f"{line}\n" for line in lines))
        paths.append(path)
    return paths


def submitted(record: Record, texts: RunTexts) -> dict[str, str]:
    """Return the line of an answered case."""
    language, _, rest = record.example_id.partition("|")
    example = rest if language in LANGUAGES else record.example_id
    subtask = record.tags.get("subtask") or _subtask_of(record.dataset)
    values = (
        f"{subtask}|{example}",
        record.model,
        texts.question(record) or "",
        record.raw or "",
        json_text(record.prediction) or "",
    )
    return dict(zip(FIELDS, map(plain, values), strict=True))


def _subtask_of(dataset: str) -> str:
    from pytest_tablebench.datasets.treb import subtask_names

    return subtask_names().get(dataset, dataset.removeprefix("treb_"))


def _check_once(answers: Sequence[Mapping[str, str]], run: Path, strategy: str) -> None:
    """Raise `DataError` if a sample has several answers, since upstream accepts only one."""
    ids = [answer["id"] for answer in answers]
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise DataError(
            f"{run}: {shortened(twice, 120)} was answered {counted(ids.count(twice), 'time')} with "
            f"the strategy {shortened(strategy, 40)}, but a submission has one answer per sample; "
            f"export a run with one serializer, without perturbations and repeats"
        )
