"""Pages people read: `report.html` of a run, and the leaderboard of several.

Each is one file that loads nothing: templates by Jinja2, figures as SVG, cases compressed inside.
Texts of models and datasets reach the page only as text.
"""

from __future__ import annotations

from pytest_tablebench.reports.html._page import prepare_page, write_page

__all__ = ["prepare_page", "write_page"]
