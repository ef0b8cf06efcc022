"""The history of a watch: reading, joining, damage, and the verdict of a written history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.drift import (
    History,
    HistoryEntry,
    WatchVerdict,
    judge_watch,
    look_entry,
    read_history,
    reference_entry,
)
from pytest_tablebench.documents.html import save_document
from pytest_tablebench.documents.markdown import markdown_text
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.reports.watch import watch_report
from pytest_tablebench.results import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.notices import Notices

CASES = 40
RUN = {
    "model": "m",
    "versions": {"pytest-tablebench": "1.0"},
    "datasets": {"d": {"files": {"f": "a"}}},
}


def records(
    repeats: int = 1, *, wrong: int = 0, missing: int = 0, answer: str = "", prompt: str = "p"
) -> list[Record]:
    """Return right answers, of which some are wrong or missing; `answer` changes right ones."""
    rows = []
    for number in range(CASES):
        score = None if number < missing else float(number >= missing + wrong)
        for repeat in range(1, repeats + 1):
            row = Record(
                f"d/e{number}/csv/none", "m", "b", "d", f"e{number}", "csv", "none",
                repeat=repeat, strategy="direct", modality="text",
                outcome="no_answer" if score is None else "right" if score else "wrong",
                score=score, raw="no" if score == 0 else f"yes{answer}", prompt_digest=prompt,
                reason="timeout" if score is None else None,
            )  # fmt: skip
            rows.append(row)
    return rows


def facts(number: int, **fields: Any) -> dict[str, Any]:
    day = f"2026-{1 + number // 28:02d}-{1 + number % 28:02d}T04:00:00+00:00"
    return {"id": f"n{number}", "time": day, "project": "shop", **fields}


REFERENCE = reference_entry(
    RunFacts.from_json(RUN), records(10), **facts(0, fingerprints={"fp_a": 400})
)


def look(number: int, run: dict[str, Any] | None = None, **changes: Any) -> HistoryEntry:
    """Return a look; `fingerprint` is that of all its answers."""
    version = changes.pop("fingerprint", "fp_a")
    fields = facts(number, fingerprints={version: CASES})
    return look_entry(
        RunFacts.from_json(RUN if run is None else run), records(**changes), REFERENCE, **fields
    )


def history(*looks: HistoryEntry) -> History:
    return History(Path("watch.jsonl"), (REFERENCE, *looks))


@pytest.fixture
def notices() -> Iterator[Notices]:
    listener = Notices()
    yield listener
    listener.close()


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    empty = read_history(tmp_path / "watch.jsonl")
    assert empty.reference is None
    written = empty.with_entry(REFERENCE).with_entry(look(1)).with_entry(look(2, missing=3))
    assert read_history(tmp_path / "watch.jsonl") == written
    assert [entry.id for entry in written.looks] == ["n1", "n2"]


def test_joined_histories_are_sorted_and_have_no_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "watch.jsonl"
    lines = [entry.to_line() for entry in (look(2), REFERENCE, look(1), look(2))]
    path.write_text("".join(lines), encoding="utf-8")
    assert [entry.id for entry in read_history(path).entries] == ["n0", "n1", "n2"]


def test_a_torn_last_line_is_left_out_with_a_notice(tmp_path: Path, notices: Notices) -> None:
    path = tmp_path / "watch.jsonl"
    text = REFERENCE.to_line() + look(1).to_line() + look(2).to_line()[:80]
    path.write_text(text, encoding="utf-8")
    torn = read_history(path)
    assert [entry.id for entry in torn.looks] == ["n1"]
    assert notices.texts == [f"{path}: line 3 is incomplete and left out; its look is lost"]
    torn.with_entry(look(3))
    assert [entry.id for entry in read_history(path).looks] == ["n1", "n3"]
    assert len(notices.texts) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: not a line of a watch"),
        ("[]", "not an object"),
        ('{"schema": 2}', "schema 2; upgrade"),
        ('{"schema": 1, "kind": "look"}', "missing"),
        (json.dumps(json.loads(look(1).to_line()) | {"scores": [2]}), "not between 0 and 1"),
        (json.dumps(json.loads(REFERENCE.to_line()) | {"cases": []}), "different lengths"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "watch.jsonl"
    path.write_text(f"{line}\n{REFERENCE.to_line()}", encoding="utf-8")
    with pytest.raises(SettingsError, match=message):
        read_history(path)


def test_another_project_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="of the project 'shop', and this is 'books'"):
        history().check("books")


def test_a_canary_whose_data_changed_is_refused() -> None:
    run = RUN | {"datasets": {"d": {"files": {"f": "b"}}}}
    with pytest.raises(DataError, match=r"1 of 40 cases .* because we changed the data of d, fil"):
        look_entry(RunFacts.from_json(run), records()[1:], REFERENCE, **facts(1))


def test_a_look_that_stopped_early_has_no_other_answers() -> None:
    run = RUN | {"cases_planned": CASES, "cases_recorded": 1}
    entry = look_entry(RunFacts.from_json(run), records()[:1], REFERENCE, **facts(1))
    verdict = judge_watch(history(entry))
    assert (verdict.state, verdict.looks[-1].missing, verdict.we_changed) == ("cannot tell", 39, ())


def test_another_model_is_refused() -> None:
    with pytest.raises(DataError, match="watches m, and this run asked other"):
        look_entry(RunFacts.from_json(RUN | {"model": "other"}), records(), REFERENCE, **facts(1))


def test_a_reference_without_answers_says_why() -> None:
    with pytest.raises(DataError, match=r"only 0 of 40 cases answered .* \(timeout\)"):
        reference_entry(RunFacts.from_json(RUN), records(3, missing=CASES), **facts(0))
    with pytest.raises(DataError, match="at least two repeats"):
        reference_entry(RunFacts.from_json(RUN), records(1), **facts(0))


def watch_lines(verdict: WatchVerdict) -> list[str]:
    return terminal_lines(watch_report(verdict).blocks)


def test_a_drop_is_found_and_dated() -> None:
    looks = [look(n, wrong=8 if n > 10 else 0) for n in range(1, 21)]
    verdict = judge_watch(history(*looks))
    assert (verdict.state, verdict.exit_code) == ("drift", 10)
    assert verdict.standing is not None
    assert verdict.standing.direction == "drop"
    assert verdict.standing.recent == pytest.approx(0.2)
    text = "\n".join(watch_lines(verdict))
    assert "the model has drifted" in text
    assert "drop since look 11 of 2026-01-12" in text


def test_a_drift_is_final_until_a_new_reference() -> None:
    looks = [look(n, wrong=8 if 3 < n < 14 else 0) for n in range(1, 40)]
    assert judge_watch(history(*looks)).state == "drift"
    later = facts(60)
    again = reference_entry(RunFacts.from_json(RUN), records(10), **later)
    after = judge_watch(History(Path("watch.jsonl"), (REFERENCE, *looks, again)))
    assert (after.state, after.looks) == ("no drift", ())


def test_their_change_of_equal_quality_is_told_apart() -> None:
    looks = [look(1), *(look(n, answer="!", fingerprint="fp_b") for n in range(2, 8))]
    verdict = judge_watch(history(*looks))
    assert (verdict.state, verdict.exit_code) == ("no drift", 0)
    assert verdict.they_changed == (
        "the fingerprint changed from fp_a to fp_b at look 2",
        "the answers to the same requests differ by more than noise",
    )
    assert verdict.we_changed == ()
    assert verdict.looks[-1].new_answers == CASES


def test_our_change_of_prompts_does_not_count() -> None:
    verdict = judge_watch(history(look(1), look(2, wrong=40, prompt="q")))
    assert (verdict.state, verdict.exit_code) == ("cannot tell", 11)
    [change] = verdict.we_changed
    assert change.startswith("prompts of the canary: ")
    assert verdict.looks[-1].uncounted == f"we changed {change}"
    assert any("--new-reference" in line for line in watch_lines(verdict))


def test_a_reference_of_an_earlier_version_is_replaced() -> None:
    earlier = replace(REFERENCE, setup={"package": "1.0", "prompts": REFERENCE.setup["prompts"]})
    verdict = judge_watch(History(Path("watch.jsonl"), (earlier, look(1))))
    assert (verdict.state, verdict.exit_code) == ("cannot tell", 11)
    text = "\n".join(watch_lines(verdict))
    assert "earlier version: unknown to recorded; make a new one" in text


def test_another_package_with_the_same_prompts_counts() -> None:
    newer = look(1, RUN | {"versions": {"pytest-tablebench": "2.0"}})
    verdict = judge_watch(history(newer))
    assert verdict.state == "no drift"
    assert verdict.we_changed == ("package pytest-tablebench: 1.0 to 2.0",)
    assert verdict.looks[-1].uncounted == ""


@pytest.mark.parametrize(("missing", "state"), [(8, "no drift"), (9, "cannot tell")])
def test_too_many_missing_answers_do_not_count(missing: int, state: str) -> None:
    verdict = judge_watch(history(look(1, missing=missing)))
    assert verdict.state == state
    assert verdict.looks[-1].missing == missing


def test_page_and_issue_escape_what_others_wrote(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\n::error::x @team"
    looks = [look(n, wrong=8 * (n > 2), fingerprint=hostile) for n in range(1, 9)]
    verdict = judge_watch(history(*looks))
    save_document(watch_report(verdict), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert page.count('fill="#000000" fill-opacity="0.6"') == 8  # a point for each look
    assert (
        page.partition("<body>")[2].count('stroke="#d55e00"') == 1
    )  # the look at which drift was found
    assert "http" not in page.partition("<body>")[2]
    markdown = markdown_text(watch_report(verdict).blocks)
    assert "@" not in markdown
    assert "<script" not in markdown
    assert not [line for line in markdown.splitlines() if line.startswith("::")]


def test_a_page_without_looks_has_no_chart(tmp_path: Path) -> None:
    save_document(watch_report(judge_watch(history())), tmp_path / "page.html")
    assert "<svg" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_one_look_far_below_the_reference_is_not_called_no_drift() -> None:
    verdict = judge_watch(history(look(1), look(2, wrong=5)))
    assert (verdict.state, verdict.exit_code) == ("not decided", 11)
    [title, *_] = watch_lines(verdict)
    assert "the last look is unusual, which one look alone does not decide" in title
    assert judge_watch(history(look(1), look(2, wrong=5), look(3))).state == "no drift"


def test_efforts_are_cases_of_their_own() -> None:
    rows = [replace(row, effort=effort) for effort in ("low", "high") for row in records(10)]
    reference = reference_entry(
        RunFacts.from_json({**RUN, "cases_planned": len(rows)}), rows, **facts(1)
    )
    assert len(reference.cases) == 2 * len(REFERENCE.cases)
    assert reference.cases[0].endswith("/high")


def test_another_prompt_of_the_judge_is_our_change() -> None:
    judged = {**RUN, "judge_prompts": {"m": "1"}}
    reference = reference_entry(RunFacts.from_json(judged), records(10), **facts(1))
    other = look_entry(
        RunFacts.from_json({**judged, "judge_prompts": {"m": "2"}}),
        records(1),
        reference,
        **facts(2),
    )
    verdict = judge_watch(History(Path("watch.jsonl"), (reference, other)))
    assert verdict.we_changed == ("judge_prompts.m: 1 to 2",)
    assert verdict.state == "cannot tell"
