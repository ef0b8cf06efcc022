"""The cost of all analyses of the ToRR paper, over random scores of the paper's size.

    python benchmarks/analyses.py [--models 14] [--datasets 10] [--examples 100] [--missing 0.01]

Prints the seconds for reading the records alone and for everything, and the peak memory of the
process before (libraries loaded) and after. The records are generated while they are read.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

from pytest_tablebench import analyse
from pytest_tablebench.papers.analyses.grid import read_scores

SERIALIZERS = ["html", "csv", "json", "markdown", "indexed_row_major", "df", "concat"]
PERTURBATIONS = ["none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows"]


def records(models: int, datasets: int, examples: int, missing: float) -> Iterator[dict[str, Any]]:
    """Yield random records; half of the datasets have scores 0 or 1, half any score."""
    draw = random.Random(0).random
    for model in range(models):
        level = 0.3 + 0.4 * model / models
        for dataset in range(datasets):
            for example in range(examples):
                easy = level * draw() * 2
                for serializer in SERIALIZERS:
                    for perturbation in PERTURBATIONS:
                        score = min(1.0, easy * (0.7 + 0.6 * draw()))
                        if dataset % 2:
                            score = float(score > 0.5)
                        yield {
                            "model": f"model-{model:02}",
                            "dataset": f"dataset-{dataset:02}",
                            "example_id": f"example-{example:04}",
                            "serializer": serializer,
                            "perturbation": perturbation,
                            "score": None if draw() < missing else score,
                        }


def peak_mb() -> float:
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=14)
    parser.add_argument("--datasets", type=int, default=10)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--missing", type=float, default=0.01)
    given = parser.parse_args()
    size = given.models, given.datasets, given.examples

    analyse(records(2, 1, 2, 0))  # loads the libraries
    before = peak_mb()
    started = time.perf_counter()
    count = sum(1 for _ in records(*size, given.missing))
    making = time.perf_counter() - started
    started = time.perf_counter()
    read_scores(records(*size, given.missing))
    reading = time.perf_counter() - started - making
    started, cpu = time.perf_counter(), time.process_time()
    found = analyse(records(*size, given.missing))
    seconds = time.perf_counter() - started - making
    cpu = time.process_time() - cpu - making
    print(f"{count} records: {' x '.join(map(str, size))} x 35, {given.missing:.0%} missing")
    print(f"{'reading the records, s':32}{reading:10.2f}")
    print(f"{'everything, s':32}{seconds:10.2f}  (CPU {cpu:.2f})")
    print(f"{'peak memory before, MB':32}{before:10.0f}")
    print(f"{'peak memory after, MB':32}{peak_mb():10.0f}")
    print(f"{'result as JSON, MB':32}{len(json.dumps(found)) / 1e6:10.2f}")


if __name__ == "__main__":
    main()
