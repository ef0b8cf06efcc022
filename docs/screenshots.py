"""Pictures of the terminal and of a report for README and docs: `make screenshots`.

Writes docs/_static/terminal.svg, page.png and page-dark.png from one run of the built-in model, and
screenshots.json with the digest of what draws them. A test compares the digest, so the pictures are
made again when the report changes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "_static"
FACTS = FOLDER / "screenshots.json"
PACKAGE = ROOT / "pytest_tablebench"

ARGUMENTS = (
    "--pyargs", "pytest_tablebench.suites.test_starter", "--model", "tablebench/lexical",
    "--bench-show=0", "--bench-gate=starter.performance >= 0.15",
    "--bench-gate=all.no_answer <= 0.01",
)  # fmt: skip
COLUMNS = 110
WINDOW = {"width": 1200, "height": 760}

SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's picture of a terminal, with fonts of the reader's system: it loads nothing."""


def sources() -> Iterator[Path]:
    """Yield the files that draw the closing table and the page."""
    for suffix in ("*.j2", "*.html", "*.css", "*.js"):
        # Review pages are in no picture.
        files = sorted((PACKAGE / "documents").rglob(suffix))
        yield from (path for path in files if not path.name.startswith("review"))
    yield PACKAGE / "reports" / "terminal.py"


def digest() -> str:
    """Return the SHA-256 of all sources."""
    total = sha256()
    for path in sources():
        total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def run(folder: Path) -> str:
    """Run the built-in model into `folder/run`; return what pytest prints, with colours."""
    bin_folder = Path(sys.executable).parent  # commands are printed by name if they are on the path
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--color=yes", "-p", "no:cacheprovider"),
            *(*ARGUMENTS, "--bench-results=run", "--bench-store=none"),
        ],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(COLUMNS), "PATH": f"{bin_folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 10, 11):
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def draw_terminal(output: str, path: Path) -> None:
    """Draw the closing lines of a run."""
    from rich.console import Console
    from rich.text import Text

    lines = output.splitlines()
    first = next(i for i, line in enumerate(lines) if "tablebench: tablebench/lexical" in line)
    console = Console(record=True, width=COLUMNS, file=StringIO())
    console.print(Text.from_ansi("\n".join(lines[first:])))
    title = "pytest --model tablebench/lexical"
    path.write_text(console.export_svg(title=title, code_format=SVG, unique_id="terminal"), "utf-8")


def draw_page(report: Path) -> None:
    """Take the first screen of a report, in light and dark colours."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme, name in (("light", "page.png"), ("dark", "page-dark.png")):
            page = browser.new_page(viewport=WINDOW, color_scheme=scheme)
            page.goto(report.as_uri())
            page.wait_for_selector("html[data-ready-ms]")
            page.screenshot(path=FOLDER / name)
        browser.close()


def main() -> None:
    """Make all pictures."""
    with tempfile.TemporaryDirectory() as name:
        output = run(Path(name))
        draw_terminal(output, FOLDER / "terminal.svg")
        draw_page(Path(name) / "run" / "report.html")
    FACTS.write_text(json.dumps({"sources": digest()}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
