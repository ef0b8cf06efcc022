"""Rooms and pages that are in plain English stay free of habits that are hard to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.prose import files, habits

ROOT = Path(__file__).resolve().parents[1]

PLACES: list[str] = [
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "benchmarks",
    "docs",
    "pytest_tablebench",
    "suites",
    "tests/support",
]
"""Rooms, modules and pages in plain English, by path from the project's root."""


@pytest.mark.parametrize("place", PLACES)
def test_the_text_of_a_place_is_plain_english(place: str) -> None:
    if not (ROOT / place).exists():
        pytest.skip(f"no checkout: {place} is absent")
    listed = [habit for path in files([ROOT / place]) for habit in habits(path)]
    assert [(str(habit.path.relative_to(ROOT)), habit.line, habit.words) for habit in listed] == []


def test_each_habit_is_reported_with_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Fine.\n\nWhat came of it\n`nobody` is code.\n\n```\nnobody\n```\nNobody.\n")
    assert [(habit.line, habit.words) for habit in habits(page)] == [(9, "Nobody"), (3, "came of")]
    module = tmp_path / "module.py"
    module.write_text('# lies\nRAISED = f"it {1} stands"\nSTANDS = "stands"\n')
    assert [(habit.line, habit.words) for habit in habits(module)] == [(1, "lies"), (2, "stands")]
