"""Every option of the plugin, declared once."""

from pytest_tablebench.config.options._calls import CALLS
from pytest_tablebench.config.options._option import Differs, Kind, Option, Verdict
from pytest_tablebench.config.options._results import RESULTS
from pytest_tablebench.config.options._selection import DEFAULT_MODEL, MODALITIES, SELECTION

__all__ = ["DEFAULT_MODEL", "MODALITIES", "OPTIONS", "Differs", "Kind", "Option", "Verdict"]

OPTIONS = (*SELECTION, *CALLS, *RESULTS)
"""In the order of `pytest --help`."""
