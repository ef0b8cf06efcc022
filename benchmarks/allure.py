"""The cost of Allure results: ours in each mode, and allure-pytest's.

    python benchmarks/allure.py [--cases 35000] [--pytest-cases 2000] [--modes all wrong] [--quick]

Ours are written from made-up records (40 % wrong, 1 % without an answer) with a table of 20 rows
for each example and perturbation. Allure-pytest is timed as the CPU of bare parametrized tests with
`--alluredir` minus the CPU without it, the best of three. If the npm package
`allure` is installed (.ci/browser-tools), the time of its generator is printed too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pytest_tablebench.reports.allure import MODES, write_allure
from pytest_tablebench.results import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import ExampleText, PromptText

SERIALIZERS = ("html", "csv", "json", "markdown", "indexed_row_major", "df", "concat")
PERTURBATIONS = ("none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows")
CONFIGURATIONS = len(SERIALIZERS) * len(PERTURBATIONS)
ALLURE = Path(__file__).parents[1] / ".tools/npm/node_modules/.bin/allure"

BARE = """
import pytest

@pytest.mark.parametrize("number", range({cases}))
def test_case(number):
    assert number % 5 not in (0, 1)
"""


def records(cases: int) -> Iterator[Record]:
    for number in range(cases):
        place = number % CONFIGURATIONS
        serializer, perturbation = SERIALIZERS[place % 7], PERTURBATIONS[place // 7]
        example = f"nu-{number // CONFIGURATIONS}"
        outcome = "no_answer" if number % 100 == 99 else "wrong" if number % 5 < 2 else "right"
        yield Record(
            case_id=f"wikitq/{example}/{serializer}/{perturbation}",
            model="m",
            benchmark="torr",
            dataset="wikitq",
            example_id=example,
            serializer=serializer,
            perturbation=perturbation,
            strategy="direct",
            modality="text",
            outcome=outcome,  # type: ignore[arg-type]
            score=None if outcome == "no_answer" else float(outcome == "right"),
            metric="exact_match",
            prediction=["41"],
            raw=None if outcome == "no_answer" else "The answer is 41. " * 10,
            references=("36",),
            reason="timeout" if outcome == "no_answer" else None,
            prompt_digest=f"{number:016x}",
            latency_s=0.5,
        )


def texts(cases: int) -> Iterator[PromptText | ExampleText]:
    rows = [[f"cell {row} {column}" for column in range(6)] for row in range(20)]
    for number in range(0, cases, CONFIGURATIONS):
        example = f"nu-{number // CONFIGURATIONS}"
        for perturbation in PERTURBATIONS:
            table = {"title": example, "header": list("abcdef"), "rows": [*rows, [perturbation]]}
            yield ExampleText(f"wikitq/{example}/{perturbation}", "How many?", (table,))
    for number in range(cases):
        yield PromptText(f"{number:016x}", f"{number} " + "prompt " * 1000)


def folder_size(folder: Path) -> tuple[int, float]:
    """Return the number of files, and megabytes on disk in blocks of 4 KiB."""
    sizes = [path.stat().st_size for path in folder.iterdir()]
    return len(sizes), sum(-(-size // 4096) * 4096 for size in sizes) / 1e6


def pytest_cpu(folder: Path, *arguments: str) -> float:
    started = os.times()
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
    subprocess.run([*command, *arguments], cwd=folder, stdout=subprocess.DEVNULL, check=False)
    ended = os.times()
    before = started.children_user + started.children_system
    return ended.children_user + ended.children_system - before


def generate(results: Path, out: Path) -> str:
    if not ALLURE.exists():
        return "-"
    started = time.perf_counter()
    done = subprocess.run(
        [ALLURE, "generate", results, "-c", results / "allurerc.json", "-o", out],
        capture_output=True,
        check=False,
        cwd=out.parent,
    )
    return f"{time.perf_counter() - started:.1f}" if done.returncode == 0 else "failed"


def line(name: str, cases: int, folder: Path, *, cpu: float, site: str) -> None:
    files, megabytes = folder_size(folder)
    per = 1000 / cases
    print(
        f"{name:14}{cases:8}{files:8}{files * per:10.0f}{megabytes:9.1f}{megabytes * per:10.2f}"
        f"{cpu:9.2f}{cpu * per:10.3f}{site:>12}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=35_000)
    parser.add_argument("--pytest-cases", type=int, default=2_000)
    parser.add_argument("--modes", nargs="*", choices=MODES, default=MODES)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, no site")
    given = parser.parse_args()
    cases = given.cases // 10 if given.quick else given.cases
    bare = given.pytest_cases // 10 if given.quick else given.pytest_cases
    print(
        f"{'':14}{'cases':>8}{'files':>8}{'per 1000':>10}{'MB':>9}{'per 1000':>10}"
        f"{'CPU s':>9}{'per 1000':>10}{'site s':>12}"
    )
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        (root / "pytest.ini").write_text("[pytest]\n")
        (root / "test_bare.py").write_text(BARE.format(cases=bare))
        without = min(pytest_cpu(root) for _ in range(3))
        beside = min(pytest_cpu(root, "--alluredir=beside", "--clean-alluredir") for _ in range(3))
        line("allure-pytest", bare, root / "beside", cpu=beside - without, site="")
        for mode in given.modes:
            out = root / mode
            started = time.process_time()
            write_allure(
                list(records(cases)),
                out,
                run=RunFacts.from_json({"model": "m", "start": "2026-01-01T00:00:00+00:00"}),
                mode=mode,
                texts=texts(cases),
            )
            cpu = time.process_time() - started
            site = "-" if given.quick else generate(out, root / f"site-{mode}")
            line(mode, cases, out, cpu=cpu, site=site)


if __name__ == "__main__":
    main()
