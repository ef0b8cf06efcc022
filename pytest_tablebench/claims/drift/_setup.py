"""What a run of a canary depends on, apart from the model: to tell our changes from theirs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_tablebench.config.axes import MODES, NAMED, names_on
from pytest_tablebench.results.record import Record
from pytest_tablebench.util.entries import mapping

PACKAGE = "package"
"""The part of the set-up that may change: the prompts show whether that changes a question."""

PROMPTS = "prompts"

_SETTINGS = (
    *("compat", "judge", "structure", "format_retries", "demos", "seed", "context"),
    *("reasoning_tokens", "extend_cut", "prompts", "thresholds", "max_reply"),
    *(axis.name for axis in MODES),
)
_PARAMETERS = ("params", "params_sent", "params_dropped", "judge_params")
_IF_RECORDED = ("judge_prompts",)
"""Further parameters, which runs of earlier versions do not record."""


def setup_of(run: Mapping[str, Any], records: Iterable[Record]) -> dict[str, str]:
    """Return the parts of a run's set-up as texts, by name.

    `run` is the content of `run.json`. Data, prompts, settings and parameters are digests.
    """
    prompts = {name: record.prompt_digest for name, record in cases_of(records)}
    data = {name: mapping(run, "datasets", name).get("files") for name in mapping(run, "datasets")}
    return {
        PACKAGE: str(mapping(run, "versions").get("pytest-tablebench")),
        **{f"data of {name}": _digest(files) for name, files in sorted(data.items())},
        PROMPTS: _digest(prompts),
        "settings": _digest({name: run.get(name) for name in _SETTINGS}),
        "parameters": _digest(
            {name: run.get(name) for name in _PARAMETERS}
            | {name: run[name] for name in _IF_RECORDED if name in run}
        ),
        "address": _digest(run.get("api_base")),
    }


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the names of the parts that differ, with both values of the package."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return [
        f"{name} {before.get(name)} to {after.get(name)}" if name == PACKAGE else name
        for name in names
    ]


def cases_of(records: Iterable[Record]) -> Iterator[tuple[str, Record]]:
    """Yield each record with what identifies its case in every run of a canary.

    That is its id without model and repeat; names on axes that do not change the question are in
    it if the records have several.
    """
    rows = list(records)
    axes = [
        axis
        for axis in NAMED
        if axis.changes_the_question or len({names_on(record, (axis,)) for record in rows}) > 1
    ]
    for record in rows:
        yield "/".join((record.dataset, record.example_id, *names_on(record, axes))), record


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
