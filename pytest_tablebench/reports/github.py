"""The summary of a run for a pull request, in Markdown with all texts of models escaped."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pytest_tablebench.claims.summary import informative_checks
from pytest_tablebench.documents.formats import (
    interval,
    number,
    percent,
    reasons_text,
    signed,
    stored_text,
    unusable_text,
)
from pytest_tablebench.errors import writing
from pytest_tablebench.reports.cheapest_text import setting_lines, setting_tables
from pytest_tablebench.reports.corrected_text import (
    CORRECTED_COLUMNS,
    corrected_line,
    corrected_row,
    corrected_scopes,
)
from pytest_tablebench.reports.cut_text import reply_lines
from pytest_tablebench.reports.further_text import (
    COLUMNS,
    cluster_lines,
    further_lines,
    scope_row,
    scopes,
)
from pytest_tablebench.reports.retirement_text import retirement_lines
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.markdown import code
from pytest_tablebench.util.names import are, counted, out_of, printable

if TYPE_CHECKING:
    from pytest_tablebench.claims.compare import RunComparison, ScopeComparison
    from pytest_tablebench.claims.gates import GateResult

__all__ = ["STEP_SUMMARY_LIMIT", "code", "summary_markdown", "write_summary"]

STEP_SUMMARY_LIMIT = 1024 * 1024
"""Largest size in bytes of a step's summary; GitHub does not show a larger one
(docs.github.com, "Workflow commands for GitHub Actions", step isolation and limits)."""

SHOWN = 10
"""The number of cases listed of each kind; all are in the run folder."""

_ROWS = 500
_ICONS = {"holds": "✅", "fails": "❌", "undecided": "❔"}

_GATES = ("gate", "state", "estimate", "interval", "bound", "examples", "why")
_CHECKS = ("test", "pass rate", "95 % interval", "failed", "cases", "no verdict")
_CHANGES = ("", "baseline", "this run", "difference", "95 % interval", "p", "better", "worse")


def summary_markdown(
    run: RunFacts,
    summary: Mapping[str, Any],
    gates: Sequence[GateResult] = (),
    *,
    comparison: RunComparison | None = None,
    snapshots: Mapping[str, str] | None = None,
    report_link: str | None = None,
    elsewhere: bool = False,
    today: date | None = None,
) -> str:
    """Return the summary of one model's run as Markdown, within GitHub's limit.

    Arguments:
        run: the facts of the run.
        summary: the content of `summary.json`.
        gates: judged gates; without any there is no verdict.
        comparison: the comparison with the baseline.
        snapshots: by case id, the change of a stored answer.
        report_link: the full report: an http(s) address or a relative path.
        elsewhere: whether the summary is shown outside the run folder, as on GitHub's page of a
            job. A relative path then becomes a hint, since it would lead nowhere.
        today: by default the current day; a model that retires soon has a line.
    """
    blocks = [
        _head(run, summary, gates),
        [f"⚠️ {code(line)}" for line in retirement_lines(run, today)],
        _gate_table(gates),
        _dataset_table(summary),
        _corrected_table(summary),
        [code(line, 600)] if (line := corrected_line(summary, run)) else [],
        _further(run, summary),
        _settings(summary),
        _check_table(summary),
        _reasons(summary),
        *([line] for line in reply_lines(summary, run)),
        *_changes(comparison),
        *_snapshots(snapshots or {}),
        _link(report_link, elsewhere=elsewhere),
    ]
    return _fitted((block for block in blocks if block), STEP_SUMMARY_LIMIT)


def _head(run: RunFacts, summary: Mapping[str, Any], gates: Sequence[GateResult]) -> list[str]:
    lines = [f"## Table benchmark: {code(run.model)}", ""]
    if gates:
        from pytest_tablebench.claims.gates import verdict_line

        states = {gate.state for gate in gates}
        worst = next(state for state in ("fails", "undecided", "holds") if state in states)
        lines += [f"{_ICONS[worst]} **{verdict_line(gates)}**", ""]
        lines += [code(text, 600), ""] if (text := stored_text(run)) else []
    cases = sum(scope["n_cases"] for scope in summary["benchmarks"].values())
    facts = [counted(cases, "case"), f"compat {code(str(run.compat))}"]
    paid = run.calls_paid
    facts += [f"{counted(paid, 'call')} paid"] if paid is not None else []
    facts += [f"{run.store_hits:,} from the store"] if run.store_hits else []
    cost = run.cost_usd
    facts.append("cost unknown" if cost is None else f"cost {cost:.2f} USD")
    lines.append(", ".join(facts))
    lines += ["", f"⚠️ {code(text, 600)}"] if (text := unusable_text(run)) else []
    selection = run.selection_text
    lines += ["", code(selection, 300)] if selection else []
    if not run.is_complete:
        planned = run.cases_planned
        done = counted(cases, "case") if planned is None else out_of(cases, planned, "case")
        if run.cases_saved:
            clause = f"{done} {'was' if cases == 1 else 'were'} asked"
            return [*lines, "", f"{clause}: every gate was decided without the others."]
        lines += ["", f"⚠️ The run was interrupted: {done} {are(cases)} recorded."]
    return lines


def _gate_table(gates: Sequence[GateResult]) -> list[str]:
    rows = [
        (
            code(gate.gate),
            f"{_ICONS[gate.state]} {gate.state}",
            number(gate.value),
            interval(gate.interval or gate.clopper_pearson),
            number(gate.bound),
            str(gate.examples) if gate.n_cases is None else counted(gate.n_cases, "case"),
            "<br>".join(code(text, 600) for text in (gate.reason, gate.needs) if text),
        )
        for gate in gates
    ]
    return _table(_GATES, rows)


def _dataset_table(summary: Mapping[str, Any]) -> list[str]:
    scopes = []
    for name, benchmark in summary["benchmarks"].items():
        datasets = benchmark["datasets"]
        scopes += [(code(dataset), scope) for dataset, scope in datasets.items()]
        if list(datasets) != [name]:
            scopes.append((f"**{code(name)}, all**", benchmark))
    rows = [scope_row(name, scope, flag="\\*", count="{:,}") for name, scope in scopes]
    return _table(("dataset", *COLUMNS[1:]), rows)


def _corrected_table(summary: Mapping[str, Any]) -> list[str]:
    rows = [
        corrected_row(f"**{code(name)}, all**" if is_whole else code(name), scope, published)
        for name, is_whole, scope, published in corrected_scopes(summary)
    ]
    return _table(CORRECTED_COLUMNS, rows)


def _further(run: RunFacts, summary: Mapping[str, Any]) -> list[str]:
    lines = cluster_lines(summary)
    for name, scope, whole, declared in scopes(summary, run):
        shown = printable(name, 60)
        lines += further_lines(f"{shown} (all)" if whole else shown, scope, declared)
    return [f"- {code(line, 400)}" for line in lines]


def _check_table(summary: Mapping[str, Any]) -> list[str]:
    rows = [
        (
            code(f"{dataset}::{name}"),
            percent(check["pass_rate"]),
            interval(check["ci95"]),
            f"{check['failed']:,}",
            f"{check['n_cases']:,}",
            f"{check['untold']:,}",
        )
        for benchmark in summary["benchmarks"].values()
        for dataset, scope in benchmark["datasets"].items()
        for name, check in informative_checks(scope).items()
    ]
    return _table(_CHECKS, rows)


def _settings(summary: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for table in setting_tables(summary["benchmarks"]):
        rows = [(code(name), *cells) for name, *cells in table.rows]
        title = f"{code(table.benchmark)} by {table.axis.name}"
        lines += _table((title, *table.columns[1:]), rows)
    sentences = [f"- {code(line, 400)}" for line in setting_lines(summary)]
    return [*lines, "", *sentences] if sentences else lines


def _reasons(summary: Mapping[str, Any]) -> list[str]:
    counts: Counter[str] = Counter()
    for benchmark in summary["benchmarks"].values():
        for scope in benchmark["datasets"].values():
            counts.update(scope.get("reasons") or {})
    return [code(text, 1500)] if (text := reasons_text(counts)) else []


def _changes(comparison: RunComparison | None) -> list[list[str]]:
    """Return the table of differences from the baseline, and the flipped cases."""
    if comparison is None:
        return []
    title = f"### Performance against the baseline, {code(comparison.before.model)}"
    notes = [code(remark, 600) for remark in comparison.remarks]
    answers = comparison.answers
    notes.append(
        f"Answers: {answers.same_text:,} the same, {answers.other_text:,} with another text and "
        f"the same verdict, {answers.flipped:,} with another verdict."
    )
    return [
        [title, "", *_change_table(comparison.scopes)],
        ["By corrected gold:", "", *_change_table(comparison.corrected)]
        if comparison.corrected
        else [],
        *([note] for note in notes),
        _listing("Right before, wrong now", comparison.worse),
        _listing("Wrong before, right now", comparison.better),
    ]


def _change_table(scopes: Iterable[ScopeComparison]) -> list[str]:
    rows = [
        (
            f"**{code(scope.name)}, all**" if scope.kind == "benchmark" else code(scope.name),
            number(difference.before),
            number(difference.after),
            signed(difference.value),
            interval(difference.interval),
            number(difference.p),
            f"{scope.better:,}",
            f"{scope.worse:,}",
        )
        for scope in scopes
        if scope.kind in {"benchmark", "dataset"}
        for difference in [scope.measures["performance"]]
    ]
    return _table(_CHANGES, rows)


def _snapshots(snapshots: Mapping[str, str]) -> list[list[str]]:
    if not snapshots:
        return []
    kinds = Counter(snapshots.values())
    counts = ", ".join(f"{code(kind, 60)} {count:,}" for kind, count in kinds.most_common())
    flipped = [case for case, kind in snapshots.items() if "flip" in kind]
    return [["### Stored answers", "", counts], _listing("Verdict flipped", flipped)]


def _listing(title: str, cases: Sequence[str]) -> list[str]:
    """Return a folded list of cases: their number and the first few."""
    if not cases:
        return []
    lines = [f"<details><summary>{title}: {len(cases):,}</summary>", ""]
    lines += [f"- {code(case, 200)}" for case in cases[:SHOWN]]
    if len(cases) > SHOWN:
        lines.append(f"- and {len(cases) - SHOWN:,} more")
    return [*lines, "", "</details>"]


def _link(address: str | None, *, elsewhere: bool) -> list[str]:
    if not address:
        return []
    scheme, colon, rest = address.partition(":")
    if elsewhere and not colon:
        place = "the run folder (among this job's artifacts, if it keeps one)"
        return [f"Full report: {code(address, 300)} in {place}"]
    if colon and (scheme.lower() not in {"http", "https"} or not rest.startswith("//")):
        return [f"Full report: {code(address, 300)}"]
    return [f"[Full report]({quote(address, safe='/:?&=%~+,;@-._', errors='replace')})"]


def _table(header: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    numbers = ["---", *["---:"] * (len(header) - 1)]
    lines = [_line(header), _line(numbers), *(_line(row) for row in rows[:_ROWS])]
    if len(rows) > _ROWS:
        lines += ["", f"and {counted(len(rows) - _ROWS, 'row')} more"]
    return lines


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


_CUT = "_Cut here: GitHub shows 1 MiB of a summary. The whole summary is in the run folder._"


def _fitted(blocks: Iterable[list[str]], limit: int) -> str:
    """Join blocks by empty lines; a note replaces the blocks that do not fit."""
    text, room = "", limit - len(_CUT) - 2
    for block in blocks:
        part = "\n".join(block) + "\n"
        size = len(part.encode("utf-8")) + 1
        if size > room:
            return f"{text}\n{_CUT}\n" if text else f"{_CUT}\n"
        text += f"\n{part}" if text else part
        room -= size
    return text


def write_summary(
    folder: Path,
    text: str,
    environ: Mapping[str, str] | None = None,
    *,
    step_text: str | None = None,
) -> str | None:
    """Write `summary.md`, and append to the file that `$GITHUB_STEP_SUMMARY` names, if set.

    `step_text` replaces the text for that file. If it exceeds GitHub's limit, a line that names the
    run folder is written instead. Returns why the step summary could not be written, else None.
    Raises `SettingsError` if `summary.md` cannot be written.
    """
    file = folder / "summary.md"
    with writing(f"{file}: cannot be written"):
        write_whole(file, text)
    named = (os.environ if environ is None else environ).get("GITHUB_STEP_SUMMARY")
    if not named:
        return None
    target = Path(named)
    text = text if step_text is None else step_text
    try:
        taken = target.stat().st_size if target.exists() else 0
        if taken + len(text.encode("utf-8")) + 2 > STEP_SUMMARY_LIMIT:
            text = f"{_CUT}\n"
        if taken + len(text.encode("utf-8")) + 2 > STEP_SUMMARY_LIMIT:
            return f"{named} is full already"
        with target.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(("\n" if taken else "") + text)
    except OSError as error:
        return f"{named}: {error.strerror or error}"
    return None
