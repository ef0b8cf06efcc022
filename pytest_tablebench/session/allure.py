"""Whether we write Allure results of our cases ourselves."""

from __future__ import annotations

from pytest_tablebench.config.settings import Settings


def writes_allure(settings: Settings, case_count: int) -> bool:
    """Return whether we write Allure results of so many cases, where there is a place for them.

    An option asks for it, or there are so many that nobody could open Allure's site.
    """
    from pytest_tablebench.reports.allure import ALL_UP_TO

    return settings.allure is not None or case_count > ALL_UP_TO
