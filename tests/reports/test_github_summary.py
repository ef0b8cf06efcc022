"""The summary for GitHub: complete, limited in size, and with escaped text of models."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.compare import RunComparison, ScopeComparison
from pytest_tablebench.claims.compare._pair import Answers
from pytest_tablebench.claims.gates import GateResult
from pytest_tablebench.claims.paired import PairedEstimate
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.documents.markdown import STEP_SUMMARY_LIMIT
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.reports._github import (
    summary_markdown,
    write_summary,
)
from pytest_tablebench.results import ScoreRow
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.markdown import code

RUN = {
    "model": "gpt-x",
    "compat": "fixed",
    "status": "complete",
    "calls_paid": 1200,
    "store_hits": 0,
    "cost_usd": 1.5,
    "cases_planned": 4,
}


def cell(example: str, score: float | None, dataset: str = "wikitq", **changes: Any) -> ScoreRow:
    reason = "timeout" if score is None else None
    passed = None if score is None else score == 1
    facts: dict[str, Any] = {
        "benchmark": "torr",
        "dataset": dataset,
        "example_id": example,
        "serializer": "html",
        "perturbation": "none",
        "score": score,
        "passed": passed,
        "reason": reason,
    }
    return ScoreRow(**facts | changes)


SUMMARY = summarize(
    [
        cell("a", 1.0),
        cell("a", 0.0, serializer="csv"),
        cell("b", 1.0),
        cell("b", None, serializer="csv"),
        cell("x", 0.25, "finqa"),
    ]
)


def gate(state: Any, text: str = "torr.performance >= 0.5", **changes: Any) -> GateResult:
    facts: dict[str, Any] = {
        "gate": text,
        "value": 0.52,
        "bound": 0.5,
        "low": 0.45,
        "high": 0.59,
        "examples": 2,
        "state": state,
        "reason": "The interval holds the bound.",
    }
    return GateResult(**facts | changes)


def rows(markdown: str) -> list[list[str]]:
    """Return the cells of all table rows, unescaped."""
    table_rows = []
    for line in markdown.splitlines():
        if line.startswith("|") and "---" not in line:
            cells = line.strip("|").split("|")
            plain = [html.unescape(re.sub(r"</?code>|\*\*", "", text)).strip() for text in cells]
            table_rows.append(plain)
    return table_rows


def test_the_dataset_table_has_the_figures_of_the_summary() -> None:
    table = rows(summary_markdown(RunFacts.from_json(RUN), SUMMARY))
    assert table[0] == [
        "dataset", "performance", "95 % interval", "robustness", "pass rate", "no answer",
        "examples", "cases",
    ]  # fmt: skip
    # wikitq: example a has scores 1 and 0, b one answer of 1: (.5 + 1) / 2 = .75.
    by_name = {row[0]: row for row in table[1:]}
    assert by_name["wikitq"][1] == "0.750"
    assert by_name["wikitq"][5:] == ["25.0 %", "2", "4"]
    # finqa: one example in one configuration: no range, no interval.
    assert by_name["finqa"] == ["finqa", "0.250", "-", "-", "0.0 %", "0.0 %", "1", "1"]
    # (.75 + .25) / 2, over datasets
    assert by_name["torr, all"][1] == "0.500"


def test_the_heading_names_model_cases_and_cost() -> None:
    text = html.unescape(summary_markdown(RunFacts.from_json(RUN), SUMMARY))
    assert "## Table benchmark: <code>gpt-x</code>" in text
    assert "5 cases, compat <code>fixed</code>, 1,200 calls paid, cost 1.50 USD" in text
    assert "\nno answer by reason: timeout 1\n" in text
    assert "cost unknown" in summary_markdown(
        RunFacts.from_json({**RUN, "cost_usd": None}), SUMMARY
    )


def test_a_run_cut_off_is_marked() -> None:
    text = summary_markdown(
        RunFacts.from_json({**RUN, "status": "incomplete", "cases_planned": 35_000}), SUMMARY
    )
    assert "The run was interrupted: 5 of 35,000 cases are recorded." in text
    assert "cut off" not in summary_markdown(RunFacts.from_json(RUN), SUMMARY)


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        (["holds", "holds"], "✅ **All 2 gates hold.**"),
        (["holds", "undecided"], "❔ **1 of 2 gates is undecided; none fails.**"),
        (["fails", "undecided"], "❌ **1 of 2 gates fails; 1 is undecided.**"),
    ],
)
def test_the_verdict_is_the_first_line(states: list[str], verdict: str) -> None:
    text = summary_markdown(RunFacts.from_json(RUN), SUMMARY, [gate(state) for state in states])
    assert text.splitlines()[2] == verdict


def test_the_gate_table_has_a_row_per_gate() -> None:
    text = summary_markdown(
        RunFacts.from_json(RUN),
        SUMMARY,
        [gate("undecided"), gate("holds", "run.cost <= 20", low=None)],
    )
    table_rows = rows(text)
    assert table_rows[1] == [
        "torr.performance >= 0.5", "❔ undecided", "0.520", "0.450 to 0.590", "0.500", "2",
        "The interval holds the bound.",
    ]  # fmt: skip
    assert table_rows[2][3] == "-"


def comparison(worse: int = 12) -> RunComparison:
    side = Run(Path("a"), RunFacts(model="old|model", cases_planned=0), new_records=())
    difference = PairedEstimate(
        before=0.5,
        after=0.25,
        value=-0.25,
        low=-0.4,
        high=-0.1,
        method="t",
        p=0.004,
        test="sign-flip",
        examples=20,
    )
    measures: Any = {"performance": difference}
    scope = ScopeComparison("dataset", "torr", "wikitq", "wikitq", measures, 0, 0, 40, 2, worse)
    return RunComparison(
        before=side,
        after=side,
        differences=(),
        scopes=(scope,),
        configurations=(),
        answers=Answers(20, 6, 14, 0, 0, 0, 0),
        better=("wikitq/good/html/none",),
        worse=tuple(f"wikitq/bad-{n}/html/none" for n in range(worse)),
        **dict.fromkeys(("gained", "lost", "other_answer", "only_before", "only_after"), ()),
        remarks=("@all: mind the <gap>",),
    )


def test_the_comparison_lists_differences_and_flips() -> None:
    text = summary_markdown(RunFacts.from_json(RUN), SUMMARY, comparison=comparison())
    row = next(row for row in rows(text) if row[0] == "wikitq" and "-0.250" in row)
    assert row == [
        "wikitq", "0.500", "0.250", "-0.250", "-0.400 to -0.100", "0.004", "2", "12"
    ]  # fmt: skip
    plain = html.unescape(text)
    assert "20 the same, 6 with another text and the same verdict, 14 with another" in plain
    assert "Right before, wrong now: 12" in plain
    assert "<code>wikitq/bad-9/html/none</code>" in plain
    assert "wikitq/bad-10/html/none" not in plain
    assert "- and 2 more" in plain
    assert "Wrong before, right now: 1<" in plain
    assert text.count("<details>") == text.count("</details>") == 2


def test_changes_against_snapshots_are_counted_and_flips_listed() -> None:
    kinds = {"a/1": "same text", "a/2": "same text", "a/3": "verdict flipped"}
    plain = html.unescape(summary_markdown(RunFacts.from_json(RUN), SUMMARY, snapshots=kinds))
    assert "<code>same text</code> 2, <code>verdict flipped</code> 1" in plain
    assert "- <code>a/3</code>" in plain
    assert "- <code>a/1</code>" not in plain


def test_the_page_is_linked_in_the_run_folder_and_named_elsewhere() -> None:
    text = summary_markdown(RunFacts.from_json(RUN), SUMMARY, has_page=True)
    assert "[Full report](report.html)" in text
    text = summary_markdown(RunFacts.from_json(RUN), SUMMARY, has_page=True, elsewhere=True)
    assert "](" not in text
    assert "report.html" in html.unescape(text)


PAYLOADS = [
    "@everyone",
    "#123 GH-123 owner/repo#1 0123456789abcdef0123456789abcdef01234567",
    "a | b || c",
    "`code` ```fence``` ~~~",
    "<script>alert(1)</script><img src=x onerror=alert(1)></details></table>",
    "</code><b>",
    "[link](javascript:alert(1)) ![image](http://x/y.png)",
    "::set-output name=a::b",
    "##[error]x ##vso[task]",
    "\n::add-mask::x\r\n# heading\n| - |",
    "\u202eevil\u2066",
    "&lt;b&gt; &#64;",
    "**bold** _it_ ~~gone~~ \\* $math$",
    "http://evil.example www.evil.example me@evil.example",
    "\x1b[31mred\x00",
    "\ud800",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_is_escaped(payload: str) -> None:
    cells = [cell("a", 1.0, payload, benchmark=payload), cell("b", None, payload, reason=payload)]
    text = summary_markdown(
        RunFacts.from_json({**RUN, "model": payload, "compat": payload}),
        summarize(cells),
        [gate("fails", payload, reason=payload)],
        comparison=None,
        snapshots={payload: f"verdict flipped {payload}"},
    )
    check_dead(text)
    lines = text.splitlines()
    tables = [line for line in lines if line.startswith("|")]
    assert len({line.count("|") for line in tables}) == 2  # the columns of the two tables


@given(st.text(alphabet=st.characters(), max_size=80))
def test_any_text_is_escaped(text: str) -> None:
    written = code(text, 200)
    check_dead(written)
    inner = written.removeprefix("<code>").removesuffix("</code>")
    assert re.fullmatch(r"(?:[^\W_]| |&#\d+;)+", inner)


def check_dead(markdown: str) -> None:
    """Assert that outside our markup there are only letters, digits and character references."""
    ours = re.sub(r"<code>(?:\w| |&#\d+;)*</code>", "", markdown)
    for sign in ("@", "`", "::", "##[", "##vso", "<script", "<img", "://", "\x1b", "\u202e"):
        assert sign not in ours
    assert not set(re.findall(r"<(/?\w+)", ours)) - {"details", "/details", "summary", "/summary"}
    for line in markdown.splitlines():
        assert not line.lstrip().startswith("::")
    markdown.encode("utf-8")


def test_a_summary_is_never_longer_than_the_limit() -> None:
    cells = [cell("a", 1.0, f"{n}" + "|" * 120) for n in range(700)]
    snapshots = {f"case {n}": f"kind {n}" + "|" * 60 for n in range(5000)}
    text = summary_markdown(
        RunFacts.from_json(RUN), summarize(cells), snapshots=snapshots, has_page=True
    )
    assert len(text.encode("utf-8")) <= STEP_SUMMARY_LIMIT
    assert "rows more" in text
    assert "Cut here" in text
    assert text.startswith("## Table benchmark")
    assert text.count("<details>") == text.count("</details>")


# Writing the summary


def test_outside_of_github_actions_only_the_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert write_summary(tmp_path, "text é\n", "") is None
    assert (tmp_path / "summary.md").read_bytes() == "text é\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["summary.md"]


def test_the_summary_is_appended_to_the_step_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = tmp_path / "step"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    step.write_text("of another tool")
    for text in ("one\n", "two\n"):
        assert write_summary(tmp_path, text, text) is None
    assert step.read_text() == "of another tool\none\n\ntwo\n"
    assert (tmp_path / "summary.md").read_text() == "two\n"


def test_a_step_summary_over_the_limit_has_a_note_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = tmp_path / "step"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    step.write_bytes(b"x" * (STEP_SUMMARY_LIMIT - 500))
    write_summary(tmp_path, "", "y" * 1000)
    content = step.read_text()
    assert len(content) <= STEP_SUMMARY_LIMIT
    assert "Cut here" in content
    step.write_bytes(b"x" * STEP_SUMMARY_LIMIT)
    problem = write_summary(tmp_path, "", "y" * 1000)
    assert "full already" in (problem or "")
    assert step.stat().st_size == STEP_SUMMARY_LIMIT


def test_a_step_summary_that_cannot_be_written_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    problem = write_summary(tmp_path, "x", "x")
    assert str(tmp_path) in (problem or "")
    assert (tmp_path / "summary.md").read_text() == "x"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"summary\.md: cannot be written"):
        write_summary(tmp_path / "none", "x", "x")
