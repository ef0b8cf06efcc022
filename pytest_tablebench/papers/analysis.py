"""The analyses behind the tables and figures of one benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tablebench.papers._further_tables import open_groups
from pytest_tablebench.papers._realhit_serializers import serializer_means
from pytest_tablebench.papers._skills import skill_analysis
from pytest_tablebench.papers._table_map import mapped_tables
from pytest_tablebench.papers.analyses import analyse, further_figures
from pytest_tablebench.papers.runs import runs_by_mode
from pytest_tablebench.results.run import Run


def analysis_of(runs: Sequence[Run], benchmark: str) -> dict[str, Any]:
    """Return the analyses of a benchmark over runs, divided by mode.

    Raises `DataError` for records that cannot be compared.
    """
    parts = runs_by_mode(runs, benchmark)
    rows = [row for run in parts for row in run.rows]
    analysis = analyse(rows)
    return {
        **analysis,
        "ranked": _ranked(parts),
        "further": further_figures(rows, analysis, open_groups(parts)),
        "skills": skill_analysis(runs, benchmark),
        "tables": mapped_tables(runs, benchmark),
        "formats": serializer_means(runs, benchmark),
    }


def _ranked(parts: Sequence[Run]) -> str:
    """Return what a ranking of these runs orders, in words."""
    models = {run.facts.model for run in parts}
    if len(models) == len(parts):
        return "models"
    modes = {
        "strategies": {row.strategy for run in parts for row in run.rows},
        "modalities": {row.modality for run in parts for row in run.rows},
    }
    kinds = " and ".join(name for name, names in modes.items() if len(names) > 1) or "runs"
    return f"the {kinds} of one model" if len(models) == 1 else f"models and their {kinds}"
