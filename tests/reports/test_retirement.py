"""The line on a model that retires: when it appears, and what it says."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.reports import project
from pytest_tablebench.reports._github import summary_markdown
from pytest_tablebench.reports.html import write_page
from pytest_tablebench.reports.plan import plan_report
from pytest_tablebench.reports.project import SOON, retirement_line, retirement_lines
from pytest_tablebench.results import ScoreRow
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.writer import RunWriter
from pytest_tablebench.running.plan import ModelPlan
from tests.support.run_folders import write_run

MODEL = "gpt-4o-2024-05-13"
DAY = date(2026, 12, 31)


def on(day: date) -> AbstractContextManager[object]:
    """Let reports be made on this day."""

    class FixedDay(date):
        @classmethod
        def today(cls) -> FixedDay:
            return cls(day.year, day.month, day.day)

    return patch.object(project, "date", FixedDay)


@pytest.mark.parametrize(
    ("today", "line"),
    [
        (date(2026, 11, 24), f"{MODEL} retires in 37 days (2026-12-31)"),
        (date(2026, 11, 1), f"{MODEL} retires in 60 days (2026-12-31)"),  # November has 30 days
        (date(2026, 10, 31), None),
        (date(2026, 12, 30), f"{MODEL} retires in 1 day (2026-12-31)"),
        (date(2026, 12, 31), f"{MODEL} retires today (2026-12-31)"),
        (date(2027, 1, 1), f"{MODEL} has been retired since 2026-12-31"),
    ],
)
def test_the_line_appears_from_sixty_days_before(today: date, line: str | None) -> None:
    with on(today):
        assert retirement_line(MODEL, DAY.isoformat()) == line


@given(st.integers(-4000, 4000))
def test_there_is_a_line_exactly_from_sixty_days_before(days: int) -> None:
    with on(DAY - timedelta(days)):
        line = retirement_line("m", DAY.isoformat())
    assert (line is not None) == (days <= SOON)


@pytest.mark.parametrize("day", [None, "", "soon", "2026-13-01", 20261231, ["2026-12-31"], {}])
def test_without_a_date_there_is_no_line(day: Any) -> None:
    assert retirement_line("m", day) is None


def test_the_header_names_model_and_judge() -> None:
    plans = [
        ModelPlan("m", 1, 1, 0, 1, deprecation_date="2026-12-31"),
        ModelPlan("j", 1, 1, 0, 1, judges=True, deprecation_date="2026-11-20"),
        ModelPlan("k", 1, 1, 0, 1, deprecation_date="2027-12-31"),
        ModelPlan("old", 1, 1, 0, 1),
    ]
    with on(date(2026, 11, 24)):
        report = plan_report(map(asdict, plans), Settings())
    lines = terminal_lines(report.blocks)
    assert [line for line in lines if "retire" in line] == [
        "m retires in 37 days (2026-12-31)",
        "judge j has been retired since 2026-11-20",
    ]


RUN = {
    "model": MODEL,
    "deprecation_date": "2026-12-31",
    "judge": "j",
    "judge_deprecation_date": "2026-11-20",
}


def test_the_lines_of_a_run_come_from_its_file() -> None:
    with on(date(2026, 11, 24)):
        lines = retirement_lines(RunFacts.from_json(RUN))
    assert lines == [
        f"{MODEL} retires in 37 days (2026-12-31)",
        "judge j has been retired since 2026-11-20",
    ]
    assert retirement_lines(RunFacts.from_json({"model": MODEL})) == []


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ((None, None), {}),
        (("2026-12-31", None), {"deprecation_date": "2026-12-31"}),
        (("2026-12-31", "2026-11-20"), {name: RUN[name] for name in RUN if name.endswith("date")}),
    ],
)
def test_the_run_file_records_only_days_that_are_known(
    days: tuple[str | None, str | None], expected: dict[str, str]
) -> None:
    writer = RunWriter(Settings(models=("m",), judge="j"), {"m": Path("run")})
    plans = [
        ModelPlan("m", 1, 1, 0, 1, deprecation_date=days[0]),
        ModelPlan("j", 1, 1, 0, 1, judges=True, deprecation_date=days[1]),
    ]
    writer.learn_plans(map(asdict, plans))
    run = writer.run_facts("m").entries
    assert {name: day for name, day in run.items() if name.endswith("date")} == expected


def test_the_summary_has_the_line_and_nothing_else_changes() -> None:
    facts: dict[str, Any] = {"benchmark": "b", "dataset": "d", "example_id": "e"}
    facts |= {"serializer": "csv", "perturbation": "none"}
    summary = summarize([ScoreRow(**facts, score=1.0, passed=True, reason=None)])
    run = {"model": MODEL, "status": "complete", "cost_usd": 1.0, "compat": "fixed"}
    plain = summary_markdown(RunFacts.from_json(run), summary)
    with on(date(2026, 9, 1)):
        assert summary_markdown(RunFacts.from_json({**run, **RUN}), summary) == plain
    with on(date(2026, 11, 24)):
        text = summary_markdown(RunFacts.from_json({**run, **RUN}), summary)
    kept = [line for line in text.splitlines() if line and "retire" not in line]
    assert kept == [line for line in plain.splitlines() if line]
    assert "retires in 37 days (2026-12-31)" in text
    assert "judge j has been retired since 2026-11-20" in text


@pytest.mark.parametrize(
    ("today", "shown"), [(date(2026, 11, 24), True), (date(2026, 10, 31), False)]
)
def test_the_page_shows_date_and_line(tmp_path: Path, today: date, shown: bool) -> None:
    run = write_run(tmp_path / "run", {"e": [1.0, 1.0, 0.0, 1.0]}, deprecation_date="2026-12-31")
    with on(today):
        write_page(run, tmp_path / "page.html")
    soup = BeautifulSoup((tmp_path / "page.html").read_text(encoding="utf-8"), "html.parser")
    [facts] = soup.select("p.taken")
    assert ("m retires in 37 days (2026-12-31)" in facts.text) is shown
    assert "deprecation_date" in soup.text
