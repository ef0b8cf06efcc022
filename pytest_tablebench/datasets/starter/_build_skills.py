"""Draw the tables of `starter_skills` and `starter_zh` and generate their questions.

python -m pytest_tablebench.datasets.starter._build_skills [--check]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from pytest_tablebench.generate.folder import TableSource, write_dataset
from pytest_tablebench.generate.rules import RuleGenerator
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

FOLDERS = {"en": "skills", "zh": "skills_zh"}
"""The folder with each language's questions, next to this file."""

_SEED = 3
_PER_TABLE = 15
_FOLDER = Path(__file__).parent


def build(folder: Path) -> None:
    """Write both datasets into a folder."""
    designs = tomllib.loads((_FOLDER / "designs.toml").read_text(encoding="utf-8"))
    for language, name in FOLDERS.items():
        maker = RuleGenerator(seed=_SEED, per_table=_PER_TABLE, language=language)
        sources = [
            TableSource(f"{design['id']}.csv", partial(_table, design, designs["names"], language))
            for design in designs["table"]
        ]
        write_dataset(folder / name, sources, maker, made_with={"seed": _SEED})
        (folder / name / "tablebench.toml").unlink()  # `skills.py` describes the dataset


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


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for name in FOLDERS.values():
        for path in sorted((folder / name).rglob("*")):
            if path.is_file():
                yield str(path.relative_to(folder)), path.read_bytes()


def main(arguments: Sequence[str] | None = None, *, folder: Path = _FOLDER) -> int:
    """Write the datasets, or with `--check` return 1 if they differ from the present files."""
    parser = argparse.ArgumentParser(description="Generate starter_skills and starter_zh.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as made:
        build(Path(made))
        if options.check:
            return 0 if dict(_files(Path(made))) == dict(_files(folder)) else 1
        for name in FOLDERS.values():
            shutil.rmtree(folder / name, ignore_errors=True)
            shutil.copytree(Path(made) / name, folder / name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
