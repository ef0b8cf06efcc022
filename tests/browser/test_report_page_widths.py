"""The gates and the list of cases at several widths: all text is readable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.html import write_page
from tests.support.browser import Watched
from tests.support.page_files import gate_result
from tests.support.page_runs import record, write_run

GATES = (
    "starter.performance >= 0.9",
    "realhit_fc[indexed_row_major]{kind=lookup_of_two_columns}.performance >= baseline - 0.05",
    "qtsumm::test_the_answer_names_every_team_of_the_table >= 0.125",
)
WHY = "the 95 % interval of the difference to the baseline, -0.0095 to 0.0888, has -0.05 inside it"

HIDDEN = """() => {
  const box = document.querySelector("table.gates").closest(".card");
  const frame = box.getBoundingClientRect(), out = [];
  if (box.scrollWidth > box.clientWidth) out.push("the card scrolls to the side");
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const at of range.getClientRects()) {
      if (at.left < frame.left || at.right > frame.right) out.push(node.data);
    }
  }
  return out;
}"""
LABELS = """() => [...document.querySelectorAll("table.gates tbody tr:first-child [data-label]")]
  .map((cell) => getComputedStyle(cell, "::before").content)"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("widths")
    records = [
        record(references=("Butter", "Cheese"), prediction="Milk", outcome="wrong"),
        record(example_id="e2", outcome="no_answer", references=("a" * 300,)),
        record(example_id="e3", outcome="wrong", references=("b" * 300,), prediction="c" * 300),
    ]
    gates: list[Any] = [gate_result(text, interval=(-0.0095, 0.0888), reason=WHY) for text in GATES]
    write_page(write_run(folder / "run", records, texts=False), folder / "report.html", gates=gates)
    return folder / "report.html"


@pytest.mark.parametrize("width", [1400, 1081, 1080, 390])
def test_the_table_of_gates_is_readable_at_every_width(
    watched: Watched, report: Path, width: int
) -> None:
    page: Any = watched.page
    page.set_viewport_size({"width": width, "height": 900})
    watched.open(report)
    assert page.evaluate(HIDDEN) == []
    heads = page.locator("table.gates thead th")
    if width > 1080:
        names = ["gate", "state", "estimate", "95 % interval", "bound", "examples", "why"]
        assert heads.all_inner_texts() == names
    else:
        assert not heads.first.is_visible()
        names = ["estimate", "95 % interval", "bound", "examples"]
        assert page.evaluate(LABELS) == [f'"{name} "' for name in names]
    # For a screen reader it is still a table.
    assert page.get_by_role("row").filter(has_text="qtsumm::").get_by_role("cell").count() == 7


@pytest.mark.parametrize("width", [1400, 390])
def test_rows_show_the_expected_and_the_given_answer(
    watched: Watched, report: Path, width: int
) -> None:
    page: Any = watched.page
    page.set_viewport_size({"width": width, "height": 900})
    watched.open(report)
    rows = page.locator("#spacer .row")
    sides = [" ".join(text.split()) for text in rows.locator(".side").all_inner_texts()]
    assert sides[:2] == ["expected Butter | Cheese", "got Milk"]
    assert len(sides) == 5  # a case without an answer has only what was expected
    for row in rows.all():
        frame = row.bounding_box()
        for side in row.locator(".side").all():
            box = side.bounding_box()
            assert box["width"] > 50
            assert box["x"] + box["width"] <= frame["x"] + frame["width"]
            assert box["y"] + box["height"] <= frame["y"] + frame["height"]
