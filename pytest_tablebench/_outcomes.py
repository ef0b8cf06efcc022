"""From what happened to an item to what is reported of its case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_tablebench._items import REPEATED
from pytest_tablebench._secrets import redact
from pytest_tablebench.assertions import WrongAnswer
from pytest_tablebench.cases import Case
from pytest_tablebench.errors import (
    MODEL_STOPPED,
    OUR_STOP,
    STOPPED,
    ModelError,
    TableBenchError,
)
from pytest_tablebench.names import printable
from pytest_tablebench.runner import CaseRun, Runner, no_answer_text

if TYPE_CHECKING:
    from pytest_tablebench.results import Outcome
    from pytest_tablebench.session import Session

__all__ = ["annotate", "never_asked", "spare_traceback"]


def never_asked(item: pytest.Function, runner: Runner) -> CaseRun | None:
    """Return the case of a test whose other fixtures failed before `case` was made."""
    param = item.callspec.params.get("case")
    return runner.start(param) if isinstance(param, Case) else None


def spare_traceback(item: pytest.Item, run: CaseRun, error: BaseException) -> None:
    """Have a wrong answer reported by its own three lines.

    Pytest would read and parse the sources of all frames for a traceback that nobody is shown:
    some milliseconds for each wrong answer, more than all else that happens to it.
    """
    if isinstance(error, WrongAnswer) and run.answer is not None:
        item.repr_failure = lambda excinfo, style=None: str(error)  # type: ignore[method-assign]  # noqa: ARG005 - pytest's signature


def annotate(
    item: pytest.Item,
    run: CaseRun,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
    state: Session,
) -> None:
    """Put a case's record on the report that decides its outcome, and what a person is to read.

    Where an earlier test has the same case, that one makes the record.
    """
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, pytest.fail.Exception) and run.error is not None and run.answer is None:
        error = run.error  # what the `answer` fixture failed for
    expected_failure = hasattr(report, "wasxfail")
    if report.skipped and not expected_failure:
        report.tablebench_skipped = True  # type: ignore[attr-defined]
        return
    if call.when == "setup" and error is None:
        return
    if isinstance(error, WrongAnswer):
        report.longrepr = str(error)
    elif error is not None and error is run.error and isinstance(error, TableBenchError):
        report.longrepr = no_answer_text(error)
    outcome: Outcome
    if run.answer is not None and error is None:
        outcome = "right"
    elif run.answer is not None and call.when == "call" and isinstance(error, AssertionError):
        outcome = "wrong"
    else:
        outcome = "no_answer"
    stopped = state.require_runner().talks.stopped
    if stopped is not None and not item.session.shouldstop:
        item.session.shouldstop = f"{OUR_STOP}{printable(redact(stopped))}"
    if isinstance(error, ModelError) and error.reason in {STOPPED, MODEL_STOPPED}:
        # It was never asked: that is no outcome of the model's.
        report.outcome = "skipped"
        path, line, _ = item.location
        why = "not asked, because the run was stopped"
        if error.reason == MODEL_STOPPED:
            why = "the model was given up before it answered"
        report.longrepr = (path, line or 0, f"Skipped: {why}")
        if error.reason == MODEL_STOPPED and stopped is None:  # else the session says why
            report.tablebench_given_up = run.case.model, str(error)  # type: ignore[attr-defined]
        return
    report.tablebench_outcome = outcome  # type: ignore[attr-defined]
    payload = state.payload(run, outcome, error)
    payload["recorded"] = not item.stash.get(REPEATED, False)
    report.tablebench = payload  # type: ignore[attr-defined]
    if getattr(item.config.option, "xmlpath", None):
        from pytest_tablebench.reports.junit import junit_properties
        from pytest_tablebench.results import Record

        # On the item: pytest writes what the report of the tear-down holds.
        item.user_properties.extend(junit_properties(Record.from_line(payload["record"])))
