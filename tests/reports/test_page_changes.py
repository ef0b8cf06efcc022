"""The page of a run with a baseline or stored answers: flips, changed answers, word diffs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.reports.html import _pack as packing
from pytest_tablebench.reports.html import write_page
from pytest_tablebench.reports.html._facts import word_diff
from pytest_tablebench.results import Record
from pytest_tablebench.results.run import load_run
from pytest_tablebench.util.names import slug
from tests.support.page_files import block, changed, page, text_of
from tests.support.page_runs import record, write_run

# Baseline and stored answers


def test_flips_are_shown_with_the_answers_of_the_baseline(tmp_path: Path) -> None:
    now = [record(example_id="a"), record(example_id="b", outcome="wrong", raw="7")]
    then = [
        record(example_id="a", outcome="wrong", raw="six"),
        record(example_id="b", raw="was right"),
    ]
    old = write_run(tmp_path / "old", then)
    new = write_run(tmp_path / "new", now)
    write_page(new, tmp_path / "p.html", baseline=old, comparison=compare_runs(old, new))
    soup = BeautifulSoup((tmp_path / "p.html").read_text(encoding="utf-8"), "html.parser")
    marks = [packing.BETTER, packing.WORSE]
    assert block(soup, "index")["columns"]["marks"] == marks
    same: dict[str, Any] = {"reason": None, "is_same": False, "picture": None}
    same |= {"prediction": "42", "prediction_length": 2}
    assert [detail["before"] for detail in block(soup, "d0")] == [
        {"outcome": 1, "score": 0.0, "reply": "six", "reply_length": 3, **same},
        {"outcome": 0, "score": 1.0, "reply": "was right", "reply_length": 9, **same},
    ]
    cases = [button["data-case"] for button in soup.select(".ids button")]
    assert cases == ["wikitq/b/csv/none", "wikitq/a/csv/none"]


def test_flips_with_slugs_models_and_repeats_are_shown_at_their_case(tmp_path: Path) -> None:
    """Ids contain slugs, the repeat, and the model if a run has several."""
    example, change = "ETR/2016/page_23.pdf-2", "insert_empty_rows[share=0.5]"
    slugs = f"finqa/{slug(example, 34)}/csv/{slug(change, 24)}"

    def repeats(tail: str, *outcomes: str) -> list[Record]:
        return [
            record(
                case_id=f"{slugs}{tail}" + (f"/r{n}" if n > 1 else ""),
                dataset="finqa",
                example_id=example,
                perturbation=change,
                outcome=outcome,
                repeat=n,
                raw=f"{tail} {n}",
            )
            for n, outcome in enumerate(outcomes, start=1)
        ]

    old = write_run(tmp_path / "old", repeats("/r2", "right", "right", "wrong"))
    new = write_run(tmp_path / "new", repeats("/gpt-4o", "right", "wrong", "right"))
    run = load_run(new)
    run.changes = {"changes": [changed(f"{slugs}/gpt-4o/r3", "flipped", "a", "b")]}
    write_page(run, tmp_path / "p.html", baseline=old, comparison=compare_runs(old, new))
    soup = BeautifulSoup((tmp_path / "p.html").read_text(encoding="utf-8"), "html.parser")
    columns = block(soup, "index")["columns"]
    ids = [f"{slugs}/gpt-4o", f"{slugs}/gpt-4o/r2", f"{slugs}/gpt-4o/r3"]
    marks = [0, packing.WORSE, packing.BETTER | packing.TURNED]
    assert [flag & ~packing.MIXED for flag in columns["marks"]] == marks
    before = [detail["before"] for detail in block(soup, "d0")]
    assert [(case["outcome"], case["reply"]) for case in before] == [
        *((0, "/r2 1"), (0, "/r2 2"), (1, "/r2 3"))
    ]
    # Every link leads to an id of the index; the label has no model.
    links = [button["data-case"] for button in soup.select(".ids button, .changes button")]
    assert links == [ids[1], ids[2], ids[2]]
    assert soup.select(".ids button")[0].text == f"{slugs}/r2"
    assert columns["id"] == ids
    assert columns["repeat"] == [1, 2, 3]


def test_equal_answers_are_labelled_equal(tmp_path: Path) -> None:
    assert "No answer differs from its snapshot." in text_of(
        page(tmp_path, [record()], snapshots=[]), "main"
    )


def test_changed_answers_are_listed_with_flips_first(tmp_path: Path) -> None:
    changes = [
        changed("wikitq/e1/csv/none", "reworded", "42", "it is 42"),
        changed("wikitq/e2/csv/none", "flipped", "42", "43"),
    ]
    soup = page(tmp_path, [record(), record(example_id="e2")], snapshots=changes)
    assert block(soup, "index")["columns"]["marks"] == [packing.CHANGED, packing.TURNED]
    assert "2 answers differ from their snapshots; 1 of them" in text_of(soup, "main")
    listed = [button.text for button in soup.select(".changes button")]
    assert listed == ["wikitq/e2/csv/none", "wikitq/e1/csv/none"]
    assert [ins.text for ins in soup.select(".changes ins")] == ["43", "it is "]


def test_the_word_diff_contains_both_texts() -> None:
    old, new = "the total is  12 goals", "the sum is  13 goals today"
    pieces = word_diff(old, new)
    assert "".join(words for kind, words in pieces if kind != "new") == old
    assert "".join(words for kind, words in pieces if kind != "old") == new
    assert ("old", "total") in pieces
    assert ("new", "sum") in pieces


def test_the_word_diff_of_long_texts_is_bounded() -> None:
    pieces = word_diff("a b " * 500_000, "b a " * 500_000)
    assert "cut at" in pieces[-1][1]
