"""What a benchmark costs, by model: the tables of docs/costs.md.

    python benchmarks/costs.py DATA_FOLDER [--write]

Plans a part of each benchmark with `--bench-plan`, which makes no call, and prints tokens and
prices for 1,000 cases. `--write` puts the tables into docs/costs.md.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "costs.md"
START, END = "<!-- made by benchmarks/costs.py -->", "<!-- end -->"

MODELS = (
    "gpt-4o",
    "gpt-4o-mini",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
    "deepseek/deepseek-chat",
)

BENCHMARKS = {"starter": 9030, "torr": 35_000, "realhitbench": 12_284, "other": 5156}
"""Cases of a run of each benchmark with its own settings and all upstream files."""


class Plan(NamedTuple):
    """What `--bench-plan` says of a part of a benchmark; the price in US dollars."""

    cases: int
    prompt_tokens: int
    completion_tokens: int
    price: float | None


def plan(benchmark: str, model: str, data: Path, folder: Path) -> Plan | None:
    """Plan five examples of each dataset of a benchmark; None if it has no data."""
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "pytest",
                str(ROOT / "suites"),
                "-m",
                benchmark,
                "--model",
                model,
            ),
            *("--bench-limit=5", f"--bench-data={data}", "--bench-plan", "--bench-store=none"),
            *("-p", "no:cacheprovider", "--rootdir", str(folder)),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    fields = dict(re.findall(r"^  ([a-z ]+?) {2,}(?:about |at most )*([\d.,]+)", done.stdout, re.M))
    if "cases" not in fields:
        return None
    numbers = {name: float(text.replace(",", "")) for name, text in fields.items()}
    return Plan(
        int(numbers["cases"]),
        int(numbers["prompt tokens"]),
        int(numbers["completion tokens"]),
        numbers.get("price"),
    )


def tables(data: Path) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield f"Prices of litellm {metadata.version('litellm')}, {date.today():%B %Y}."
    yield ""
    yield f"| benchmark | cases of a whole run | prompt tokens a case | {' | '.join(MODELS)} |"
    yield "|---|---|---|" + "---|" * len(MODELS)
    with tempfile.TemporaryDirectory() as folder:
        for benchmark, cases in BENCHMARKS.items():
            plans = [plan(benchmark, model, data, Path(folder)) for model in MODELS]
            if plans[0] is None:
                continue
            tokens = plans[0].prompt_tokens / plans[0].cases
            prices = [
                "unknown"
                if part is None or part.price is None
                else f"{part.price / part.cases * 1000:.2f} USD"
                for part in plans
            ]
            yield f"| {benchmark} | {cases:,} | {tokens:,.0f} | {' | '.join(prices)} |"


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with upstream files")
    parser.add_argument("--write", action="store_true", help="write docs/costs.md")
    options = parser.parse_args()
    text = "\n".join(tables(options.data.resolve()))
    print(text)
    if options.write:
        before, _, rest = PAGE.read_text("utf-8").partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{START}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
