"""Cooperation with allure-pytest: it writes no results of cases, since this plugin writes them."""

from __future__ import annotations

from collections.abc import Generator

import allure_commons
import pytest
from allure_commons.logger import AllureFileLogger
from allure_commons.model2 import TestResultContainer

from pytest_tablebench.hooks.items import case_of


class WithoutCases:
    """A plugin of pytest that replaces allure-pytest's file loggers while a case runs."""

    def __init__(self) -> None:
        plugins = allure_commons.plugin_manager.get_plugins()
        self._loggers = [plugin for plugin in plugins if isinstance(plugin, AllureFileLogger)]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Replace the loggers around allure-pytest's wrapper."""
        if case_of(item) is None:
            return (yield)
        manager = allure_commons.plugin_manager
        for logger in self._loggers:
            manager.unregister(logger)
        manager.register(self)
        try:
            return (yield)
        finally:
            manager.unregister(self)
            for logger in self._loggers:
                manager.register(logger)

    @allure_commons.hookimpl
    def report_container(self, container: TestResultContainer) -> None:
        """Write the container of a fixture that other items use too."""
        if len(container.children) > 1:
            for logger in self._loggers:
                logger.report_container(container)  # type: ignore[no-untyped-call]
