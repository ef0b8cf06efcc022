"""From what happened to an item to what is reported of its case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import (
    MODEL_STOPPED,
    OUR_STOP,
    PENDING,
    STOPPED,
    MetricError,
    ModelError,
    TableBenchError,
    TableError,
)
from pytest_tablebench.hooks.items import case_of, check_of, key_of
from pytest_tablebench.results.checks import Finding
from pytest_tablebench.running.assertions import WrongAnswer
from pytest_tablebench.running.case_run import CaseRun, no_answer_text
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.results import Outcome
    from pytest_tablebench.results.message import CaseMessage
    from pytest_tablebench.session.alone import Alone
    from pytest_tablebench.session.worker import Worker

NO_VERDICT = "it has a score and no verdict: free text is right or wrong by facts or a judge"

FAILED_PARTS = pytest.StashKey[int]()
"""How many of an item's subtests failed."""


def never_asked(item: pytest.Item, runner: Runner) -> CaseRun | None:
    """Return the case of a test that ended before `case` was made: skipped, or a broken fixture."""
    case = case_of(item)
    return None if case is None else runner.start(case)


def spare_traceback(item: pytest.Item, run: CaseRun, error: BaseException) -> None:
    """Have a wrong answer reported by its own three lines.

    Pytest would read and parse the sources of all frames for a traceback that nobody is shown:
    some milliseconds for each wrong answer, more than all else that happens to it. To be taken
    back when the report is made: the item may run again, and fail otherwise.
    """
    if isinstance(error, WrongAnswer) and run.answer is not None:
        item.repr_failure = lambda excinfo, style=None: str(error)  # type: ignore[method-assign]  # noqa: ARG005 - pytest's signature


def annotate_part(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    """Note what a subtest found: it is no outcome by itself, its test fails with it."""
    _word(call.excinfo.value if call.excinfo else None, None, report)
    report.tablebench_part = True  # type: ignore[attr-defined]
    if report.failed:
        item.stash[FAILED_PARTS] = item.stash.get(FAILED_PARTS, 0) + 1


def annotate(
    item: pytest.Item,
    run: CaseRun,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
    session: Alone | Worker,
) -> None:
    """Put what a test found of its case on the report that tells it, and what people read."""
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, pytest.fail.Exception) and run.error is not None:
        error = run.error  # what the `answer` fixture failed for
    failed_parts = item.stash.get(FAILED_PARTS, 0)
    if call.when == "call" and failed_parts:
        item.stash[FAILED_PARTS] = 0
        if error is None and report.passed:
            # As pytest does when it counts, which letters of ours would prevent.
            report.outcome = "failed"
            report.longrepr = f"contains {failed_parts} failed subtest{'s' * (failed_parts > 1)}"
    if call.when == "setup" and error is None:
        return
    stopped = session.cases.runner.prefetch.stopped
    if stopped is not None and not item.session.shouldstop:
        item.session.shouldstop = f"{OUR_STOP}{printable(redact(stopped))}"
    if isinstance(error, ModelError) and error.reason in {STOPPED, MODEL_STOPPED, PENDING}:
        # It was never asked: that is no outcome of the model's.
        report.outcome = "skipped"
        path, line, _ = item.location
        why = "not asked, because the run was stopped"
        if error.reason == MODEL_STOPPED:
            why = "the model was given up before it answered"
        elif error.reason == PENDING:
            why = "its batch is not answered yet"
            report.tablebench_pending = run.case.model  # type: ignore[attr-defined]
        report.longrepr = (path, line or 0, f"Skipped: {why}")
        if error.reason == MODEL_STOPPED and stopped is None:  # else the session says why
            report.tablebench_given_up = run.case.model, str(error)  # type: ignore[attr-defined]
        return
    if isinstance(error, TableError) and not run.preserves_meaning:
        _leave_out(item, run, report, error)
        return
    finding = _finding(item, run, report, error, session.cases.item_prefix)
    if not report.skipped or hasattr(report, "wasxfail"):
        _word(error, run.error, report)
        report.tablebench_outcome = outcome = _outcome(run, finding)  # type: ignore[attr-defined]
        if outcome == "scored" and report.passed:
            path, line, _ = item.location
            report.outcome = "skipped"
            report.longrepr = (path, line or 0, f"Skipped: {NO_VERDICT}")
    message = session.message(run, finding, error)
    if session.settings.snapshot_changes == "fail" and call.when == "call":
        message = _with_snapshot(item, report, message)
    report.tablebench = message  # type: ignore[attr-defined]
    if message.record is not None and getattr(item.config.option, "xmlpath", None):
        from pytest_tablebench.reports.junit import junit_properties, replace_properties

        # On the item: pytest writes what the report of the tear-down holds.
        properties = junit_properties(message.record.record)
        replace_properties(item.user_properties, properties)


