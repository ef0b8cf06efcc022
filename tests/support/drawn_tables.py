"""Tables of many shapes, drawn from a seed: units, groups, dates, outliers, both languages."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path
from random import Random

from pytest_tablebench.tables.table import Table

ENGLISH = (
    ("Shop", "Region", "Sales", "Costs (EUR)", "Staff", "Opened", "Weight", "Audited on"),
    ("North", "South", "East", "West"),
    "Shop",
)
CHINESE = (
    ("店铺", "地区", "销售额", "成本", "员工数", "开业年份", "重量", "审计日期"),
    ("北区", "南区", "东区", "西区"),
    "门店",
)


def drawn_table(seed: int, *, rows: int | None = None) -> Table:
    """Return a table of 5 to 60 rows; every third one is Chinese."""
    rng = Random(f"drawn table {seed}")
    header, regions, word = CHINESE if seed % 3 == 2 else ENGLISH
    size = rng.choice((5, 8, 14, 24, 40, 60)) if rows is None else rows
    names = rng.sample(range(100, 999), size)
    body = []
    for number in names:
        sales = rng.gauss(900, 260)
        costs = sales * rng.choice((0.5, 0.55)) + rng.gauss(0, 40) - rng.choice((0, 0, 500))
        weight = rng.expovariate(1 / 20) + (200 if rng.random() < 0.05 else 0)
        region = rng.choice(regions[: 2 + seed % 3])
        costs += 150 * regions.index(region)  # so that groups differ in something
        body.append(
            (
                f"{word} {number}",
                region,
                f"{sales:,.1f}",
                f"{costs:.2f}",
                str(rng.randint(2, 40)),
                str(rng.randint(1990, 2020)),
                f"{weight:.1f} kg",
                (date(2020, 1, 1) + timedelta(days=rng.randrange(900))).isoformat(),
            )
        )
    columns = [0, *sorted(rng.sample(range(1, len(header)), rng.choice((4, 6, 7))))]
    if 2 not in columns:
        columns.append(2)
    return Table(
        [header[column] for column in columns],
        [[row[column] for column in columns] for row in body],
        name=f"drawn-{seed}",
    )


def write_tables(folder: Path, count: int, *, rows: int | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(count):
        table = drawn_table(seed, rows=rows)
        with (folder / f"t{seed:03d}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([table.header, *table.rows])
