"""The paths that programs may read and import."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import pytest_tablebench
from pytest_tablebench.sandbox._backends import host_libraries, host_places
from pytest_tablebench.sandbox.inside._folder import ReadablePaths, places
from pytest_tablebench.sandbox.inside._libraries import LIBRARIES, installed


def is_covered(path: Path, readable: list[str]) -> bool:
    return any(path == Path(one) or Path(one) in path.parents for one in readable)


def test_other_packages_are_not_readable() -> None:
    readable = list(host_places().each())
    for module in (pytest_tablebench, pytest):
        file = Path(str(module.__file__)).resolve()
        assert not is_covered(file, readable)
        assert not any(file.parent in Path(path).parents for path in readable)
    assert is_covered(Path(os.__file__), readable)


def test_each_library_includes_its_requirements() -> None:
    assert {"numpy", "pandas", "matplotlib", "openpyxl", "beautifulsoup4"} <= set(LIBRARIES)
    modules = host_libraries().modules
    # six is required by dateutil, which pandas requires; mpl_toolkits has no file at top level.
    assert {"numpy", "pandas", "dateutil", "six", "PIL", "bs4", "mpl_toolkits"} <= set(modules)
    assert modules["mpl_toolkits"][0] is None
    assert modules["six"][1] is None
    assert not {"pytest", "litellm", "pip", "pytest_tablebench"} & set(modules)


def test_a_library_that_is_not_installed_is_left_out() -> None:
    assert installed(["tablebench-has-no-such-library"]).modules == {}


def test_hidden_folders_are_left_out_at_any_depth(tmp_path: Path) -> None:
    for name in ("a/b/hidden/x", "a/b/seen", "a/c"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a/link").symlink_to(tmp_path / "a/b/hidden")
    hidden = str(tmp_path / "a/b/hidden")
    shown = ReadablePaths((str(tmp_path / "a"),), (hidden,), (hidden + "/x",))
    expected = [tmp_path / "a/b/hidden/x", tmp_path / "a/b/seen", tmp_path / "a/c"]
    assert sorted(map(Path, shown.each())) == expected


def test_a_hidden_folder_below_the_standard_library_is_left_out_too() -> None:
    inner = Path(os.__file__).parent / "json"
    readable = list(places([], never=[str(inner)]).each())
    assert not is_covered(inner / "decoder.py", readable)
    assert is_covered(inner.parent / "csv.py", readable)
