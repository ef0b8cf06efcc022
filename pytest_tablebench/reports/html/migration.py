"""The page on a migration: may a new model replace the old one?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_tablebench.claims.migration import JudgedScope, Migration, Side
from pytest_tablebench.documents.html import save_page
from pytest_tablebench.reports.migration_text import (
    CLAIMS,
    STATES,
    candidate_rows,
    choice_line,
    headline,
    side_rows,
)
from pytest_tablebench.util.files import real_path

_REACH = 0.02
"""The smallest half width of the axis of differences."""


def write_migration_page(migrations: Sequence[Migration], out: Path) -> None:
    """Write one page with the verdict on each candidate.

    Raises `SettingsError` if `out` cannot be written.
    """
    header, *rows = candidate_rows(migrations)
    several = len(migrations) > 1
    save_page(
        out,
        "migration.html",
        {
            "old": migrations[0].old.model,
            "choice": choice_line(migrations) if several else None,
            "table": {"header": header, "rows": rows} if several else None,
            "candidates": [_candidate(migration, out) for migration in migrations],
        },
    )


def _candidate(migration: Migration, out: Path) -> dict[str, Any]:
    ends = [abs(end) for scope in migration.scopes for end in scope.result.interval or ()]
    reach = max([_REACH, 2 * migration.margin, *ends])
    return {
        "model": migration.new.model,
        "state": STATES[migration.verdict],
        "headline": headline(migration),
        "reasons": migration.reasons,
        "margin": migration.margin,
        "reach": reach,
        "edge": _place(-migration.margin, reach),
        "scopes": [_scope(scope, reach) for scope in migration.scopes],
        "gates": [gate.result for gate in migration.gates],
        "sides": side_rows(migration.old, migration.new),
        "links": [_link(side, out) for side in (migration.old, migration.new)],
        "same_text": migration.same_text,
        "other_text": migration.other_text,
        "changes": [
            ("Right before, wrong now", migration.n_worse, migration.worse),
            ("Wrong before, right now", migration.n_better, migration.better),
        ],
        "differences": migration.differences,
        "remarks": migration.remarks,
    }


def _scope(scope: JudgedScope, reach: float) -> dict[str, Any]:
    bounds = scope.result.interval
    estimate = scope.result.estimate
    return {
        "kind": scope.kind,
        "name": scope.name,
        "before": scope.before,
        "after": scope.after,
        "estimate": estimate,
        "interval": bounds,
        "at": None if estimate is None else _place(estimate, reach),
        "ends": [_place(end, reach) for end in bounds] if bounds else None,
        "examples": scope.result.n_examples,
        "state": scope.result.state,
        "claim": CLAIMS[scope.result.state],
        "reason": scope.result.reason,
        "further": scope.further,
    }


def _place(value: float, reach: float) -> float:
    """Return the position of a difference on a mark that is 120 units wide."""
    return round(60 + 58 * max(-1.0, min(1.0, value / reach)), 2)


def _link(side: Side, out: Path) -> tuple[str, str]:
    """Return a model and the address of its run's page, relative to the page; "" without one."""
    page = Path(side.path) / "report.html"
    if not page.is_file():
        return side.model, ""
    try:
        address = os.path.relpath(real_path(page), real_path(out).parent)
    except ValueError:  # another drive
        return side.model, ""
    return side.model, quote(Path(address).as_posix())
