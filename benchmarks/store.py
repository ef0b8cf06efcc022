"""The answer store with 100,000 answers of about 400 characters: open, memory, look-up, put.

    python -m benchmarks.store [--answers 100000] [--folder FOLDER]

Yardsticks in the same run are reading the files, and `json.loads` of the same lines. Times are
from the second of two passes, so that the files are in the system's memory.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.store import Store

WORDS = [f"word{number}" for number in range(2000)]
PARAMS = {"temperature": 0, "max_tokens": 512}


def asked(number: int, temperature: float = 0) -> Request:
    return Request(
        "openai/test-model",
        (Message("system", "Answer."), Message("user", f"table and question {number} " * 40)),
        {**PARAMS, "temperature": temperature},
        case_id=f"wikitq/nu-{number // 35}/html/transpose-{number % 35}",
    )


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of the faster of two runs."""
    best = float("inf")
    for _ in range(2):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def fill(folder: Path, answers: int) -> float:
    """Write the answers with two alternating writers; return the seconds of one put."""
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=50)) for _ in range(500)]
    spent = 0.0
    for half in range(2):
        with Store.open(folder) as store:
            for number in range(half, answers, 2):
                request, reply = asked(number), Reply(texts[number % 500], "stop", 900, 80, 1e-4, 1)
                started = time.perf_counter()
                store.put(request, reply)
                spent += time.perf_counter() - started
    return spent / answers


def measure(folder: Path, answers: int) -> None:
    put = fill(folder, answers)
    files = sorted(folder.glob("segments/*.jsonl"))
    size = sum(path.stat().st_size for path in files)
    print(f"{answers:,} answers, {size / 1e6:.0f} MB, {size / answers:.0f} bytes each")

    reading = timed(lambda: [path.read_bytes() for path in files])
    opening = timed(lambda: Store.open(folder).close())
    print(
        f"  open                {opening:8.3f} s   {opening / reading:5.1f} times reading the files"
    )
    tracemalloc.start()
    store = Store.open(folder)
    print(f"  memory of the index {tracemalloc.get_traced_memory()[0] / 1e6:8.1f} MB")
    tracemalloc.stop()

    sample = random.Random(1).sample(range(answers), min(answers, 20_000))
    keys = [asked(number).key() for number in sample]
    lines = [line for path in files for line in path.open("rb")][: len(keys)]
    parse = timed(lambda: [json.loads(line) for line in lines]) / len(lines)
    found = timed(lambda: [store.get(key) for key in keys]) / len(keys)
    print(f"  look-up, a hit      {found * 1e6:8.1f} us  {found / parse:5.1f} times json.loads")
    absent = [key[::-1] for key in keys]
    missed = timed(lambda: [store.get(key) for key in absent]) / len(keys)
    print(f"  look-up, a miss     {missed * 1e6:8.1f} us")
    print(f"  put                 {put * 1e6:8.1f} us  {put / parse:5.1f} times json.loads")
    refresh = timed(store.refresh)
    print(f"  refresh, no news    {refresh * 1e6:8.1f} us")
    started = time.perf_counter()
    first = store.explain(asked(sample[0], temperature=0.5))
    print(f"  first explanation   {time.perf_counter() - started:8.3f} s   {first}")
    started = time.perf_counter()
    for number in sample[:1000]:
        store.explain(asked(number, temperature=0.5))
    print(f"  1,000 more of them  {time.perf_counter() - started:8.3f} s")
    store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where to write; default: a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        measure(Path(folder), given.answers)


if __name__ == "__main__":
    main()