def _with_snapshot(
    item: pytest.Item, report: pytest.TestReport, message: CaseMessage
) -> CaseMessage:
    """Fail the test of a changed answer, whose record stays as the dataset's metric has it."""
    from pytest_tablebench.hooks.snapshot_checks import check_snapshot

    why = None if hasattr(report, "wasxfail") else check_snapshot(item, message)
    if why is None:
        return message
    text = f"{report.longrepr}\n" if report.failed else ""
    report.outcome, report.longrepr = "failed", f"{text}{why}"
    return replace(message, finding=message.finding._replace(failed=True))


def _leave_out(
    item: pytest.Item, run: CaseRun, report: pytest.TestReport, error: TableError
) -> None:
    """Skip a case to which its perturbation does not apply, as its table or question tells.

    A perturbation that changes the meaning asks another question; where it cannot make one, there
    is none without an answer.
    """
    case = run.case
    name = case.perturbation.partition("[")[0]
    report.outcome = "skipped"
    path, line, _ = item.location
    report.longrepr = (path, line or 0, f"Skipped: does not apply: {printable(str(error), 300)}")
    why = f"{name} cannot change the question"
    report.tablebench_inapplicable = (  # type: ignore[attr-defined]
        *(case.model, case.dataset, case.case_id),
        why,
    )


def _word(
    error: BaseException | None, no_answer: Exception | None, report: pytest.TestReport
) -> None:
    """Have the report say what people are to read, in place of a traceback."""
    if isinstance(error, WrongAnswer):
        report.longrepr = str(error)
    elif error is not None and error is no_answer and isinstance(error, TableBenchError):
        report.longrepr = no_answer_text(error)


def _finding(
    item: pytest.Item,
    run: CaseRun,
    report: pytest.TestReport,
    error: BaseException | None,
    worker: str,
) -> Finding:
    """Return what an item found of its case, by what became of it.

    Whatever its test raises once there is an answer, the answer did not stand the test.
    """
    passed: bool | None = error is None and not report.failed
    if report.failed and str(report.longrepr).startswith("[XPASS(strict)]"):
        passed = True  # it was expected to fail
    elif _is_skip(report) or (error is not None and error is run.error):
        passed = None
    passed = None if passed and run.answered and not run.has_verdict else passed
    no_fault = run.error is not None and not isinstance(run.error, MetricError)
    return Finding(
        key_of(item, worker),
        check_of(item),
        passed,
        report.failed,
        broken=report.failed and not run.answered and not no_fault,
    )


def _is_skip(report: pytest.TestReport) -> bool:
    """Whether the test was not run to its end, or not at all, on purpose."""
    return report.skipped and (not hasattr(report, "wasxfail") or report.when == "setup")


def _outcome(run: CaseRun, finding: Finding) -> Outcome:
    """Return how a test's end is shown."""
    if run.answered and not run.has_verdict and finding.passed is not False:
        return "scored"
    if finding.passed is None or not run.answered:
        return "no_answer"
    return "right" if finding.passed else "wrong"
