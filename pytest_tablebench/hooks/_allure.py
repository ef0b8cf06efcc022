"""Cooperation with allure-pytest: stable ids for cases, or none of its files for them.

Allure-pytest hashes parameter values into the history id, and writes two files for each item.
`install` corrects the ids through the hooks of allure-python-commons. If this plugin writes the
Allure results of cases itself, `install` suppresses those of allure-pytest instead.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import allure_commons
import pytest
from allure_commons.logger import AllureFileLogger
from allure_commons.model2 import Label, Parameter, StatusDetails, TestResult, TestResultContainer

from pytest_tablebench.datasets.case import Case
from pytest_tablebench.hooks.items import case_of, check_of
from pytest_tablebench.reports.allure import case_labels, history_id
from pytest_tablebench.util.names import escaped

if TYPE_CHECKING:
    from pytest_tablebench.session.cases import Cases

_SUITES = {"parentSuite", "suite", "subSuite"}


def install(config: pytest.Config, cases: Cases, *, take_over: bool) -> None:
    """Adjust the results that allure-pytest writes in this process; does nothing without it.

    Call it before the first item runs. `take_over` says whether this plugin writes the results of
    cases. Then allure-pytest writes other items only. Otherwise its results of cases get stable ids
    and labels.
    """
    if not config.pluginmanager.hasplugin("allure_listener"):
        return
    results, manager = _CaseResults(cases), allure_commons.plugin_manager
    config.pluginmanager.register(results, "tablebench-allure")
    loggers: dict[Any, Any] = {}
    if not take_over:
        manager.register(results)
    else:
        for logger in manager.get_plugins():
            if isinstance(logger, AllureFileLogger):
                loggers[logger] = _CaseFilter(logger, results)
                manager.unregister(logger)
                manager.register(loggers[logger])

    def restore() -> None:
        if not take_over:
            manager.unregister(results)
        for logger, passing in loggers.items():
            # Allure-pytest unregisters its logger after this, so the logger must be registered.
            manager.unregister(passing)
            manager.register(logger)

    config.add_cleanup(restore)


class _CaseResults:
    """Knows the case that is running, and corrects its result.

    The ids and labels are those of this plugin's own Allure writer.
    """

    def __init__(self, cases: Cases) -> None:
        self._benchmark_of = cases.runner.benchmark_of
        self._tests = cases.tests
        self.case: Case | None = None
        self._test = ""
        """The test's name if several tests use the dataset: each has its own result."""
        self._user_labels: set[str] = set()
        """The types of the labels that the test's author has set."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Set the case while allure-pytest's wrapper, inside this one, reports it."""
        self.case = case_of(item)
        if self.case is not None:
            several = len(self._tests.get(self.case.dataset, ())) > 1
            self._test = f"::{check_of(item)}" if several else ""
            marks = item.iter_markers("allure_label")
            self._user_labels = {str(mark.kwargs.get("label_type")) for mark in marks}
        try:
            return (yield)
        finally:
            self.case = None

    @allure_commons.hookimpl(tryfirst=True)
    def report_result(self, result: TestResult) -> None:
        """Correct a result before the file logger writes it."""
        case = self.case
        if case is None:
            return
        others = [parameter for parameter in result.parameters if parameter.name != "case"]
        telling = "".join(f"\n{p.name}={p.value}" for p in others if not p.excluded)
        name = case.case_id + self._test
        result.testCaseId = history_id(name)
        result.historyId = history_id(name + telling)
        result.parameters = [Parameter("case", case.case_id), *others]
        details = result.statusDetails
        if isinstance(details, StatusDetails):
            details.message = escaped(details.message or "") or None
            details.trace = escaped(details.trace or "") or None
        # Labels set by the test, such as `allure.suite(...)`, stay.
        place = case.dataset, case.serializer, case.perturbation
        ours = case_labels(self._benchmark_of(case.dataset), *place)
        replaced = _SUITES - self._user_labels
        result.labels = [label for label in result.labels if label.name not in replaced]
        taken = {label.name for label in result.labels}
        result.labels += [Label(*label) for label in ours if label[0] not in taken]


class _CaseFilter:
    """Replaces a file logger, and forwards only what belongs to no case."""

    def __init__(self, logger: Any, results: _CaseResults) -> None:
        self._logger = logger
        self._results = results

    @allure_commons.hookimpl
    def report_result(self, result: TestResult) -> None:
        """Write the result of another item."""
        if self._results.case is None:
            self._logger.report_result(result)

    @allure_commons.hookimpl
    def report_container(self, container: TestResultContainer) -> None:
        """Write the container of a fixture, unless only one case used it."""
        if self._results.case is None or len(container.children) > 1:
            self._logger.report_container(container)

    @allure_commons.hookimpl
    def report_attached_file(self, source: Any, file_name: str) -> None:
        """Copy a file that another item attached."""
        if self._results.case is None:
            self._logger.report_attached_file(source, file_name)

    @allure_commons.hookimpl
    def report_attached_data(self, body: Any, file_name: str) -> None:
        """Write text or bytes that another item attached."""
        if self._results.case is None:
            self._logger.report_attached_data(body, file_name)

    @allure_commons.hookimpl
    def report_globals(self, globals_item: Any) -> None:
        """Write results of the whole session."""
        self._logger.report_globals(globals_item)
