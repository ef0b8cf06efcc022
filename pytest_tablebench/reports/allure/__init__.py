"""Allure results of a run, for Allure 2 and 3: written from its records, once it has ended."""

from pytest_tablebench.reports.allure._write import (
    MODES,
    choose_mode,
    dataset_figures,
    write_allure,
)

__all__ = ["MODES", "choose_mode", "dataset_figures", "write_allure"]
