"""`report.html` of one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.claims.outliers import outliers_of
from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.config.axes import NAMED, Axis
from pytest_tablebench.documents.html import compiled, grouped, save_page
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.reports.comparison import methods_line
from pytest_tablebench.reports.gates import method_lines
from pytest_tablebench.reports.html import _facts, _sections
from pytest_tablebench.reports.html._compared import differences, marks_of, points, records_before
from pytest_tablebench.reports.html._details import excerpt
from pytest_tablebench.reports.html._pack import pack, rerun_words, run_key
from pytest_tablebench.reports.html._texts import pack_pictures
from pytest_tablebench.reports.judges import judged_lines
from pytest_tablebench.reports.project import retirement_lines
from pytest_tablebench.reports.scores import PARTS
from pytest_tablebench.reports.summary import reply_lines, thinking_lines
from pytest_tablebench.results.record import case_key
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.texts import TEXTS, read_texts
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.claims.compare import RunComparison
    from pytest_tablebench.claims.gates import GateResult
    from pytest_tablebench.reports.html._ahead import PageAhead

_TEMPLATE = "page.html"
_PARTS = ("frame.html", "blocks.html")
_MODULES = (
    "text",
    "blocks",
    "state",
    "search",
    "cases",
    "columns",
    "groups",
    "list",
    "views",
    "detail",
    "tables",
    "example",
    "compared",
    "grid",
    "steps",
    "scatter",
    "notes",
    "export",
    "begin",
)
"""The script of the page, in the order in which its parts build on each other."""


def page_preparations() -> list[Callable[[], object]]:
    """Return what can be done before the end of the run, in parts: compiling the templates."""
    return [partial(compiled, template) for template in (_TEMPLATE, *_PARTS)]


def write_page(
    loaded: Path | Run,
    out: Path,
    *,
    gates: Sequence[GateResult] = (),
    baseline: Path | Run | None = None,
    comparison: RunComparison | None = None,
    notes: Sequence[str] = (),
    ahead: PageAhead | None = None,
) -> list[str]:
    """Write the page of a run, finished or not, as one file without any dependency.

    Arguments:
        loaded: the run, or its folder.
        out: the file to write; a former one is replaced.
        gates: as judged; without any the page has figures but no verdict.
        baseline: the run, or its folder, whose answers are shown next to this run's.
        comparison: of the baseline with this run.
        notes: sentences on what is missing in the page.
        ahead: what was packed of the cases during the run.

    Returns the notes, with one more if the changed answers of the run cannot be read. Raises
    `SettingsError` for a folder that is no run, or where `out` cannot be written.
    """
    loaded, problems = load_run(loaded), list(notes)
    try:
        snapshots = None if loaded.changes is None else loaded.changes["changes"]
    except TableBenchError as error:
        snapshots = None
        problems.append(f"changed answers are not shown: {shortened(str(error), 300)}")
    run, summary, folder = loaded.facts, summary_of(loaded), loaded.path
    tags = _sections.numbered_tags(summary)
    if comparison is not None or (ahead is not None and not ahead.is_whole(len(loaded.scores))):
        ahead = None
    records = [excerpt(r) for r in loaded.records] if ahead is None else ahead.records
    case_ids = {case_key(record): record.case_id for record in records} if comparison else {}
    before = records_before(case_ids, comparison, baseline)
    baseline_media = () if baseline is None else (load_run(baseline).path / "media",)
    pictures = pack_pictures([folder / "media", *baseline_media])
    packed = pack(
        records,
        read_texts(folder / TEXTS),
        {
            "folder": folder.name,
            "run": run_key(run),
            "again": rerun_words(run),
            "points": points(comparison, tags),
            "texts": (folder / TEXTS).exists(),
            "pictures": pictures.numbers,
            "parts": PARTS,
        },
        tags,
        marks=marks_of(case_ids, comparison, snapshots),
        before=before,
        ahead=ahead,
    )
    cut = [*reply_lines(summary, run), *thinking_lines(summary)]
    facts = {
        "model": run.model,
        "run": run,
        "settings": _facts.settings(run),
        "verdict": _facts.verdict(gates, run, records),
        "gates": list(gates),
        "methods_of_gates": method_lines(gates),
        "totals": _facts.totals(summary, records, comparison),
        "lowest": _facts.lowest(outliers_of(loaded)),
        "several": len(summary["benchmarks"]) > 1 or len(packed.axes["dataset"]) > 1,
        "taken": [*_facts.taken(run, records), *retirement_lines(run)],
        "scores": grouped(_sections.score_blocks(summary, run)),
        "tags": grouped(_sections.tag_sections(summary, run, tags, packed.axes["dataset"])),
        "maps": grouped(_sections.map_blocks(summary, packed.axes)),
        "ranges": grouped([*_facts.range_blocks(loaded.scores), *_sections.spread_blocks(summary)]),
        "axes_of_cases": json.dumps([*map(_axis, NAMED)]),
        "outcomes": _facts.outcomes(records),
        "costs": grouped(_sections.cost_blocks(records, summary)),
        "comparison": comparison,
        "differences": differences(comparison),
        "methods": comparison and methods_line(comparison, ["performance"]),
        "own": case_ids,
        "listed": _facts.LISTED,
        "changes": None if snapshots is None else _facts.changes(snapshots),
        "notes": [
            *judged_lines(summary),
            *cut,
            *problems,
            *_facts.data_notes(run),
            *packed.notes,
            *pictures.notes,
        ],
        "blocks": {**packed.blocks, **pictures.blocks},
        "count": len(records),
    }
    save_page(out, _TEMPLATE, facts, modules=_MODULES)
    return problems


def _axis(axis: Axis) -> dict[str, object]:
    facts = {"name": axis.name, "label": axis.name.capitalize(), "letter": axis.letter}
    return {**facts, "in_grid": axis.in_grid}
