"""The columns of every case on the page: axes, parts of the score, node ids."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.config.axes import MODES
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.reports.html._details import text_of
from pytest_tablebench.results import Record
from pytest_tablebench.results.corrected import corrected_outcome
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import slug

_PARTS = 12
_ASKED = frozenset(
    {
        *(
            "setting",
            "compat",
            "judge",
            "structure",
            "format_retries",
            "limit",
            "sample",
            "shots",
            "demos",
        ),
        *("configs_per_example", "seed", "api_base", "params", "repeats", "data"),
    }
)
"""Settings that identify a case, in addition to its axes."""

CORRECTED = ("right", "wrong", "no_answer", "scored", "left_out")
"""Outcomes by the corrected gold, in the order of their numbers on the page."""


def case_columns(records: Sequence[Record]) -> dict[str, Any]:
    """Return names of axes and of parts, and `columns` with one value for each case.

    Names on the axes that are in no grid, and models, are numbers of their names;
    `latency` is in seconds, `cost` in dollars; `parts` has a list for each part; `answer_number`
    numbers the distinct answers to an example; `node` is pytest's name of a case, if it does not
    follow from the id. A run with corrections also has the outcome by the corrected gold
    (`corrected`: -1 without a correction, otherwise a number of `CORRECTED`) and the score
    (`corrected_score`).
    """
    names = {
        axis.name: axis.order({*used})
        for axis in MODES
        if len(used := {getattr(record, axis.name) or "" for record in records}) > 1
        or not axis.is_optional
    }
    names["model"] = sorted({record.model for record in records})
    counts: Counter[str] = Counter()
    for record in records:
        for name, value in record.parts.items():
            counts[name] += _number(value, 6) is not None
    parts = [name for name, count in counts.most_common(_PARTS) if count]
    columns: dict[str, list[Any]] = {}
    for axis, axis_names in names.items():
        numbers = {name: number for number, name in enumerate(axis_names)}
        columns[axis] = [numbers[getattr(record, axis) or ""] for record in records]
    columns["latency"] = [_number(record.latency_s, 3) for record in records]
    columns["prompt_tokens"] = [_number(record.prompt_tokens, 0) for record in records]
    columns["completion_tokens"] = [_number(record.completion_tokens, 0) for record in records]
    columns["cost"] = [_number(record.cost_usd, 8) for record in records]
    columns["parts"] = [
        [_number(record.parts.get(name), 4) for record in records] for name in parts
    ]
    columns["answer_number"] = list(_answers(records))
    if max(len(values) for axis, values in names.items() if axis != "model") > 1:
        columns["node"] = [_node(record) for record in records]
    columns |= _corrected(records)
    return {"names": names, "parts": [name[:80] for name in parts], "columns": columns}


def _answers(records: Sequence[Record]) -> Iterator[int]:
    """Yield the number of each case's answer among the distinct answers to its example."""
    seen: dict[tuple[str, str], dict[str, int]] = {}
    for record in records:
        answers = seen.setdefault((record.dataset, record.example_id), {})
        yield answers.setdefault(text_of(record.prediction), len(answers))


def _corrected(records: Sequence[Record]) -> dict[str, list[Any]]:
    """Return the columns by the corrected gold; empty without corrections."""
    if all(record.corrected is None for record in records):
        return {}
    entries = [record.corrected for record in records]
    return {
        "corrected": [
            -1 if entry is None else CORRECTED.index(corrected_outcome(entry)) for entry in entries
        ],
        "corrected_score": [
            None if entry is None else _number(entry.get("score"), 4) for entry in entries
        ],
    }


def _number(value: Any, digits: int) -> float | int | None:
    """Return a finite number rounded to so many digits; None for any other value."""
    if not isinstance(value, int | float) or not -1e300 < value < 1e300:
        return None
    return round(float(value), digits) if digits else round(value)


def _node(record: Record) -> str:
    """Return pytest's name of a case, with short names, if the run has several modes."""
    names = ((record.example_id, 24), (record.serializer, 12), (record.perturbation, 16))
    short = (slug(text, limit, digest=True) for text, limit in names)
    return "-".join([*short, *record.case_id.split("/")[4:]])


def run_key(run: RunFacts) -> str:
    """Return the key of a run's notes, which does not depend on the folder's place."""
    identity = json.dumps([run.model, run.start, run.host or None], default=str)
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def rerun_words(run: RunFacts) -> list[str]:
    """Return the words that name the suites, and the options that differ from the defaults."""
    usual, folder = Settings(), run.prompts_folder
    words = [str(word) for word in run.named_by]
    words += [] if folder is None else [f"--bench-prompts={folder}"]
    return words + [
        f"{option.flag}={text}"
        for option in OPTIONS
        if option.setting in _ASKED and option.recorded
        for text in _texts(run.entries.get(option.recorded), usual, option.setting)
        if "***" not in text  # the user has to add a removed key
    ]


def _texts(value: Any, usual: Settings, setting: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        usual_params = usual.request_params()
        yield from (
            f"{name}={parameter if isinstance(parameter, str) else json.dumps(parameter)}"
            for name, parameter in value.items()
            if usual_params.get(name) != parameter
        )
    elif value is not None and value != getattr(usual, setting):
        yield str(value)
