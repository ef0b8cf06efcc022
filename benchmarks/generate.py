"""Questions a minute and memory of `tablebench generate rules`.

    python -m benchmarks.generate [--questions 20000] [--rows 24]

The goal is 20,000 accepted questions a minute on two cores, and memory that does not grow with
their number. One process does the work; its CPU time estimates the rate on an idle core.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil

from pytest_tablebench.generate.folder import TableSource, write_dataset
from pytest_tablebench.generate.rules import RuleGenerator
from tests.support.drawn_tables import drawn_table

GOAL = 20_000
PER_TABLE = 40


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=GOAL)
    parser.add_argument("--rows", type=int, default=24, help="of each table")
    given = parser.parse_args()
    count = given.questions // PER_TABLE
    memory: list[int] = []
    process = psutil.Process()

    def sources() -> Iterator[TableSource]:
        for number in range(count):
            yield TableSource(f"t{number}.csv", partial(drawn_table, number, rows=given.rows))
            memory.append(process.memory_info().rss)

    maker = RuleGenerator(per_table=PER_TABLE)
    wall, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        made = write_dataset(Path(folder), sources(), maker, made_with={"seed": 0})
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rejected = maker.tally.rejected
    quarter = memory[len(memory) // 4]
    print(f"questions                {made:,} from {count:,} tables of {given.rows} rows")
    print(
        f"a minute                 {made / wall * 60:,.0f} ({made / wall * 60 / GOAL:.2f} x goal)"
    )
    print(f"a minute of processor    {made / cpu * 60:,.0f} ({made / cpu * 60 / GOAL:.2f} x goal)")
    print(f"rejected to accepted     {rejected.total() / made:.2f}")
    print(f"memory, end to 1st 4th   {memory[-1] / quarter:.2f} ({memory[-1] >> 20} MB)")


if __name__ == "__main__":
    main()
