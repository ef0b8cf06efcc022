"""The cost of the page of a large run: to write, to open, to filter.

    python -m benchmarks.page [--examples 100] [--datasets 10] [--prompt 8000]

Makes up a run (by default 10 datasets x 100 examples x 35 configurations = 35,000 cases), writes
its page, and opens it in headless chromium if that is installed. The output also has ratios:
of writing to reading the run's records, and of opening to opening an empty page.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pytest_tablebench.reports.html import write_page
from pytest_tablebench.results import read_records
from pytest_tablebench.results.texts import TextWriter
from tests.support.page_runs import WORDS, make_records, write_run

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
OPEN_S, FILTER_S, SEARCH_S, SIZE_MB, PROMPT_MS = 3.0, 0.2, 0.3, 40.0, 0.1
"""The goals."""

SEARCHES = (
    "goals",
    "wi-7",
    "answer of nothing",
    "1",
    "club csv/none",
    "harbour season river",
    "test_x[da-7-html-none]",
)


def timed(action: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> Any:
    """Return the result of the action, and its seconds of wall or CPU time."""
    started = clock()
    return action(), clock() - started


def prompt_cost(folder: Path) -> float:
    """Return milliseconds of CPU to keep a prompt of 8 KB."""
    cells = [f"{word} {number}" for word in WORDS for number in range(40)]
    rows = ["| " + " | ".join(cells[i : i + 8]) + " |" for i in range(0, len(cells), 8)]
    text = "\n".join(rows)
    texts = [f"{number} {text}"[:8192].ljust(8192, ".") for number in range(1000)]
    writer = TextWriter(folder / "prompts.gz")
    started = time.process_time()
    for number, prompt in enumerate(texts):
        writer.prompt(str(number), prompt)
    writer.close()
    return time.process_time() - started


def in_browser(path: Path) -> dict[str, float] | None:
    """Return seconds to open and to filter; None without a browser."""
    chromium = os.environ.get("TABLEBENCH_CHROMIUM") or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page()
        empty = path.with_name("empty.html")
        empty.write_text("<!doctype html><title>x</title>")
        page.goto(empty.as_uri())
        _, floor = timed(lambda: page.goto(empty.as_uri()))
        opening = []
        for _ in range(3):
            page.goto("about:blank")
            started = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready-ms]", timeout=60_000)
            opening.append(time.perf_counter() - started)
        _, reading = timed(lambda: page.wait_for_selector("html[data-searched]", timeout=120_000))
        # Seconds of the page's own thread, because wall time depends on other processes.
        clock = page.context.new_cdp_session(page)
        clock.send("Performance.enable", {"timeDomain": "threadTicks"})
        searches = [_search(page, clock, text) for text in SEARCHES]
        filters = [_filter(page, step) for step in _steps(page)]
        page.click("#clear")
        page.focus("#list")

        def open_case() -> None:
            page.keyboard.press("Enter")
            page.wait_for_selector("dialog[open]")

        _, case = timed(open_case)
        browser.close()
    return {
        "empty": floor,
        "open": statistics.median(opening),
        "read": reading,
        "search": max(cost for cost, _ in searches),
        "search_wall": max(wall for _, wall in searches),
        "filter": max(filters),
        "case": case,
    }


def _steps(page: Any) -> list[Callable[[], None]]:
    steps: list[Callable[[], None]] = [
        partial(page.select_option, "#sort", name) for name in ("-latency", "answer", "-id")
    ]
    steps += [partial(page.select_option, f"#f-{name}", index=1) for name in ("d", "s", "p", "o")]
    return steps


def _search(page: Any, clock: Any, text: str) -> tuple[float, float]:
    """Return seconds of the page's thread, and of wall time, to search all texts."""
    before = _busy(clock)
    wall = _filter(page, lambda: page.fill("#search", text))
    cost = _busy(clock) - before
    _filter(page, lambda: page.fill("#search", ""))
    return cost, wall


def _busy(clock: Any) -> float:
    found = {one["name"]: one["value"] for one in clock.send("Performance.getMetrics")["metrics"]}
    return float(found["ScriptDuration"])


def _filter(page: Any, step: Callable[[], None]) -> float:
    page.evaluate("() => { delete document.documentElement.dataset.filterMs }")
    step()
    page.wait_for_selector("html[data-filter-ms]", timeout=10_000)
    return float(page.evaluate("() => document.documentElement.dataset.filterMs")) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=10)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--prompt", type=int, default=8000, help="characters of a prompt")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    given = parser.parse_args()
    names = [f"dataset_{number}" for number in range(given.datasets)]
    with tempfile.TemporaryDirectory() as temporary:
        folder, out = Path(temporary) / "run", Path(temporary) / "report.html"
        write_run(folder, make_records(names, given.examples), prompt=given.prompt)
        records, reading = timed(lambda: list(read_records(folder)), time.process_time)
        cases = len(records)
        del records
        _, writing = timed(lambda: write_page(folder, out), time.process_time)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = out.stat().st_size / 1e6
        texts = (folder / "texts.jsonl.gz").stat().st_size / 1e6
        figures = {"cases": cases, "write_s": writing, "read_s": reading, "size_mb": size}
        print(f"{cases:,} cases, texts {texts:.1f} MB, load {os.getloadavg()[0]:.1f}")
        print(f"page              {size:8.1f} MB  (goal {SIZE_MB:.0f})")
        print(f"writing           {writing:8.2f} s of CPU ({writing / reading:.1f} x reading)")
        print(f"peak memory       {peak:8.0f} MB")
        keep = prompt_cost(Path(temporary))
        print(f"keeping a prompt  {keep:8.3f} ms  of CPU for 8 KB (goal {PROMPT_MS})")
        found = in_browser(out)
        if found is None:
            print("no browser: opening and filtering are not measured")
        else:
            figures |= found
            ratio = found["open"] / found["empty"]
            print(
                f"opening           {found['open']:8.2f} s   (goal {OPEN_S}; {ratio:.0f} x empty)"
            )
            print(f"reading all texts {found['read']:8.2f} s   after opening, while idle")
            print(
                f"slowest search    {found['search']:8.3f} s   of the page's thread "
                f"({found['search_wall']:.3f} by the clock; goal {SEARCH_S})"
            )
            print(f"slowest filter    {found['filter']:8.3f} s   (goal {FILTER_S})")
            print(f"opening a case    {found['case']:8.3f} s")
        if given.json:
            given.json.write_text(json.dumps(figures, indent=2) + "\n")
        good = size < SIZE_MB and (found is None or found["open"] < OPEN_S)
        quick = found is None or (found["filter"] < FILTER_S and found["search"] < SEARCH_S)
        sys.exit(0 if good and quick else 1)


if __name__ == "__main__":
    main()
