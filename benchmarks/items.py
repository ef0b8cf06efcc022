"""The cost of one item of this plugin and of a bare parametrized no-op test with the same id.

    python benchmarks/items.py [--examples 1000] [--workers 2] [--collect]

Prints collection (seconds, CPU, peak memory) and a whole run with a model that answers at once
(CPU per case). All figures are measured in one run, each as the best of `--repeat`, and compared
as ratios, because seconds depend more on the machine than on the code.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("hypothesispytest", "randomly", "rerunfailures")
"""Plugins that only our tests need: they cost time, and one of them shuffles the items."""

PYTEST = [sys.executable, "-m", "pytest", *(f"-pno:{name}" for name in ("cacheprovider", *TOOLS))]
FORMATS, CHANGES = 7, 5
STATEMENTS = 5

SUITE = """
import pytest
from pytest_tablebench import assert_accuracy

@pytest.mark.tablebench("tabfact")
def test_case(case, answer):
    assert_accuracy(case, answer)
"""

BARE = """
import json, pathlib, pytest

IDS = json.loads(pathlib.Path(__file__).with_name("ids.json").read_text())

@pytest.mark.parametrize("case", range(len(IDS)), ids=IDS)
def test_case(case):
    pass
"""


@dataclass
class Cost:
    wall: float
    cpu: float
    peak_mb: float


def write_data(folder: Path, examples: int) -> None:
    """Write a TabFact folder of small tables, five statements each, and a few demonstrations."""
    tables = folder / "tabfact/data/all_csv"
    tables.mkdir(parents=True)
    questions = folder / "tabfact/tokenized_data"
    questions.mkdir()

    def entries(start: int, count: int) -> dict[str, list[object]]:
        found: dict[str, list[object]] = {}
        for number in range(start, start + count):
            name = f"{number % 2 + 1}-{number:08}-1.html.csv"
            rows = [f"team {row}#{row * number % 97}#{row + number}" for row in range(8)]
            (tables / name).write_text("\n".join(["team#won#points", *rows]) + "\n")
            statements = [f"team {row} won {row * number % 97} games" for row in range(STATEMENTS)]
            found[name] = [statements, [1] * STATEMENTS, "season"]
        return found

    test = entries(0, examples // STATEMENTS)
    (questions / "test_examples.json").write_text(json.dumps(test))
    (questions / "train_examples.json").write_text(json.dumps(entries(10**6, 20)))


def measure(folder: Path, *arguments: str, repeat: int) -> Cost:
    """Run pytest in a fresh process; return its cost, the best of several runs."""
    costs = []
    for _ in range(repeat):
        started = time.perf_counter()
        process = subprocess.Popen(
            [*PYTEST, *arguments],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONHASHSEED": "0"},
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in {0, 1}:
            sys.exit(f"pytest ended with {process.returncode}: {' '.join(arguments)}")
        scale = 1024 if sys.platform != "darwin" else 1024 * 1024
        costs.append(
            Cost(
                time.perf_counter() - started,
                usage.ru_utime + usage.ru_stime,
                usage.ru_maxrss / scale,
            )
        )
    return min(costs, key=lambda cost: cost.cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--collect", action="store_true", help="measure only collection")
    given = parser.parse_args()
    cases = given.examples * FORMATS * CHANGES
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        write_data(root / "data", given.examples)
        (root / "pytest.ini").write_text("[pytest]\n")
        (root / "test_suite.py").write_text(SUITE)
        (root / "script.jsonl").write_text('{"default": "entailed"}\n')
        ours = [
            "test_suite.py",
            "--bench-data=data",
            f"--bench-limit={given.examples}",
            "--model=tablebench/scripted:script.jsonl",
        ]
        listed = subprocess.run(
            [*PYTEST, "--collect-only", "-q", *ours],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        ids = [line.partition("[")[2][:-1] for line in listed.splitlines() if "::" in line]
        if len(ids) != cases:
            sys.exit(f"collected {len(ids)} cases instead of {cases}")
        (root / "ids.json").write_text(json.dumps(ids))
        (root / "test_bare.py").write_text(BARE)

        print(f"{cases} cases, best of {given.repeat}")
        print(f"{'':28}{'bare':>10}{'ours':>10}{'ratio':>8}")
        quiet = ["--collect-only", "-qq"]
        bare = measure(root, "test_bare.py", *quiet, repeat=given.repeat)
        mine = measure(root, *ours, *quiet, repeat=given.repeat)
        show("collect: wall s", bare.wall, mine.wall)
        show("collect: CPU s", bare.cpu, mine.cpu)
        show("collect: peak MB", bare.peak_mb, mine.peak_mb)
        for workers in () if given.collect else (0, given.workers):
            spread = ["-n", str(workers)]
            bare = measure(root, "test_bare.py", *spread, repeat=1)
            mine = measure(root, *ours, *spread, repeat=1)
            per = 1000 / cases
            show(f"run -n {workers}: CPU ms per case", bare.cpu * per, mine.cpu * per)
            show(f"run -n {workers}: peak MB", bare.peak_mb, mine.peak_mb)


def show(label: str, bare: float, mine: float) -> None:
    print(f"{label:28}{bare:10.2f}{mine:10.2f}{mine / bare:8.2f}")


if __name__ == "__main__":
    main()
