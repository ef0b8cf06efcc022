"""Cooperation with allure-pytest: stable ids for cases, or none of its files for them.

Allure-pytest hashes parameter values into the history id, and writes two files for each item.
`install` corrects the ids through the hooks of allure-python-commons. If this plugin writes the
Allure results of cases itself, `install` suppresses those of allure-pytest instead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
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
    current = _Current(cases)
    config.pluginmanager.register(current, "tablebench-allure")
    if take_over:
        config.add_cleanup(_filter_loggers(current))
    else:
        corrector, manager = _Corrector(current), allure_commons.plugin_manager
        manager.register(corrector)
        config.add_cleanup(lambda: manager.unregister(corrector))


def _filter_loggers(current: _Current) -> Callable[[], None]:
    """Put a filter in front of each file logger; return a function that removes the filters."""
    manager = allure_commons.plugin_manager
    filters = []
    for logger in manager.get_plugins():
        if isinstance(logger, AllureFileLogger):
            filters.append(_CaseFilter(logger, current))
            manager.unregister(logger)
            manager.register(filters[-1])

    def restore() -> None:
        # Allure-pytest unregisters its logger after this, so the logger must be registered.
        for passing in filters:
            manager.unregister(passing)
            manager.register(passing.logger)

    return restore


class _Current:
    """The case that is running, if any."""

    def __init__(self, cases: Cases) -> None:
        self.benchmark_of = cases.runner.benchmark_of
        self._tests = cases.tests
        self.case: Case | None = None
        self.test = ""
        """The test's name if several tests use the dataset: each has its own result."""
        self.user_labels: set[str] = set()
        """The types of the labels that the test's author has set."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Set the case while allure-pytest's wrapper, inside this one, reports it."""
        self.case = case_of(item)
        if self.case is not None:
            several = len(self._tests.get(self.case.dataset, ())) > 1
            self.test = f"::{check_of(item)}" if several else ""
            marks = item.iter_markers("allure_label")
            self.user_labels = {str(mark.kwargs.get("label_type")) for mark in marks}
        try:
            return (yield)
        finally:
            self.case = None


class _Corrector:
    """Sets the ids and labels of cases as this plugin's own Allure writer does."""

    def __init__(self, current: _Current) -> None:
        self._current = current

    @allure_commons.hookimpl(tryfirst=True)
    def report_result(self, result: TestResult) -> None:
        """Correct a result before the file logger writes it."""
        case = self._current.case
        if case is None:
            return
        others = [parameter for parameter in result.parameters if parameter.name != "case"]
        telling = "".join(f"\n{p.name}={p.value}" for p in others if not p.excluded)
        name = case.case_id + self._current.test
        result.testCaseId = history_id(name)
        result.historyId = history_id(name + telling)
        result.parameters = [Parameter("case", case.case_id), *others]
        self._label(case, result)
        details = result.statusDetails
        if isinstance(details, StatusDetails):
            details.message = escaped(details.message or "") or None
            details.trace = escaped(details.trace or "") or None

    def _label(self, case: Case, result: TestResult) -> None:
        """Add this plugin's labels; keep labels set by the test, such as `allure.suite(...)`."""
        benchmark = self._current.benchmark_of(case.dataset)
        ours = case_labels(benchmark, case.dataset, case.serializer, case.perturbation)
        replaced = _SUITES - self._current.user_labels
        result.labels = [label for label in result.labels if label.name not in replaced]
        taken = {label.name for label in result.labels}
        result.labels += [Label(*label) for label in ours if label[0] not in taken]


class _CaseFilter:
    """Replaces a file logger, and forwards only what belongs to no case."""

    def __init__(self, logger: Any, current: _Current) -> None:
        self.logger = logger
        self._current = current

    @allure_commons.hookimpl
    def report_result(self, result: TestResult) -> None:
        """Write the result of another item."""
        if self._current.case is None:
            self.logger.report_result(result)

    @allure_commons.hookimpl
    def report_container(self, container: TestResultContainer) -> None:
        """Write the container of a fixture, unless only one case used it."""
        if self._current.case is None or len(container.children) > 1:
            self.logger.report_container(container)

    @allure_commons.hookimpl
    def report_attached_file(self, source: Any, file_name: str) -> None:
        """Copy a file that another item attached."""
        if self._current.case is None:
            self.logger.report_attached_file(source, file_name)

    @allure_commons.hookimpl
    def report_attached_data(self, body: Any, file_name: str) -> None:
        """Write text or bytes that another item attached."""
        if self._current.case is None:
            self.logger.report_attached_data(body, file_name)

    @allure_commons.hookimpl
    def report_globals(self, globals_item: Any) -> None:
        """Write results of the whole session."""
        self.logger.report_globals(globals_item)
