"""The package's suites, which run in a folder without tests that use a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_tablebench.hooks.keys import HAS_MARKED
from pytest_tablebench.session.pytest_modes import has_options
from pytest_tablebench.util.suites import suite_files

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings


def added_items(session: pytest.Session, settings: Settings) -> Iterator[pytest.Item]:
    """Yield the items of the package's suites if nothing names other tests with the marker.

    Call this after collection. A file that cannot be imported may contain tests with the marker, so
    an error of collection adds no items. A test that takes `case` lacks the marker by mistake.
    """
    config = session.config
    is_folder = config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR
    if (
        not is_folder
        or config.getini("testpaths")
        or not has_options(config)
        or config.stash.get(HAS_MARKED, False)
        or session.testsfailed
        or any("case" in getattr(item, "fixturenames", ()) for item in session.items)
    ):
        return
    only_folders = has_own_folder(settings)
    files = suite_files()
    # Node ids start at an initial path. With this one they are those of `--pyargs`.
    session._initialpaths |= {path.parent for path in files}
    for path in files:
        if path.stem == "test_own" or not only_folders:
            yield from session.genitems(pytest.Module.from_parent(session, path=path))


def has_own_folder(settings: Settings) -> bool:
    """Return whether --bench-data names own datasets, and no option names others."""
    from pytest_tablebench.datasets.folder import folder_datasets

    if settings.data is None or settings.datasets is not None:
        return False
    return any(True for _ in folder_datasets(settings.data))
