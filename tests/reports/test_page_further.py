"""Tags, parts, consistency and changed meaning in the page."""

from __future__ import annotations

from pathlib import Path

from tests.support.page_files import block, page, text_of
from tests.support.page_runs import record

RUN = [
    record(example_id=f"e{n}", serializer=form, tags={"kind": kind}, parts={"em": 1.0, "f1": 0.5})
    for n, kind in enumerate(["sum", "sum", "<b>look-up"])
    for form in ("csv", "html", "json")
]
CUT = [
    record(
        example_id="e0",
        perturbation="no_table",
        outcome="wrong",
        preserves_meaning=False,
        tags={"kind": "sum"},
    )
]


def test_a_part_whose_name_says_little_is_explained_where_it_appears(tmp_path: Path) -> None:
    text = "partial: for a list, how much of it is right: F1 over the items."
    lists = [record(parts={"exact_match": 0.0, "partial": 0.5}, outcome="wrong")]
    shown = [
        text in page(tmp_path / name, cases).get_text()
        for name, cases in (("with", lists), ("without", RUN))
    ]
    assert shown == [True, False]


def test_cases_have_a_filter_and_measures_a_table_by_tag(tmp_path: Path) -> None:
    soup = page(tmp_path, RUN)
    index = block(soup, "index")
    assert [tag["value"] for tag in index["tags"]] == ["<b>look-up", "sum"]
    assert [example["tags"] for example in index["examples"]] == [[1], [1], [0]]
    rows = [
        [cell.get_text(" ").strip() for cell in row.select("th, td")]
        for row in soup.select("[aria-labelledby=tags] tbody tr")
    ]
    assert [row[0] for row in rows] == ["<b>look-up", "sum"]
    # Performance is first; consistency and f1 follow the counts of examples and cases.
    assert [(row[1], *row[-4:]) for row in rows] == [
        ("1.000", "1", "3", "100.0 %", "0.500"),
        ("1.000", "2", "6", "100.0 %", "0.500"),
    ]
    assert [b["data-t"] for b in soup.select("[aria-labelledby=tags] button")] == ["0", "1"]


def test_parts_consistency_and_changed_meaning_have_tables(tmp_path: Path) -> None:
    soup = page(tmp_path, [*RUN, *CUT])
    parts = text_of(soup, "[aria-label='Parts of the score'] tbody")
    assert parts.startswith("wikitq · f1 0.500")
    assert "100.0 %" in text_of(soup, "[aria-label=Consistency] tbody")
    assert text_of(soup, "[aria-label='Risk and coverage'] tbody") == "wikitq 0.000 of 100.0 %"
    changed = text_of(soup, "[aria-label='Changed meaning'] tbody")
    assert changed.startswith("wikitq 0.000")
    assert changed.endswith("no_table")


def test_a_run_without_parts_and_tags_has_no_tables_of_them(tmp_path: Path) -> None:
    soup = page(tmp_path, [record()])
    for selector in ("#tags", "[aria-label=Consistency]", "[aria-label='Changed meaning']"):
        assert soup.select_one(selector) is None
