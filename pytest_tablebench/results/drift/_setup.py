"""What a run of a canary depends on, apart from the model: to tell our changes from theirs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_tablebench.results.record import Record
from pytest_tablebench.util.entries import mapping

PACKAGE = "package"
"""The part of the set-up that may change: the prompts show whether that changes a question."""

PROMPTS = "prompts"

_SETTINGS = (
    *("compat", "strategy", "modality", "judge", "structure", "format_retries", "demos", "seed"),
    *("context", "reasoning_tokens", "effort", "extend_cut", "prompts", "thresholds", "max_reply"),
)
_PARAMETERS = ("params", "params_sent", "params_dropped", "judge_params")


def setup_of(run: Mapping[str, Any], records: Iterable[Record]) -> dict[str, str]:
    """Return the parts of a run's set-up as texts, by name.

    `run` is the content of `run.json`. Data, prompts, settings and parameters are digests.
    """
    prompts = {case_of(record): record.prompt_digest for record in records}
    data = {name: mapping(run, "datasets", name).get("files") for name in mapping(run, "datasets")}
    return {
        PACKAGE: str(mapping(run, "versions").get("pytest-tablebench")),
        **{f"data of {name}": _digest(files) for name, files in sorted(data.items())},
        PROMPTS: _digest(prompts),
        "settings": _digest({name: run.get(name) for name in _SETTINGS}),
        "parameters": _digest({name: run.get(name) for name in _PARAMETERS}),
        "address": _digest(run.get("api_base")),
    }


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the names of the parts that differ, with both values of the package."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return [
        f"{name} {before.get(name)} to {after.get(name)}" if name == PACKAGE else name
        for name in names
    ]


def case_of(record: Record) -> str:
    """Return what identifies a case of a canary in every run: its id without model and repeat."""
    names = (record.dataset, record.example_id, record.serializer, record.perturbation)
    return "/".join((*names, record.strategy, record.modality))


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
