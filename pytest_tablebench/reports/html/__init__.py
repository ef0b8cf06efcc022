"""HTML pages: `report.html` of a run, and the leaderboard of several runs.

Each is one file that loads nothing: Jinja2 templates, figures as SVG, compressed cases. Texts of
models and datasets are always escaped.
"""

from __future__ import annotations

from pytest_tablebench.reports.html._ahead import PageAhead
from pytest_tablebench.reports.html._page import page_preparations, write_page

__all__ = ["PageAhead", "page_preparations", "write_page"]
