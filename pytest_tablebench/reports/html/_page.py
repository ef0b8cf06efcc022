"""`report.html` of one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.outliers import Outlier, outliers_of
from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import left_out_lines, money, origins_text, percent
from pytest_tablebench.documents.html import compiled, grouped, save_page
from pytest_tablebench.reports._replies import reply_lines, thinking_lines
from pytest_tablebench.reports.comparison import methods_line
from pytest_tablebench.reports.gates import method_lines
from pytest_tablebench.reports.html import _facts, _sections
from pytest_tablebench.reports.html._case_columns import rerun_words, run_key
from pytest_tablebench.reports.html._compared import marks_of, points, records_before
from pytest_tablebench.reports.html._details import excerpt
from pytest_tablebench.reports.html._pack import pack
from pytest_tablebench.reports.html._pictures import pack_pictures
from pytest_tablebench.reports.labels import judged_lines
from pytest_tablebench.reports.retirement import retirement_lines
from pytest_tablebench.reports.scores import PARTS
from pytest_tablebench.reports.snapshots import word_diff as diff_words
from pytest_tablebench.results import Record
from pytest_tablebench.results.record import CUTS, UNCLEAR, case_key
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.score_columns import CELL
from pytest_tablebench.results.texts import TEXTS, read_texts
from pytest_tablebench.util.names import counted, printable

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
_LISTED = 200
"""Flipped cases and changed answers the page lists above the explorer, which has all."""


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
    snapshots: Sequence[Mapping[str, Any]] | None = None,
    notes: Sequence[str] = (),
    ahead: PageAhead | None = None,
    today: date | None = None,
) -> None:
    """Write the page of a run, finished or not, as one file without any dependency.

    Arguments:
        loaded: the run, or its folder.
        out: the file to write; a former one is replaced.
        gates: as judged; without any the page has figures but no verdict.
        baseline: the run, or its folder, whose answers are shown next to this run's.
        comparison: of the baseline with this run.
        snapshots: answers that are not the stored ones, as snapshots.json has them; None where
            nothing was compared.
        notes: sentences on what is missing in the page.
        ahead: what was packed of the cases during the run.
        today: by default the current day; a model that retires soon has a line.

    Raises `SettingsError` for a folder that is no run, or where `out` cannot be written.
    """
    loaded = load_run(loaded)
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
        "settings": _settings(run),
        "verdict": _facts.verdict(gates, run, records),
        "gates": list(gates),
        "methods_of_gates": method_lines(gates),
        "totals": _totals(summary, records, comparison),
        "lowest": _lowest(outliers_of(loaded)),
        "several": len(summary["benchmarks"]) > 1 or len(packed.axes["dataset"]) > 1,
        "taken": [*_taken(run, records), *retirement_lines(run, today)],
        "scores": grouped(_sections.score_blocks(summary, run)),
        "tags": grouped(_sections.tag_sections(summary, run, tags, packed.axes["dataset"])),
        "maps": grouped(_sections.map_blocks(summary, packed.axes)),
        "ranges": grouped([*_facts.range_blocks(loaded.scores), *_sections.spread_blocks(summary)]),
        "axes_of_cases": _axes(),
        "outcomes": _facts.outcomes(records),
        "costs": grouped(_sections.cost_blocks(records, summary)),
        "comparison": comparison,
        "differences": _differences(comparison),
        "methods": comparison and methods_line(comparison, ["performance"]),
        "own": case_ids,
        "listed": _LISTED,
        "changes": None if snapshots is None else _changes(snapshots),
        "notes": [
            *judged_lines(summary),
            *cut,
            *notes,
            *_data_notes(run),
            *packed.notes,
            *pictures.notes,
        ],
        "blocks": {**packed.blocks, **pictures.blocks},
        "count": len(records),
    }
    save_page(out, _TEMPLATE, facts, modules=_MODULES)


def _axes() -> str:
    """Return what the script of the page knows of each axis, as JSON."""
    axes = [
        {"name": a.name, "label": a.name.capitalize(), "letter": a.letter, "in_grid": a.in_grid}
        for a in NAMED
    ]
    return json.dumps(axes)


# The top of the page


LOWEST = 3
"""The number of lowest parts at the top of the page."""


def _lowest(outliers: Sequence[Outlier]) -> list[dict[str, Any]]:
    """Return the parts that score lowest by more than chance, forms of a table first."""
    low = [part for part in outliers if part.value < part.whole]
    low.sort(key=lambda part: part.kind not in CELL)
    return [
        {**vars(part), "text": f"{part.kind}{' ' if part.kind in CELL else ' = '}{part.name}"}
        for part in low[:LOWEST]
    ]


def _totals(
    summary: Mapping[str, Any], records: Sequence[Record], comparison: RunComparison | None
) -> list[dict[str, Any]]:
    """Return the figures of each benchmark, with the difference to the run before."""
    scopes = comparison.scopes if comparison else ()
    before = {
        scope.name: scope.measures["performance"] for scope in scopes if scope.kind == "benchmark"
    }
    return [
        {
            "name": name,
            "scope": scope,
            "right": _facts.right_text(scope, records),
            "single": "one configuration" in scope["flags"],
            "before": before.get(name),
        }
        for name, scope in summary["benchmarks"].items()
    ]


def _taken(run: RunFacts, records: Sequence[Record]) -> Iterator[str]:
    """Yield the shares of missing and cut-off answers, and the cost."""
    unanswered = sum(record.score is None for record in records)
    share = unanswered / len(records) if records else None
    yield f"no answer: {percent(share)} ({counted(unanswered, 'case')})"
    cut, truncated = (sum(name in record.tallies for record in records) for name in CUTS)
    if cut or truncated:
        cases = f"{counted(cut + truncated, 'case')}, {truncated:,} of them scored"
        yield f"replies cut off: {percent((cut + truncated) / len(records))} ({cases})"
    unclear = sum(UNCLEAR in record.tallies for record in records)
    if unclear:
        cases = counted(unclear, "case")
        yield f"unclear: {percent(unclear / len(records))} ({cases}), counted as wrong"
    shown = "unknown" if run.cost_usd is None else money(run.cost_usd)
    calls = "? calls" if run.calls_paid is None else counted(run.calls_paid, "call")
    yield f"cost: {shown} ({calls}, {run.store_hits:,} from the store)"


def _settings(run: RunFacts) -> list[tuple[str, str]]:
    options = [option.recorded for option in OPTIONS if option.shown and option.recorded]
    further = ("deprecation_date", "judge_deprecation_date", "start", "end", "status")
    rows = [(name, run.entries.get(name)) for name in (*options, *further)]
    rows.append(("version", run.version))
    rows += [(name, origins_text(entry) or None) for name, entry in run.by_dataset.items()]
    return [(name, _setting(value)) for name, value in rows if value not in (None, {}, [])]


def _setting(value: Any) -> str:
    """Return a value of `run.json` as words: `temperature 0.3, max_tokens 512`."""
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {_plain(entry)}" for name, entry in value.items())
    elif isinstance(value, list):
        text = ", ".join(map(_plain, value))
    else:
        text = _plain(value)
    return printable(text, 300)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _data_notes(run: RunFacts) -> Iterator[str]:
    yield from left_out_lines(run)
    for name, problems in run.problems.items():
        if problems:
            yield f"{name}: {counted(len(problems), 'row')} could not be used; first: {problems[0]}"
        for note in run.notes(name):
            yield f"{name}: {note}"


def _differences(comparison: RunComparison | None) -> list[Any]:
    """Return the tables of differences: of datasets, by the corrected gold, and of parts."""
    if comparison is None:
        return []
    table = _sections.difference_table
    blocks: list[doc.Block] = [table(comparison.scopes, is_whole=True)]
    if comparison.corrected:
        blocks += [doc.Heading("By corrected gold", 3), table(comparison.corrected, is_whole=True)]
    parts = table(comparison.scopes, is_whole=False)
    if parts.rows:
        blocks.append(doc.Fold("By serializer, perturbation and tag", [parts]))
    return grouped(blocks)


# Changed answers


def _changes(snapshots: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    ordered = sorted(snapshots, key=lambda change: (change["kind"] != "flipped", change["case_id"]))
    listed = [
        {
            "id": change["case_id"],
            "flipped": change["kind"] == "flipped",
            "words": word_diff(*(change[side].get("text") or "" for side in ("old", "new"))),
        }
        for change in ordered[:_LISTED]
    ]
    flipped = sum(change["kind"] == "flipped" for change in ordered)
    return {"flipped": flipped, "total": len(ordered), "listed": listed}


def word_diff(old: str, new: str, *, limit: int = 2000) -> list[tuple[str, str]]:
    """Return pieces of two texts as (kind, words), with kind `same`, `old` or `new`."""
    parts = diff_words(old[:limit], new[:limit])
    pieces = [(_KINDS[sign], words) for sign, words in parts]
    if max(len(old), len(new)) > limit:
        pieces.append(("same", f" … cut at {limit:,} characters"))
    return pieces


_KINDS = {"=": "same", "-": "old", "+": "new"}
