"""Allure-pytest beside us: right ids for our cases, or none of its files where we write our own.

Allure-pytest hashes the values of an item's parameters into the history id and writes two files
for each item. `install` corrects the first through the hooks of allure-python-commons, and
prevents the second where `--bench-allure` writes results in a size of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import allure_commons
import pytest
from allure_commons.logger import AllureFileLogger
from allure_commons.model2 import Label, Parameter, StatusDetails, TestResult, TestResultContainer

from pytest_tablebench.datasets.case import Case
from pytest_tablebench.hooks.items import case_of, check_of
from pytest_tablebench.reports.allure import case_labels, history_id
from pytest_tablebench.util.names import escaped

_SUITES = {"parentSuite", "suite", "subSuite"}


def install(
    config: pytest.Config,
    *,
    benchmark_of: Callable[[str], str],
    tests: Mapping[str, Sequence[str]],
    take_over: bool,
) -> bool:
    """Attend to the results allure-pytest writes in this process; False where it writes none.

    Arguments:
        config: of a process that runs items (alone or xdist worker), before the first one.
        benchmark_of: the benchmark of a dataset, by its name.
        tests: the names of the tests over each dataset.
        take_over: whether our own writer writes the cases: then allure-pytest writes the other
            items only. Otherwise its results of our cases get their ids and labels.
    """
    if not config.pluginmanager.hasplugin("allure_listener"):
        return False
    current = _Current(benchmark_of, tests)
    config.pluginmanager.register(current, "tablebench-allure")
    config.add_cleanup(_filter_loggers(current) if take_over else _correct_results(current))
    return True


def _correct_results(current: _Current) -> Callable[[], None]:
    corrector = _Corrector(current)
    allure_commons.plugin_manager.register(corrector)

    def remove() -> None:
        allure_commons.plugin_manager.unregister(corrector)

    return remove


def _filter_loggers(current: _Current) -> Callable[[], None]:
    """Put a filter in front of each file logger; the returned function takes it off again."""
    manager = allure_commons.plugin_manager
    filters = []
    for logger in manager.get_plugins():
        if isinstance(logger, AllureFileLogger):
            filters.append(_CaseFilter(logger, current))
            manager.unregister(logger)
            manager.register(filters[-1])

    def restore() -> None:
        # Allure-pytest unregisters its own logger behind this; it must be there.
        for passing in filters:
            manager.unregister(passing)
            manager.register(passing.logger)

    return restore


class _Current:
    """Knows which case of ours is running, if one is."""

    def __init__(
        self, benchmark_of: Callable[[str], str], tests: Mapping[str, Sequence[str]]
    ) -> None:
        self.benchmark_of = benchmark_of
        self._tests = tests
        self.case: Case | None = None
        self.test = ""
        """The test's name, where several are about the case: each has a result of its own."""
        self.own_labels: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Hold the case while allure-pytest's own wrapper, inside this one, reports it."""
        self.case = case_of(item)
        if self.case is not None:
            several = len(self._tests.get(self.case.dataset, ())) > 1
            self.test = f"::{check_of(item)}" if several else ""
            marks = item.iter_markers("allure_label")
            self.own_labels = {str(mark.kwargs.get("label_type")) for mark in marks}
        try:
            return (yield)
        finally:
            self.case = None


class _Corrector:
    """Gives results of our cases the ids and labels that our own writer gives them."""

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
        """Add our labels; what the test's author set with `allure.suite(...)` and such stays."""
        benchmark = self._current.benchmark_of(case.dataset)
        ours = case_labels(benchmark, case.dataset, case.serializer, case.perturbation)
        replaced = _SUITES - self._current.own_labels
        result.labels = [label for label in result.labels if label.name not in replaced]
        taken = {label.name for label in result.labels}
        result.labels += [Label(*label) for label in ours if label[0] not in taken]


class _CaseFilter:
    """Stands for a file logger and passes on what does not belong to a case of ours."""

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
        """Write the container of a fixture, unless one case of ours alone used it."""
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
        """Write what belongs to the session as a whole."""
        self.logger.report_globals(globals_item)
