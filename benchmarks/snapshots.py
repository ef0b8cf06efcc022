"""The cost of comparing answers with stored ones in a run, and of recording them.

    python -m benchmarks.snapshots [--cases 10000] [--words 120] [--repeat 3]

Three runs over the same cases with a model that answers at once: without snapshots, recording
all answers anew, and comparing each with the stored one. Prints seconds and their ratio to the run
without snapshots, because seconds depend more on the machine than on the code. The goal is that
comparing 10,000 answers adds less than 10 s.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.items import CHANGES, SUITE, Cost, measure, write_data
from pytest_tablebench.results.snapshot_comparison import SnapshotFile
from pytest_tablebench.results.snapshots import Entry

WRITTEN = 2
GOAL_S = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=120, help="length of an answer")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    examples = given.cases // (WRITTEN * CHANGES)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        write_data(root / "data", examples)
        (root / "pytest.ini").write_text("[pytest]\n")
        (root / "test_suite.py").write_text(SUITE)
        answer = "entailed\n" + "because " * given.words
        (root / "script.jsonl").write_text(json.dumps({"default": answer}) + "\n")
        base = [
            "test_suite.py",
            "--bench-data=data",
            "--bench-serializer=html,csv",
            f"--bench-limit={examples}",
            "--bench-store=none",
            "--bench-no-page",
            "--model=tablebench/scripted:script.jsonl",
        ]
        ways = {
            "without": [],
            "recording": ["--bench-snapshot", "--snapshot-update"],
            "comparing": ["--bench-snapshot"],
        }
        best: dict[str, Cost] = {}
        for _ in range(given.repeat):
            # Alternating, so that a busy minute does not affect only one kind of run.
            for way, options in ways.items():
                if way == "recording":
                    shutil.rmtree(root / "snapshots", ignore_errors=True)
                cost = measure(root, *base, *options, repeat=1)
                if way not in best or cost.cpu < best[way].cpu:
                    best[way] = cost
        [file] = (root / "snapshots").iterdir()
        stored = file.read_text().count("\n# ---")
        if stored != given.cases:
            sys.exit(f"{stored} answers were stored instead of {given.cases}")
        print(f"{given.cases} answers of {len(answer)} characters, best of {given.repeat}")
        print(f"{'':12}{'wall s':>10}{'CPU s':>10}{'ratio':>8}{'peak MB':>10}")
        plain = best["without"]
        for way, cost in best.items():
            ratio = cost.cpu / plain.cpu
            print(f"{way:12}{cost.wall:10.2f}{cost.cpu:10.2f}{ratio:8.2f}{cost.peak_mb:10.0f}")
        added = best["comparing"].cpu - plain.cpu
        print(f"comparing adds {added:.2f} s of CPU (goal: under {GOAL_S:.0f} s)")
        print(f"reading the file and comparing alone: {alone(file, answer):.2f} s of CPU")


def alone(path: Path, answer: str) -> float:
    """Return the CPU seconds of reading the file and comparing, outside a run."""
    line = json.dumps({"raw": answer})
    started = time.process_time()
    file = SnapshotFile(path, path)
    for name in file.stored:
        is_right = file.stored[name].startswith("right")
        raw = json.loads(line)["raw"]
        entry = Entry("right", 1.0, raw) if is_right else Entry("wrong", 0.0, raw)
        if file.note(name, name, entry) is not None:
            sys.exit(f"{name} differs from what was stored")
    return time.process_time() - started


if __name__ == "__main__":
    main()
