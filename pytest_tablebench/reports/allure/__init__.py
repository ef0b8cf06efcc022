"""Allure results of a run, for Allure 2 and 3: written from its records, once it has ended."""

from pytest_tablebench.reports.allure._facts import dataset_figures
from pytest_tablebench.reports.allure._shape import case_labels, history_id
from pytest_tablebench.reports.allure._write import (
    ALL_UP_TO,
    MODES,
    WRONG_UP_TO,
    Mode,
    choose_mode,
    write_allure,
)

__all__ = [
    "ALL_UP_TO",
    "MODES",
    "WRONG_UP_TO",
    "Mode",
    "case_labels",
    "choose_mode",
    "dataset_figures",
    "history_id",
    "write_allure",
]
