"""`tablebench generate rules|probes|twins TABLES... -o DIR`: questions from tables."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.util.names import counted, printable, split_names, unknown_name

if TYPE_CHECKING:
    from pytest_tablebench.generate._folder import Source

__all__ = ["add_parser"]

_KINDS = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".html", ".htm")


def add_parser(commands: Any) -> None:
    """Add the command, with one below it for each way to questions."""
    parser = commands.add_parser("generate", help="write a dataset folder of questions from tables")
    ways = parser.add_subparsers(required=True, metavar="WAY")
    rules = ways.add_parser("rules", help="every table skill, by rule; no model is asked")
    _add_common(rules, per_table=20)
    rules.add_argument("--subtask", metavar="A,B", help="ask these subtasks only")
    rules.set_defaults(lines=_rules)
    probes = ways.add_parser("probes", help="sizes, cells, rows, columns: elementary reading")
    _add_common(probes, per_table=20)
    probes.set_defaults(lines=_probes)
    twins = ways.add_parser(
        "twins", help="each question of a table with merged cells, and of one with parts exchanged"
    )
    _add_common(twins, per_table=10)
    twins.set_defaults(lines=_twins)


def _add_common(parser: argparse.ArgumentParser, *, per_table: int) -> None:
    parser.add_argument(
        "tables",
        nargs="+",
        type=Path,
        metavar="TABLES",
        help="CSV, TSV, XLSX, Parquet or HTML files, or folders of them",
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="new folder")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="other questions. 0")
    parser.add_argument(
        "--per-table",
        type=_count,
        default=per_table,
        metavar="N",
        help=f"most questions of one table. {per_table}",
    )
    parser.add_argument("--limit", type=_count, metavar="N", help="most questions in all")
    parser.add_argument(
        "--language",
        choices=("auto", "en", "zh", "both"),
        default="auto",
        help="of the questions. Default: that of each table's headings",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError("must be a whole number from 1 on")
    return int(text)


def _rules(given: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.rules import SKILLS, RuleGenerator

    subtasks = split_names(given.subtask) if given.subtask else list(SKILLS)
    for name in subtasks:
        if name not in SKILLS:
            raise SettingsError(unknown_name("subtask", name, SKILLS))
    chosen = {"language": given.language, "per_table": given.per_table}
    maker = RuleGenerator(seed=given.seed, subtasks=subtasks, **chosen)
    lines = _write(given, maker, {"way": "rules", **chosen, "subtasks": ",".join(subtasks)})
    tally = maker.tally
    by_subtask = dict.fromkeys(subtasks, 0)
    for (subtask, _), count in tally.cells().items():
        by_subtask[subtask] += count
    shown = [*lines[:1], _shares("by subtask", by_subtask)]
    shown += [_shares("rejected", tally.rejected)] if tally.rejected else []
    return [*shown, *lines[1:]], 0


def _probes(given: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.probes import ProbeGenerator

    chosen = {"language": given.language, "per_table": given.per_table}
    maker = ProbeGenerator(seed=given.seed, **chosen)
    lines = _write(given, maker, {"way": "probes", **chosen})
    return [lines[0], _shares("by kind", maker.tally.recipes), *lines[1:]], 0


def _twins(given: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.twins import TwinGenerator

    chosen = {"language": given.language, "per_table": given.per_table}
    maker = TwinGenerator(seed=given.seed, **chosen)
    lines = _write(given, maker, {"way": "twins", **chosen})
    return [lines[0], _shares("twins with exchanged", maker.exchanged), *lines[1:]], 0


def _shares(what: str, counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    return f"{what}: {listed or 'none'}"


def _write(given: argparse.Namespace, maker: Any, made_with: Mapping[str, Any]) -> list[str]:
    """Write the dataset folder; return what to say of it."""
    import tqdm

    from pytest_tablebench.generate._folder import write_dataset

    files = list(_files(given.tables, given.out))
    if not files:
        raise DataError(f"no table in {given.tables[0]}: it needs {', '.join(_KINDS)} files")
    about = {"seed": given.seed, **made_with, "limit": given.limit}
    about["files"] = [[str(path), path.stat().st_size] for path in files]
    problems: list[str] = []
    with tqdm.tqdm(total=len(files), unit="file", disable=None, leave=False) as bar:
        try:
            count = write_dataset(
                given.out,
                _sources(files, bar.update),
                maker,
                made_with=about,
                limit=given.limit,
                say=problems.append,
            )
        except KeyboardInterrupt:
            raise DataError("interrupted; the same command goes on from here") from None
    tables = maker.tally.tables
    left_out = {reason: number for reason, number in tables.items() if reason != "used"}
    lines = [f"{given.out}: {counted(count, 'question')} from {counted(tables['used'], 'table')}"]
    lines += [_shares("tables left out", left_out)] if left_out else []
    lines += [printable(problem, 300) for problem in problems[:10]]
    if not count:
        raise DataError("; ".join(["no question could be made", *lines[1:]]))
    shown = printable(shlex.quote(str(given.out)))
    return [
        *map(printable, lines),
        f"look for mistakes: tablebench check {shown}",
        f"run: pytest --pyargs pytest_tablebench.suites --bench-data {shown}",
    ]


def _files(given: Sequence[Path], out: Path) -> Iterator[Path]:
    """Yield the files with tables, those of a folder by name; what is written is none of them."""
    for path in given:
        if not path.exists():
            raise DataError(f"{path}: there is no such file or folder")
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in found:
            if file.suffix.lower() not in _KINDS:
                if file == path:
                    raise DataError(f"{path}: a table is a file of {', '.join(_KINDS)}")
            elif file.is_file() and out.resolve() not in file.resolve().parents:
                yield file


def _sources(files: Sequence[Path], tick: Callable[[], object]) -> Iterator[Source]:
    """Yield each table of each file: every sheet of a workbook is one."""
    from pytest_tablebench.datasets.folder._tables import FolderTables
    from pytest_tablebench.datasets.folder._workbook import sheet_names
    from pytest_tablebench.generate._folder import Source

    for file in files:
        names = [file.name]
        if file.suffix.lower() in {".xlsx", ".xlsm"}:
            with contextlib.suppress(DataError):  # reading it says what is wrong
                names = [f"{file.name}#{sheet}" for sheet in sheet_names(file)]
        for name in names:
            # A reader for each table: it remembers what it read.
            yield Source(name, partial(FolderTables(file.parent).table, name))
        tick()
