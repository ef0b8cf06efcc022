"""The values that the template shows above the cases of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.outliers import Outlier
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import (
    PAGE,
    left_out_lines,
    money,
    origins_text,
    percent,
    reasons_text,
    stored_text,
    unusable_text,
)
from pytest_tablebench.errors import DataError
from pytest_tablebench.papers.analyses import contrasts
from pytest_tablebench.papers.analyses.grid import read_scores
from pytest_tablebench.reports.snapshots import word_diff as diff_words
from pytest_tablebench.results import Record
from pytest_tablebench.results.folder import recorded_text
from pytest_tablebench.results.record import CUTS, UNCLEAR
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.score_columns import CELL
from pytest_tablebench.results.score_table import ScoreTable
from pytest_tablebench.results.sheets import sheets
from pytest_tablebench.util.names import are, counted, out_of, printable

if TYPE_CHECKING:
    from pytest_tablebench.claims.compare import RunComparison
    from pytest_tablebench.claims.gates import GateResult


def verdict(
    gates: Sequence[GateResult], run: RunFacts, records: Sequence[Record]
) -> dict[str, Any]:
    """Return `state` (holds, fails, undecided or none), headline, causes and lines below.

    A run without gates has no headline.
    """
    planned = run.cases_planned
    done = len(records)
    cut = not run.is_complete if planned is None else done < planned
    short = f"interrupted: {recorded_text(done, planned)}"
    note = short if cut else counted(done, "case")
    if cut and run.cases_saved:
        clause = f"{out_of(done, planned, 'case')} {'was' if done == 1 else 'were'} asked"
        note = f"{clause}: every gate was decided without the others"
    reasons = Counter(str(r.reason or "unknown") for r in records if r.outcome == "no_answer")
    texts = (reasons_text(reasons), unusable_text(run), stored_text(run))
    notes = [note, *filter(None, (*texts, run.selection_text, run.imported_text))]
    states = Counter(gate.state for gate in gates)
    total = len(gates)
    if not total and run.gates:
        # A run that was killed, or could not judge its gates, has only their texts.
        state, title = "undecided", f"Not judged: {counted(len(run.gates), 'gate')}"
    elif not total:
        state, title = "none", ""
    elif states["fails"]:
        state, title = "fails", f"Fails: {states['fails']} of {counted(total, 'gate')}"
    elif states["holds"] < total:
        undecided = f"{total - states['holds']} of {counted(total, 'gate')}"
        state, title = "undecided", f"Undecided: {undecided}"
    else:
        subject = "the gate" if total == 1 else f"all {total} gates"
        state, title = "holds", f"Passes: {subject} hold{'s' * (total == 1)}"
    deciding = [gate for gate in gates if state not in {"none", "holds"} and gate.state == state]
    causes = [
        "; ".join(filter(None, (f"{gate.gate}: {gate.reason or state}", gate.needs)))
        for gate in deciding[:3]
    ]
    if len(deciding) > len(causes):
        causes.append(f"and {len(deciding) - len(causes)} more below")
    return {"state": state, "title": title, "notes": notes, "sentences": causes}


def right_text(scope: Mapping[str, Any], records: Iterable[Record]) -> str:
    """Return the pass rate of a benchmark, what it is the mean of, and the number of right answers.

    Answers after a change of the table's meaning count only in a dataset without other answers.
    """
    datasets: dict[str, list[Record]] = {name: [] for name in scope["datasets"]}
    for record in records:
        if record.dataset in datasets and record.passed is not None:
            datasets[record.dataset].append(record)
    answers = [
        answer
        for same_dataset in datasets.values()
        for answer in [r for r in same_dataset if r.preserves_meaning] or same_dataset
    ]
    rate, right = scope["pass_rate"], sum(bool(answer.passed) for answer in answers)
    if rate is None or not answers:
        return "no answer is right or wrong"
    basis = ": "
    if len(datasets) > 1:
        basis = f", the mean of {counted(len(datasets), 'dataset')}; "
    elif abs(rate - right / len(answers)) > 1e-9:
        basis = ", the mean over examples; "
    counts = f"{out_of(right, len(answers), 'answer')} {are(right)} right"
    return f"pass rate {PAGE.percent(rate)}{basis}{counts}"


_OUTCOMES = (
    *(("right", "right"), ("wrong", "wrong"), ("no_answer", "no answer")),
    ("scored", "no verdict"),
)


def outcomes(records: Iterable[Record]) -> dict[str, Any]:
    """Return counts by outcome, by reason of missing answers, and by flag."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    flags: Counter[str] = Counter()
    for record in records:
        counts[record.outcome] += 1
        flags.update(map(str, record.flags))
        if record.outcome == "no_answer":
            reasons[str(record.reason or "unknown")] += 1
    total = sum(counts.values())
    return {
        "total": total,
        "rows": [
            {"outcome": name, "label": label, "n": counts[name], "share": counts[name] / total}
            for name, label in _OUTCOMES
            if total and (name != "scored" or counts[name])
        ],
        "reasons": reasons.most_common(),
        "flags": flags.most_common(),
    }


