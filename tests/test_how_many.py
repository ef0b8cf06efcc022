"""The tables of the page on how many questions a gate needs are those of the gates themselves."""

from __future__ import annotations

from pathlib import Path

from tests.support.scripts import load_script

DOCS = Path(__file__).parents[1] / "docs"


def test_the_tables_of_the_page_are_current() -> None:
    script = load_script(DOCS / "how_many.py", "how_many")
    text = (DOCS / "how-many.md").read_text("utf-8")
    assert script.written(text) == text, "run `python docs/how_many.py`"
    assert text.count("<!-- how-many ") == 6
    # 1 - .025^(1/n) is .072 for 50 questions, at most .2 from 17 on, .05 from 72, .01 from 368.
    for start in (
        "| 50 | 0.92 |",
        "| 20 | 17 (340) |",
        "| `>= baseline - 0.05` | 72 |",
        "| `>= baseline - 0.01` | 368 |",
    ):
        assert f"\n{start}" in text
