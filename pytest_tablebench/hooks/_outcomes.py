"""Turns the result of an item into the report of its case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import (
    MODEL_STOPPED,
    OUR_STOP,
    PENDING,
    STOPPED,
    ModelError,
    NotJudgedError,
    TableBenchError,
    TableError,
)
from pytest_tablebench.hooks.items import check_of, key_of
from pytest_tablebench.hooks.keys import CASE_SESSION
from pytest_tablebench.results.message import CaseMessage
from pytest_tablebench.running.answer import no_answer_text
from pytest_tablebench.running.assertions import WrongAnswer
from pytest_tablebench.running.case import CaseRun
from pytest_tablebench.util.names import printable, shortened

NO_VERDICT = "scored without a verdict: free text needs facts or a judge to be right or wrong"

FAILED_PARTS = pytest.StashKey[int]()
"""The number of an item's failed subtests."""


def spare_traceback(item: pytest.Item, run: CaseRun, error: BaseException) -> None:
    """Make pytest represent a wrong answer by its message alone.

    Otherwise pytest parses the sources of all frames for a traceback that is not shown, which takes
    milliseconds per wrong answer. Undo this after the report: a rerun may fail differently.
    """
    if isinstance(error, WrongAnswer) and run.answer is not None:
        item.repr_failure = lambda excinfo, style=None: str(error)  # type: ignore[method-assign]  # noqa: ARG005 - pytest's signature


def annotate_part(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    """Count a failed subtest, which fails its test and is no outcome by itself."""
    _set_text(call.excinfo.value if call.excinfo else None, None, report)
    report.tablebench_part = True  # type: ignore[attr-defined]
    if report.failed:
        item.stash[FAILED_PARTS] = item.stash.get(FAILED_PARTS, 0) + 1


def annotate(
    item: pytest.Item, run: CaseRun, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    """Put the message of the case and the text for users on a test's report."""
    session = item.config.stash[CASE_SESSION]
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, pytest.fail.Exception) and run.error is not None:
        error = run.error  # the cause of the failure in the `answer` fixture
    failed_parts = item.stash.get(FAILED_PARTS, 0)
    if call.when == "call" and failed_parts:
        item.stash[FAILED_PARTS] = 0
        if error is None and report.passed:
            # pytest does this when it counts, but our status letters prevent that.
            report.outcome = "failed"
            report.longrepr = f"contains {failed_parts} failed subtest{'s' * (failed_parts > 1)}"
    if call.when == "setup" and error is None:
        return
    stopped = session.cases.runner.prefetch.stopped
    if stopped is not None and not item.session.shouldstop:
        item.session.shouldstop = printable(f"{OUR_STOP}{redact(stopped)}")
    if isinstance(error, ModelError) and error.reason in {STOPPED, MODEL_STOPPED, PENDING}:
        # The case got no call, so this is no outcome of the model.
        why = "not called, because the run was stopped"
        if error.reason == MODEL_STOPPED:
            why = "not called, because its model is no longer called in this run"
        elif error.reason == PENDING:
            why = "its batch is pending"
            report.tablebench_pending = run.case.model  # type: ignore[attr-defined]
        _skip(item, report, why)
        if error.reason == MODEL_STOPPED and stopped is None:  # else the session reports why
            report.tablebench_given_up = run.case.model, str(error)  # type: ignore[attr-defined]
        return
    if _is_skip(report) and not run.has_result:
        try:
            run.skip()
        except TableError as inapplicable:
            error = inapplicable
    if isinstance(error, TableError) and not run.preserves_meaning:
        _leave_out(item, run, report, error)
        return
    failed, passed = report.failed, _passed(run, report, error)
    finding = run.finding(key_of(item), check_of(item), passed, failed=failed)
    if not report.skipped or hasattr(report, "wasxfail"):
        _set_text(error, run.error, report)
        report.tablebench_outcome = outcome = run.outcome(finding)  # type: ignore[attr-defined]
        if outcome == "scored" and report.passed:
            _skip(item, report, NO_VERDICT)
        if report.failed and isinstance(error, NotJudgedError) and error is run.error:
            report.when = "setup"  # an error, as other missing answers, not a failed test
    message = session.message(run, finding, run.error if run.is_skipped else error)
    if session.settings.snapshot_changes == "fail" and call.when == "call":
        message = _with_snapshot(item, report, message)
    report.tablebench = message  # type: ignore[attr-defined]
    if message.record is not None and getattr(item.config.option, "xmlpath", None):
        from pytest_tablebench.reports.junit import junit_properties, replace_properties

        # On the item, because pytest writes the properties from the teardown report.
        properties = junit_properties(message.record.record)
        replace_properties(item.user_properties, properties)


def _with_snapshot(
    item: pytest.Item, report: pytest.TestReport, message: CaseMessage
) -> CaseMessage:
    """Fail the test if the answer changed. The record keeps the score of the dataset's metric."""
    from pytest_tablebench.hooks._snapshots import snapshot_failure

    why = None if hasattr(report, "wasxfail") else snapshot_failure(item, message)
    if why is None:
        return message
    text = f"{report.longrepr}\n" if report.failed else ""
    if not text:  # only the change fails the test
        report.tablebench_changed = why.partition("\n")[0]  # type: ignore[attr-defined]
    report.outcome, report.longrepr = "failed", f"{text}{why}"
    return replace(message, finding=message.finding._replace(failed=True))


def _leave_out(
    item: pytest.Item, run: CaseRun, report: pytest.TestReport, error: TableError
) -> None:
    """Skip a case whose perturbation cannot make a new question from its table or question."""
    case = run.case
    name = case.perturbation.partition("[")[0]
    _skip(item, report, f"does not apply: {shortened(str(error), 300)}")
    report.tablebench_inapplicable = (  # type: ignore[attr-defined]
        *(case.model, case.dataset, case.case_id),
        f"{name} cannot change the question",
    )


def _skip(item: pytest.Item, report: pytest.TestReport, why: str) -> None:
    path, line, _ = item.location
    report.outcome = "skipped"
    report.longrepr = (path, line or 0, f"Skipped: {why}")


def _set_text(
    error: BaseException | None, no_answer: Exception | None, report: pytest.TestReport
) -> None:
    """Replace the traceback of a wrong or missing answer by a text."""
    if isinstance(error, WrongAnswer):
        report.longrepr = str(error)
    elif error is not None and error is no_answer and isinstance(error, TableBenchError):
        report.longrepr = no_answer_text(error)


def _passed(run: CaseRun, report: pytest.TestReport, error: BaseException | None) -> bool | None:
    """Return whether a test passed; None if it was skipped, or stopped by the case's error.

    Any exception of a test with an answer counts against the answer.
    """
    if report.failed and str(report.longrepr).startswith("[XPASS(strict)]"):
        return True  # the test was expected to fail
    if _is_skip(report) or (error is not None and error is run.error):
        return None
    return error is None and not report.failed


def _is_skip(report: pytest.TestReport) -> bool:
    """Whether the test skipped itself or was skipped; an xfail counts only in setup."""
    return report.skipped and (not hasattr(report, "wasxfail") or report.when == "setup")
