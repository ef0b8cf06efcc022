"""What review pages contain: earlier verdicts, tables cut to fit, and the stored page id."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.audit.suspects import odds_text
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.reports.html.review import (
    pack_items,
    page_id,
    write_audit_page,
    write_label_page,
)
from tests.support.suspects import label_case, suspect, table


def unpacked(block: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(block)))


def test_equal_tables_are_packed_once_and_long_ones_keep_marked_rows() -> None:
    long = table(1200, 2)
    blocks = pack_items(
        {}, [{}, {}, {}], [[long], [table(3), long], [long]], [[], [(1, 3, 0)], [(0, 1100, 1)]]
    )
    details, tables = unpacked(blocks["d0"]), unpacked(blocks["t0"])
    assert [detail["tables"] for detail in details] == [[0], [1, 0], [2]]
    assert len(tables) == 3
    assert tables[0]["numbers"] is None
    assert len(tables[0]["rows"]) == 1000
    assert tables[2]["numbers"][1000:] == list(range(1095, 1106))
    assert tables[2]["row_count"] == 1200


def test_tables_are_cut_and_then_left_out_to_fit() -> None:
    items = [[table(300, 8, f"t{number}")] for number in range(20)]
    whole = pack_items({}, [{}] * 20, items, [()] * 20)
    size = sum(len(block) for name, block in whole.items() if name.startswith("t"))
    cut = pack_items({}, [{}] * 20, items, [()] * 20, budget=size // 2)
    assert len(unpacked(cut["t0"])[0]["rows"]) == 60
    none = pack_items({}, [{}] * 20, items, [()] * 20, budget=10)
    assert not [name for name in none if name.startswith("t")]
    assert unpacked(none["d0"])[0]["tables"] == []
    assert unpacked(none["d0"])[0]["table_count"] == 1


def test_lines_of_the_structure_are_shown() -> None:
    hierarchical = table(2, 2) | {
        "structure": {"captions": [["caption"]], "header_rows": [["a", "b"]], "notes": [["n", 1.5]]}
    }
    blocks = pack_items({}, [{}], [[hierarchical]], [()])
    shown = unpacked(blocks["t0"])[0]
    assert shown["above"] == [["caption"], ["a", "b"]]
    assert shown["below"] == [["n", "1.5"]]


def test_the_page_id_follows_the_examples_only() -> None:
    assert page_id("audit", [("a", "1"), ("b", "2")]) == page_id("audit", [("b", "2"), ("a", "1")])
    assert page_id("audit", [("a", "1")]) != page_id("labels", [("a", "1")])
    assert page_id("audit", [("a", "1")]) != page_id("audit", [("a", "2")])
    assert page_id("audit", [("\ud800",)])


def test_pages_are_one_file_with_a_policy(tmp_path: Path) -> None:
    write_audit_page(tmp_path / "new" / "audit.html", [suspect()], title="<b>")
    write_label_page(tmp_path / "labels.html", [label_case()])
    for path in (tmp_path / "new" / "audit.html", tmp_path / "labels.html"):
        text = path.read_text("utf-8")
        assert "default-src 'none'" in text.replace("&#39;", "'")
        assert "<b>" not in text
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SettingsError, match="cannot write the page"):
        write_audit_page(tmp_path / "file" / "audit.html", [suspect()])


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (0.0, "neutral"),
        (0.6931471805599453, "2.0 : 1 against the gold"),
        (-2.302585092994046, "10 : 1 for the gold"),
        (50.0, "over 1,000 : 1 against the gold"),
        (float("-inf"), "over 1,000 : 1 for the gold"),
    ],
)
def test_weights_are_shown_as_odds(weight: float, text: str) -> None:
    assert odds_text(weight) == text
