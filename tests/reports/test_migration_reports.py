"""The page and the comment on a migration: what they show, and hostile text in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from pytest_tablebench.claims.differences import Difference
from pytest_tablebench.claims.migration import Change, Migration, judge_migration
from pytest_tablebench.documents.html import save_document
from pytest_tablebench.documents.markdown import COMMENT_LIMIT, markdown_text
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.reports.migration import migration_report
from pytest_tablebench.results.run import load_run
from tests.support.run_folders import record, write_run

HOSTILE = "<img src=x onerror=alert(1)>|@someone #1 `x`\x1b[31m\n::error::"


@pytest.fixture(scope="module")
def migration(tmp_path_factory: pytest.TempPathFactory) -> Migration:
    """A candidate that loses every third case, with hostile names and texts."""
    folder = tmp_path_factory.mktemp("runs")
    runs = []
    for name, lost in (("old", 0), ("new", 3)):
        rows = [
            record(
                f"e{number:02}",
                "csv",
                "none",
                (0.0, HOSTILE) if lost and number % lost == 0 else (1.0, "yes"),
                dataset="toy",
                references=(HOSTILE,),
            )
            for number in range(30)
        ]
        runs.append(load_run(write_run(folder / name, rows, model=f"{name} {HOSTILE}")))
    judged = judge_migration(runs[0], runs[1], 0.01)
    odd = Difference(HOSTILE, "setting", (HOSTILE, HOSTILE), HOSTILE)
    return replace(judged, differences=(odd,), remarks=(HOSTILE,))


def test_hostile_text_stays_text_on_the_page(migration: Migration, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    save_document(migration_report([migration, migration]), out)
    page = BeautifulSoup(out.read_text("utf-8"), "html.parser")
    assert page.find_all(["img", "script"]) == []
    assert "\x1b" not in out.read_text("utf-8")
    assert "onerror=alert(1)" in page.get_text()


def test_hostile_text_stays_text_in_the_comment(migration: Migration) -> None:
    comment = markdown_text(migration_report([migration, migration]).blocks)
    assert "<img" not in comment
    assert "@" not in comment
    assert "\x1b" not in comment
    # No line begins a command of a CI runner, and no cell of a table is split.
    assert not any(line.startswith("::") for line in comment.splitlines())
    rows = [line for line in comment.splitlines() if "onerror" in line and line.startswith("|")]
    assert rows
    assert {row.count("|") for row in rows} <= {4, 5, 8, 9}


def test_hostile_text_is_escaped_in_the_terminal(migration: Migration) -> None:
    text = "\n".join(terminal_lines(migration_report([migration]).blocks))
    assert "\x1b" not in text
    assert "\\x1b" in text


def test_all_three_give_the_same_verdict(migration: Migration, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    save_document(migration_report([migration]), out)
    page = BeautifulSoup(out.read_text("utf-8"), "html.parser").get_text()
    # 10 of 30 lost: Clopper-Pearson ends at .528, and -1/3 + 2.045 * sqrt((6.667 + .5) / 29 / 30).
    for text in (
        page.replace("\N{MINUS SIGN}", "-"),
        markdown_text(migration_report([migration]).blocks),
    ):
        assert "-0.528 to -0.148" in text
    assert "-0.528 to -0.148" in "\n".join(terminal_lines(migration_report([migration]).blocks))
    assert migration.verdict == "no"


def test_a_long_comment_is_cut_within_githubs_limit(migration: Migration) -> None:
    change = Change("toy/e/csv/none", "x" * 300, "y" * 300, "<" * 300)
    long = replace(migration, worse=(change,) * 10, better=(change,) * 10, n_better=10)
    comment = markdown_text(migration_report([long] * 12).blocks)
    assert len(comment) <= COMMENT_LIMIT
    assert "Cut here" in comment


def test_the_line_on_several_candidates(migration: Migration) -> None:
    def choice_line(migrations: list[Migration]) -> str:
        return terminal_lines(migration_report(migrations).blocks)[0]

    assert choice_line([migration, migration]) == "None of 2 candidates passes."
    passing = replace(migration, verdict="yes")

    def at(model: str, price: float | None) -> Migration:
        return replace(passing, new=replace(passing.new, model=model, price=price))

    line = "The cheapest that passes: b, $0.5000 for 1,000 questions"
    assert choice_line([at("a", 2.0), at("b", 0.5)]) == f"{line}."
    assert choice_line([at("b", 0.5), at("c", None)]) == f"{line}; the price of 1 more is unknown."
    assert choice_line([at("c", None), at("d", None)]) == ("These pass, at unknown prices: c, d.")
