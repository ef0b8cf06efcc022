"""The content of `summary.json` of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.summary._corrected import corrected_summary
from pytest_tablebench.claims.summary._scopes import summarize
from pytest_tablebench.claims.summary._spending import add_spending
from pytest_tablebench.config.axes import SAME_QUESTION
from pytest_tablebench.results.corrections import overlay_of
from pytest_tablebench.util.entries import mapping

if TYPE_CHECKING:
    from pytest_tablebench.results.labels import Label
    from pytest_tablebench.results.loaded_run import LoadedRun
    from pytest_tablebench.results.record import Record
    from pytest_tablebench.results.score_table import ScoreTable


def summary_of(run: LoadedRun) -> dict[str, Any]:
    """Return the summary of a loaded run, which is computed once."""
    return run.once(
        "summary", lambda: new_summary(run.run, run.scores, lambda: run.records, run.labels)
    )


def new_summary(
    facts: Mapping[str, Any],
    table: ScoreTable,
    records: Callable[[], Sequence[Record]],
    labels: Sequence[Label] = (),
) -> dict[str, Any]:
    """Return the figures of a run, with its spending and its judged means.

    `facts` is the content of `run.json`. `records` are read only for figures that need them.
    """
    summary = _figures(facts, table)
    add_spending(summary, records)
    if labels:
        # Runs without labels need neither.
        from pytest_tablebench.claims.calibration import summary_entry
        from pytest_tablebench.results.labelled_cases import labelled_cases

        summary["judged"] = summary_entry(labelled_cases(records(), labels))
    return summary


def _figures(run: Mapping[str, Any], table: ScoreTable) -> dict[str, Any]:
    """Return the figures of a run's records, with the cases that do not apply, by reason.

    A dataset without other missing cases is not flagged as incomplete. `run` is the content of
    `run.json`. If it names corrections, the entry `corrected` has the figures by the corrected
    gold (see `corrected_summary`).
    """
    names = ((axis.name, f"{axis.name}_margin") for axis in SAME_QUESTION)
    margins = {axis: float(run[name]) for axis, name in names if run.get(name) is not None}
    summary = _with_inapplicable(run, summarize(table, margins=margins))
    if overlay_of(run) is not None:
        summary["corrected"] = _with_inapplicable(run, corrected_summary(table))
    return summary | {name: run[name] for name in THINKING if run.get(name)}


def _with_inapplicable(run: Mapping[str, Any], summary: dict[str, Any]) -> dict[str, Any]:
    is_complete = run.get("cases_recorded") == run.get("cases_planned")
    for benchmark in summary["benchmarks"].values():
        for name, scope in benchmark["datasets"].items():
            counts = mapping(run, "by_dataset", name).get("does_not_apply")
            if counts:
                scope["does_not_apply"] = counts
                if is_complete and not scope["no_answer"]:
                    scope["flags"] = [flag for flag in scope["flags"] if flag != "incomplete"]
        if not any("incomplete" in scope["flags"] for scope in benchmark["datasets"].values()):
            benchmark["flags"] = [flag for flag in benchmark["flags"] if flag != "incomplete"]
    return summary


THINKING = ("thinking_tokens", "cases_extended")
"""The entries of `run.json` that `summary.json` repeats unless they are 0."""