def range_blocks(table: ScoreTable) -> Iterator[doc.Block]:
    """Yield the ranges of examples, the win rates, and why some could not be drawn."""
    dataset_sheets = {name: sheet.meant for name, sheet in sheets(table.cells).items()}
    notes: list[str] = []
    if any(sheet.varied for sheet in dataset_sheets.values()):
        bands = {name: sheet.bands() for name, sheet in dataset_sheets.items()}
        title = "Range of each example over its configurations"
        yield doc.Chart("bands", title, {"ranges": bands})
    else:
        yield doc.Paragraph("No example was answered in more than one configuration.")
    yield from _win_rates(table, notes)
    yield from (doc.Paragraph(note, "hint") for note in notes)


def _win_rates(table: ScoreTable, notes: list[str]) -> Iterator[doc.Block]:
    try:
        # Only this analysis: all of them together take seconds.
        rates = contrasts.win_rates(read_scores(table))
    except DataError as error:
        notes.append(f"win rates: {error}")
        return
    for axis in ("serializer", "perturbation"):
        tree = rates[axis]
        overall = contrasts.overall_winners(tree) if "by_dataset" in tree else tree
        if overall["value"] is None:
            notes.append(f"No win rates of {axis}s: {_why(tree, overall)}.")
        else:
            by_name = {str(name): float(value) for name, value in overall["value"].items()}
            counts = [entry["n_used"] for entry in tree["by_dataset"].values() if entry["value"]]
            low, high = min(counts), max(counts)
            over = counted(low, "example") if low == high else f"{low} to {high} examples"
            each = " of each dataset" if len(counts) > 1 else ""
            yield doc.Chart("bars", f"Win rates of {axis}s, over {over}{each}", {"rates": by_name})
            if left_out := contrasts.winners_note(overall):
                notes.append(f"Win rates of {axis}s: {left_out}.")


def _why(tree: Mapping[str, Any], overall: Mapping[str, Any]) -> str:
    """Return why there is no win rate: the reasons of the datasets, if any."""
    reasons: dict[str, list[str]] = {}
    for name, entry in tree.get("by_dataset", {}).items():
        if entry.get("reason"):
            reasons.setdefault(str(entry["reason"]), []).append(str(name))
    parts = [f"{reason} ({', '.join(names)})" for reason, names in reasons.items()]
    return "; ".join(parts) or str(overall.get("reason"))


LISTED = 200
"""Flipped cases and changed answers the page lists above the explorer, which has all."""

LOWEST = 3
"""The number of lowest parts at the top of the page."""


def lowest(outliers: Sequence[Outlier]) -> list[dict[str, Any]]:
    """Return the parts that score lowest by more than chance, forms of a table first."""
    low = [part for part in outliers if part.value < part.whole]
    low.sort(key=lambda part: part.kind not in CELL)
    return [
        {**vars(part), "text": f"{part.kind}{' ' if part.kind in CELL else ' = '}{part.name}"}
        for part in low[:LOWEST]
    ]


def totals(
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
            "right": right_text(scope, records),
            "single": "one configuration" in scope["flags"],
            "before": before.get(name),
        }
        for name, scope in summary["benchmarks"].items()
    ]


def taken(run: RunFacts, records: Sequence[Record]) -> Iterator[str]:
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
    cost = "unknown" if run.cost_usd is None else money(run.cost_usd)
    calls = "? calls" if run.calls_paid is None else counted(run.calls_paid, "call")
    yield f"cost: {cost} ({calls}, {run.store_hits:,} from the store)"


def settings(run: RunFacts) -> list[tuple[str, str]]:
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


def data_notes(run: RunFacts) -> Iterator[str]:
    yield from left_out_lines(run)
    for name, problems in run.problems.items():
        if problems:
            yield f"{name}: {counted(len(problems), 'row')} could not be used; first: {problems[0]}"
        for note in run.notes(name):
            yield f"{name}: {note}"


def changes(snapshots: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    ordered = sorted(snapshots, key=lambda change: (change["kind"] != "flipped", change["case_id"]))
    listed = [
        {
            "id": change["case_id"],
            "flipped": change["kind"] == "flipped",
            "words": word_diff(*(change[side].get("text") or "" for side in ("old", "new"))),
        }
        for change in ordered[:LISTED]
    ]
    flipped = sum(change["kind"] == "flipped" for change in ordered)
    return {"flipped": flipped, "total": len(ordered), "listed": listed}


def word_diff(old: str, new: str, *, limit: int = 2000) -> list[tuple[str, str]]:
    """Return pieces of two texts as (kind, words), with kind `same`, `old` or `new`."""
    pieces: list[tuple[str, str]] = [*diff_words(old[:limit], new[:limit])]
    if max(len(old), len(new)) > limit:
        pieces.append(("same", f" … cut at {limit:,} characters"))
    return pieces
