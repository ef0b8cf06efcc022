"""Draw the tables of `starter_skills` and `starter_zh` and generate their questions.

`python -m tests.support.starter_skills` writes both folders in the package.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from pytest_tablebench.datasets.starter import starter
from pytest_tablebench.generate.folder import TableSource, write_dataset
from pytest_tablebench.generate.rules import RuleGenerator
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

FOLDERS = {"en": "skills", "zh": "skills_zh"}
"""The folder with each language's questions."""

PACKAGE = Path(str(starter.__file__)).parent

_SEED = 3
_PER_TABLE = 15


def build(folder: Path) -> None:
    """Write both datasets into a folder."""
    designs = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for language, name in FOLDERS.items():
        maker = RuleGenerator(seed=_SEED, per_table=_PER_TABLE, language=language)
        sources = [
            TableSource(f"{design['id']}.csv", partial(_table, design, designs["names"], language))
            for design in designs["table"]
        ]
        write_dataset(folder / name, sources, maker, made_with={"seed": _SEED})
        (folder / name / "tablebench.toml").unlink()  # `starter.py` describes the dataset


def _table(design: Mapping[str, Any], names: Mapping[str, list[str]], language: str) -> Table:
    rng = seeded_random(f"{design['id']}/{language}", seed=_SEED)
    labels = rng.sample(names[language], design["rows"])
    columns: dict[str, list[Any]] = {}
    group = [0] * len(labels)
    for column in design["columns"]:
        if "groups" in column:
            group = [rng.randrange(len(column["groups"]["en"])) for _ in labels]
            columns[column["en"]] = [column["groups"][language][place] for place in group]
    for column in design["columns"]:
        if "groups" not in column:
            others = columns.get(column.get("of", ""), [0.0] * len(labels))
            columns[column["en"]] = [
                _value(column, other, place, rng)
                for other, place in zip(others, group, strict=True)
            ]
    cells = [[_label(design, name, language) for name in labels]]
    for column in design["columns"]:
        values = columns[column["en"]]
        cells.append(
            values if "groups" in column else [_written(column, v, language) for v in values]
        )
    header = [design["label"][language], *(column[language] for column in design["columns"])]
    return Table(tuple(header), tuple(zip(*cells, strict=True)), design[language])


def _label(design: Mapping[str, Any], name: str, language: str) -> str:
    label = design["label"][language]
    return f"{name} {label.lower()}" if language == "en" else f"{name}{label}"


def _value(column: Mapping[str, Any], other: float, group: int, rng: Random) -> float:
    """Draw a number: uniform, skewed, around a mean, or around a multiple of another column."""
    if "low" in column:
        return rng.randint(column["low"], column["high"])
    if "skewed" in column:
        return rng.expovariate(1 / column["skewed"])
    middle = column.get("mean", column.get("base", 0) + column.get("factor", 0) * other)
    value = rng.gauss(middle + column.get("step", 0) * group, column["spread"])
    return value if column.get("factor", 0) < 0 else abs(value)


def _written(column: Mapping[str, Any], value: float, language: str) -> str:
    grouping = "," if column.get("thousands") else ""
    unit = column.get("unit", {}).get(language, "")
    return f"{value:{grouping}.{column.get('decimals', 0)}f}{unit}"


if __name__ == "__main__":
    for name in FOLDERS.values():
        shutil.rmtree(PACKAGE / name)
    build(PACKAGE)
