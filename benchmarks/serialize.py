"""CPU time of 1,000 tables in all 35 configurations of ToRR: perturbed, then written as text.

    python benchmarks/serialize.py [--tables 1000] [--data FOLDER]

FOLDER is a WikiTableQuestions checkout, of which tables of at most 200 cells are used; without it
the tables are made up: 4 to 33 rows, 3 to 8 columns, at most 200 cells. For comparison the output
has the time that pandas alone needs to build and list a data frame of each table once per
perturbation, which the published code does for its `df` format.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections import defaultdict
from itertools import cycle, islice
from pathlib import Path

import pandas as pd

from pytest_tablebench import Table, perturb
from pytest_tablebench.datasets.torr.wikipedia import read_table
from pytest_tablebench.serializers import SERIALIZERS
from pytest_tablebench.tables.perturbations import GRID


def made_up(count: int) -> list[Table]:
    draw = random.Random(0)
    tables = []
    for _ in range(count):
        columns = draw.randint(3, 8)
        rows = draw.randint(4, min(33, 200 // columns))
        cells = [
            [f"word{draw.randint(0, 9999)} {draw.randint(0, 99)}" for _ in range(columns)]
            for _ in range(rows)
        ]
        tables.append(Table([f"name {column}" for column in range(columns)], cells))
    return tables


def real(folder: Path, count: int) -> list[Table]:
    found = []
    for path in sorted(folder.glob("csv/*/*.tsv")):
        table = read_table(folder, path.relative_to(folder).as_posix(), "\t", strip=True)
        rows, columns = table.shape
        if 0 < rows * columns <= 200 and all(len(row) == columns for row in table.rows):
            found.append(table)
    return list(islice(cycle(found), count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    tables = real(given.data, given.tables) if given.data else made_up(given.tables)
    spent: defaultdict[str, float] = defaultdict(float)
    characters = 0
    for table in tables:
        for perturbation in GRID:
            started = time.process_time()
            changed = perturb(table, perturbation)
            spent["perturbing"] += time.process_time() - started
            for name, write in SERIALIZERS.items():
                started = time.process_time()
                characters += len(write(changed))
                spent[name] += time.process_time() - started
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # equal column names
        for table in tables:
            for _ in GRID:
                pd.DataFrame(table.rows, columns=list(table.header)).to_dict("list")
    frames = time.process_time() - started
    cells = sum(rows * columns for rows, columns in (table.shape for table in tables))
    print(f"{len(tables)} tables, {cells / len(tables):.0f} cells each, 35 configurations")
    for name, seconds in spent.items():
        print(f"  {name:<20}{seconds:7.2f} s")
    total = sum(spent.values())
    print(f"  {'all':<20}{total:7.2f} s of CPU, {characters / 1e6:.0f} million characters")
    print(f"  pandas frames alone {frames:7.2f} s of CPU, {frames / total:.1f} times as much")


if __name__ == "__main__":
    main()
