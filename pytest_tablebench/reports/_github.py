"""The summary of a run for a pull request: `summary.md`, and GitHub's page of a job."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import reasons_text, stored_text, table_of, unusable_text
from pytest_tablebench.documents.markdown import CUTS, STEP_SUMMARY_LIMIT, markdown_text
from pytest_tablebench.errors import writing
from pytest_tablebench.reports._same_question import setting_lines, setting_tables
from pytest_tablebench.reports.comparison import change_row
from pytest_tablebench.reports.gates import gate_table
from pytest_tablebench.reports.project import retirement_lines
from pytest_tablebench.reports.scores import (
    check_table,
    cluster_lines,
    corrected_blocks,
    further_lines,
    scopes,
    score_table,
)
from pytest_tablebench.reports.summary import reply_lines
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import are, counted, out_of

if TYPE_CHECKING:
    from pytest_tablebench.claims.compare import RunComparison, ScopeComparison
    from pytest_tablebench.claims.gates import GateResult

_CASES = 10
"""The number of cases listed of each kind; all are in the run folder."""


def summary_markdown(
    run: RunFacts,
    summary: Mapping[str, Any],
    gates: Sequence[GateResult] = (),
    *,
    comparison: RunComparison | None = None,
    snapshots: Mapping[str, str] | None = None,
    has_page: bool = False,
    elsewhere: bool = False,
) -> str:
    """Return the summary of one model's run as Markdown, within GitHub's limit.

    Arguments:
        run: the facts of the run.
        summary: the content of `summary.json`.
        gates: judged gates; without any there is no verdict.
        comparison: the comparison with the baseline.
        snapshots: by case id, the change of a stored answer.
        has_page: whether the run folder has a page, to which the summary leads.
        elsewhere: whether the summary is shown outside the run folder, as on GitHub's page of a
            job. Then it only names the page.
    """
    blocks: list[doc.Block] = [
        *_head(run, summary, gates),
        *(doc.Paragraph(line, "warning") for line in retirement_lines(run)),
        gate_table(gates),
        score_table(summary, "dataset", ", all"),
        *corrected_blocks(summary, run, ", all"),
        doc.Listing(_further(run, summary)),
        *setting_tables(summary["benchmarks"]),
        doc.Listing(setting_lines(summary)),
        check_table(summary),
        doc.Paragraph(_reasons(summary)),
        *map(doc.Paragraph, reply_lines(summary, run)),
        *_changes(comparison),
        *_snapshots(snapshots or {}),
    ]
    if has_page and elsewhere:
        location = " in the run folder (among this job's artifacts, if it keeps one)"
        blocks.append(doc.Paragraph(("Full report: ", doc.Code("report.html"), location)))
    elif has_page:
        blocks.append(doc.Paragraph(doc.Link("Full report", "report.html")))
    return markdown_text(blocks, limit=STEP_SUMMARY_LIMIT)


def _head(
    run: RunFacts, summary: Mapping[str, Any], gates: Sequence[GateResult]
) -> Iterator[doc.Block]:
    yield doc.Heading(("Table benchmark: ", doc.Code(run.model)))
    if gates:
        from pytest_tablebench.claims.gates import verdict_line

        states = {gate.state for gate in gates}
        order: tuple[doc.State, ...] = "fails", "undecided", "holds"
        worst = next(state for state in order if state in states)
        yield doc.Verdict(verdict_line(gates), worst)
        yield doc.Paragraph(stored_text(run))
    cases = sum(scope["n_cases"] for scope in summary["benchmarks"].values())
    paid, cost = run.calls_paid, run.cost_usd
    facts = [f", {counted(paid, 'call')} paid"] if paid is not None else []
    facts += [f", {run.store_hits:,} from the store"] if run.store_hits else []
    facts.append(", cost unknown" if cost is None else f", cost {cost:.2f} USD")
    compat = f"{counted(cases, 'case')}, compat ", doc.Code(str(run.compat))
    yield doc.Paragraph((*compat, *facts))
    yield doc.Paragraph(unusable_text(run), "warning")
    yield doc.Paragraph(run.selection_text or "")
    if not run.is_complete:
        planned = run.cases_planned
        done = counted(cases, "case") if planned is None else out_of(cases, planned, "case")
        if run.cases_saved:
            clause = f"{done} {'was' if cases == 1 else 'were'} asked"
            yield doc.Paragraph(f"{clause}: every gate was decided without the others.")
        else:
            text = f"The run was interrupted: {done} {are(cases)} recorded."
            yield doc.Paragraph(text, "warning")


def _further(run: RunFacts, summary: Mapping[str, Any]) -> list[str]:
    lines = cluster_lines(summary)
    for name, scope, whole, declared in scopes(summary, run):
        lines += further_lines(f"{name} (all)" if whole else name, scope, declared)
    return lines


def _reasons(summary: Mapping[str, Any]) -> str:
    counts: Counter[str] = Counter()
    for benchmark in summary["benchmarks"].values():
        for scope in benchmark["datasets"].values():
            counts.update(scope.get("reasons") or {})
    return reasons_text(counts)


def _changes(comparison: RunComparison | None) -> Iterator[doc.Block]:
    """Yield the table of differences from the baseline, and the flipped cases."""
    if comparison is None:
        return
    model = doc.Code(comparison.before.model)
    yield doc.Heading(("Performance against the baseline, ", model), 3)
    yield _change_table(comparison.scopes)
    if comparison.corrected:
        yield doc.Paragraph("By corrected gold:")
        yield _change_table(comparison.corrected)
    yield from (doc.Paragraph(doc.Code(remark, 600)) for remark in comparison.remarks)
    answers = comparison.answers
    yield doc.Paragraph(
        f"Answers: {answers.same_text:,} the same, {answers.other_text:,} with another text and "
        f"the same verdict, {answers.flipped:,} with another verdict."
    )
    yield from _cases("Right before, wrong now", comparison.worse)
    yield from _cases("Wrong before, right now", comparison.better)


def _change_table(scopes_compared: Sequence[ScopeComparison]) -> doc.TableBlock:
    rows = []
    for scope in scopes_compared:
        if scope.kind in {"benchmark", "dataset"}:
            whole = scope.kind == "benchmark"
            cells = change_row(scope, (doc.Code(scope.name), ", all" if whole else ""))
            rows.append(doc.TableRow(cells, "whole" if whole else ""))
    change = doc.Column("difference", "estimate", "signed")
    return table_of(("", "baseline", "this run", change, "p", "better", "worse"), rows)


def _snapshots(snapshots: Mapping[str, str]) -> Iterator[doc.Block]:
    if not snapshots:
        return
    kinds = Counter(snapshots.values()).most_common()
    counts = tuple(
        piece for kind, count in kinds for piece in (", ", doc.Code(kind, 60), f" {count:,}")
    )
    yield doc.Heading("Stored answers", 3)
    yield doc.Paragraph(counts[1:])
    flipped = [case for case, kind in snapshots.items() if "flip" in kind]
    yield from _cases("Verdict flipped", flipped)


def _cases(title: str, cases: Sequence[str]) -> Iterator[doc.Block]:
    """Yield a folded list of cases: their number and the first few."""
    if cases:
        items = doc.Listing([doc.Code(case, 200) for case in cases], _CASES)
        yield doc.Fold(f"{title}: {len(cases):,}", [items])


def write_summary(folder: Path, text: str, step_text: str) -> str | None:
    """Write `summary.md`, and append to the file that `$GITHUB_STEP_SUMMARY` names, if set.

    That file gets `step_text`, or a line that names the run folder if this exceeds GitHub's limit.
    Returns why the step summary could not be written, else None.
    Raises `SettingsError` if `summary.md` cannot be written.
    """
    file = folder / "summary.md"
    with writing(f"{file}: cannot be written"):
        write_whole(file, text)
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    if not named:
        return None
    target, text = Path(named), step_text
    try:
        taken = target.stat().st_size if target.exists() else 0
        if taken + len(text.encode("utf-8")) + 2 > STEP_SUMMARY_LIMIT:
            text = f"{CUTS[STEP_SUMMARY_LIMIT]}\n"
        if taken + len(text.encode("utf-8")) + 2 > STEP_SUMMARY_LIMIT:
            return f"{named} is full already"
        with target.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(("\n" if taken else "") + text)
    except OSError as error:
        return f"{named}: {error.strerror or error}"
    return None
