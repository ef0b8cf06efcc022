"""Cells in the style of public pages, and the `innerText` that Chromium gave for each.

`python -m tests.support.shown_cells` asks Chromium again for the cells of the file.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.browser import FLAGS

FILE = Path(__file__).resolve().parents[1] / "golden" / "shown_cells.json"

_STYLES = """
/* as on public pages */
.sortkey, .gone { display: none }
@media print { .screen { display: none } }
@media screen { .printonly { color: red } }
.ghost { visibility: hidden }
.box { display: block }
.forced { display: none !important }
.old { text-decoration: line-through }
p.lead + p { display: none }
#key { display: none }
.outer > b { display: none }
.sortkey::before { content: "x" }
"""


def page(cell: str) -> str:
    """Return a page with one table of one cell."""
    return (
        f"<!DOCTYPE html><html><head><title>t</title><style>{_STYLES}</style></head><body>\n"
        f"<table><tr><td>{cell}</td></tr></table></body></html>"
    )


def cells() -> list[tuple[str, str]]:
    """Return the HTML and the `innerText` of each cell."""
    return [(cell, text) for cell, text in json.loads(FILE.read_text(encoding="utf-8"))]


def main() -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        tab = browser.new_page()
        lines = []
        for cell, _ in cells():
            tab.set_content(page(cell))
            text = tab.evaluate("document.querySelector('td').innerText")
            lines.append(json.dumps([cell, text], ensure_ascii=False))
        browser.close()
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
