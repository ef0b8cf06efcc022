"""The plan of a run as a JSON file for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import writing
from pytest_tablebench.results import SCHEMA
from pytest_tablebench.util.files import write_whole

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import PlannedGate

__all__ = ["write_plan"]


def write_plan(
    path: Path,
    cases: int,
    plans: Iterable[Mapping[str, Any]],
    gates: Mapping[str, Sequence[PlannedGate]],
) -> None:
    """Write the number of selected cases, and the plans and gates of each model.

    `plans` are the fields of `ModelPlan`; models whose answers cost nothing have none. `gates` has
    the planned gates by model. Raises `SettingsError` if the file cannot be written.
    """
    content = {
        "schema": SCHEMA,
        "cases": cases,
        "models": list(plans),
        "gates": {model: [asdict(gate) for gate in planned] for model, planned in gates.items()},
    }
    with writing(f"--bench-plan-json: cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(content, indent=2, default=str) + "\n")
