"""TReB's submission: JSON lines with the answer to each sample, a file for each strategy.

The fields are upstream's: `id`, `model_name`, `question`, `generation` (the whole reply) and
`pred_answer` (what was read from it, or what its program printed).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange.exporter import RunTexts, json_text, plain
from pytest_tablebench.results.loaded_run import LoadedRun
from pytest_tablebench.results.record import Record
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import counted, printable, slug

LANGUAGES = ("English", "Chinese")
"""Upstream's folders of samples; ours stand in the ids of examples, upstream's ids have none."""


FIELDS = ("id", "model_name", "question", "generation", "pred_answer")


@dataclass(frozen=True)
class TrebSubmission:
    """`treb-STRATEGY.jsonl`: the answered samples of TReB, each once. No answer has no line."""

    name: str = "treb-submission"

    def write(self, run: LoadedRun, folder: Path) -> list[Path]:
        """Write a file for each strategy; see `Exporter.write`."""
        texts = RunTexts.of(run)
        by_strategy: dict[str, list[Record]] = {}
        for record in run.records:
            if record.benchmark == "treb" and record.score is not None:
                by_strategy.setdefault(record.strategy, []).append(record)
        if not by_strategy:
            raise DataError(f"{run.path} has no answered case of TReB: there is nothing to submit")
        paths = []
        for strategy, records in sorted(by_strategy.items()):
            answers = [submitted(record, texts) for record in records]
            _check_once(answers, run.path, strategy)
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
    """Raise `DataError` where a sample has several answers: upstream takes one."""
    ids = [answer["id"] for answer in answers]
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise DataError(
            f"{run}: {printable(twice, 120)} was answered {counted(ids.count(twice), 'time')} with "
            f"the strategy {printable(strategy, 40)}; a submission has one answer a sample: export "
            f"a run with one serializer, without perturbations and repeats"
        )
