"""Pytest hooks around the run of each item."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from pytest_tablebench.hooks._escaping import escape_report
from pytest_tablebench.hooks.collection import is_ours
from pytest_tablebench.hooks.items import case_of
from pytest_tablebench.hooks.keys import CALLED, CASE_SESSION, RUN
from pytest_tablebench.session.pytest_modes import runs_no_test


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run no test with `--bench-plan`."""
    case_session = session.config.stash.get(CASE_SESSION, None)
    if case_session is None or not case_session.settings.plan:
        return None
    is_planned = "bench_plan" in case_session.settings.command_line_keys
    if case_session.is_used:
        cases = case_session.cases
        is_planned = is_planned or bool(cases.planned or cases.selection.missing)
    # `bench_plan` in a configuration file does not stop sessions without cases.
    return True if is_planned else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Record the end of the test: reports before it are subtests."""
    try:
        return (yield)
    finally:
        if RUN in item.stash:
            item.stash[CALLED] = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the message of the case on the report of its test."""
    if runs_no_test(item.config):
        return (yield)
    run = item.stash.get(RUN, None)
    if run is not None and call.excinfo is not None:
        from pytest_tablebench.hooks._outcomes import spare_traceback

        spare_traceback(item, run, call.excinfo.value)
    report = yield
    if run is not None:
        vars(item).pop("repr_failure", None)
    elif call.when == "setup" and not report.passed and is_ours(item):
        # Skipped, or an earlier fixture failed, so that the `case` fixture was not made.
        case = case_of(item)
        if case is not None:
            run = item.config.stash[CASE_SESSION].cases.runner.start(case)
        else:  # its data is missing
            report.tablebench_skipped = True  # type: ignore[attr-defined]
    if run is None:
        return report
    from pytest_tablebench.hooks._outcomes import FAILED_PARTS, annotate, annotate_part

    if call.when == "teardown":
        del item.stash[RUN]
        item.stash[CALLED], item.stash[FAILED_PARTS] = False, 0
    elif call.when == "call" and not item.stash.get(CALLED, False):
        annotate_part(item, call, report)
    else:
        annotate(item, run.as_used(), call, report)
    escape_report(report)
    return report
