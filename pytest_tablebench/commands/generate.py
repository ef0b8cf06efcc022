"""`tablebench generate`: questions from tables by rule, and what all of its ways share."""

from __future__ import annotations

import argparse
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import cost_lines, open_client, plan_lines
from pytest_tablebench.commands.outputs import check_and_run
from pytest_tablebench.datasets.folder import QUESTION_FILES, open_folder
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from pytest_tablebench.datasets.folder.tables import FolderTables
from pytest_tablebench.datasets.folder.workbook import sheet_names
from pytest_tablebench.errors import DataError, SettingsError, writing
from pytest_tablebench.generate.folder import (
    Answer,
    PreparedTable,
    TableSource,
    prepare,
    write_dataset,
)
from pytest_tablebench.generate.question_maker import Conversation, QuestionMaker
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import counted, split_names

if TYPE_CHECKING:
    from pytest_tablebench.running.asking import ModelClient

_BATCH = 32
"""The number of tables that models are asked about concurrently."""

_KINDS = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".html", ".htm")


@dataclass(frozen=True)
class Origin:
    """Where tables come from.

    Arguments:
        files: the files to read; a killed command continues only with the same ones.
        sources: yields the tables; it receives a function to call after each of `count` parts.
        count: the number of parts, for the progress bar.
    """

    files: Sequence[Path]
    sources: Callable[[Callable[[], object]], Iterator[TableSource]]
    count: int


def chosen_names(kind: str, named: str | None, names: Mapping[str, object]) -> list[str]:
    """Return the kinds that `--kind` names, or all. Raises `UnknownNameError`."""
    from pytest_tablebench.running.axes import check_names

    chosen = split_names(named) if named else list(names)
    check_names(kind, chosen, names, f"--{kind}")
    return chosen


def shares(title: str, counts: Mapping[str, int]) -> str:
    """Return counts by name as one line."""
    listed = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    return f"{title}: {listed or 'none'}"


def write_folder(
    options: argparse.Namespace,
    maker: QuestionMaker,
    made_with: Mapping[str, Any],
    origin: Origin | None = None,
    *,
    answer: Answer | None = None,
    then: Callable[[Path], list[str]] | None = None,
) -> list[str]:
    """Write the dataset folder; return lines on it.

    `origin` defaults to the tables of the command. `answer` is passed to `write_dataset`. `then`
    receives the written folder and returns lines on the next steps.
    """
    import tqdm

    origin = origin or tables_of(options)
    about = {"seed": options.seed, **made_with, "limit": options.limit}
    about["files"] = [[str(path), path.stat().st_size] for path in origin.files]
    problems: list[str] = []
    with tqdm.tqdm(total=origin.count, unit="file", disable=None, leave=False) as bar:
        count = write_dataset(
            options.out,
            origin.sources(bar.update),
            maker,
            made_with=about,
            limit=options.limit,
            say=problems.append,
            answer=answer,
        )
    tables = maker.tally.tables
    left_out = {reason: number for reason, number in tables.items() if reason != "used"}
    lines = [f"{options.out}: {counted(count, 'question')} from {counted(tables['used'], 'table')}"]
    lines += [shares("tables left out", left_out)] if left_out else []
    lines += problems[:10]
    if not count:
        rejected = [shares("rejected", maker.tally.rejected)] if maker.tally.rejected else []
        raise DataError("; ".join(["no question could be made", *lines[1:], *rejected]))
    return [*lines, *(then or check_and_run)(options.out)]


def ask_and_write(
    options: argparse.Namespace,
    models: Sequence[str],
    maker: QuestionMaker,
    origin: Origin,
    made_with: Mapping[str, Any],
    *,
    then: Callable[[Path], list[str]] | None = None,
) -> tuple[list[str], int]:
    """Plan the calls and their price; with `--yes` make them and write the folder.

    `models` are asked in addition to `--model`; `then` as for `write_folder`. Returns the lines to
    print, and the exit code.
    """
    with open_client(options, models) as client:
        sources = origin.sources(lambda: None)
        tables = (prepare(source, maker, lambda _: None) for source in sources)
        lines, calls = plan_lines(client, tables)
        if calls and not options.yes:
            return [*lines, "nothing was asked or written; add --yes to ask"], 0
        write = partial(write_folder, options, maker, made_with, origin, then=then)
        return [*lines, *_written(options, client, maker, write)], 0


def _written(
    options: argparse.Namespace,
    client: ModelClient,
    maker: QuestionMaker,
    write: Callable[..., list[str]],
) -> list[str]:
    """Write the folder; return lines on its content, the yield and the cost."""
    size = _BATCH if options.limit is None else min(_BATCH, -(-options.limit // options.per_table))
    try:
        first, *rest = write(answer=partial(_answered, client, size))
    except (DataError, SettingsError) as error:
        if not client.spent.calls and not client.spent.failed:
            raise
        raise type(error)("; ".join([str(error), *cost_lines(client.spent)])) from None
    tally = maker.tally
    rejected_count = sum(tally.rejected.values())
    lines = [first, shares("by subtask", tally.recipes)]
    lines += [f"accepted: {tally.accepted:,} of {tally.accepted + rejected_count:,}"]
    lines += [shares("rejected", tally.rejected)] if rejected_count else []
    lines += [shares("steps", tally.course)] if tally.course else []
    return [*lines, *cost_lines(client.spent), *rest]


def _answered(
    client: ModelClient, size: int, conversations: Iterator[Conversation[PreparedTable]]
) -> Iterator[PreparedTable | Exception]:
    """Yield the results of conversations in their order; `size` of them run concurrently.

    They end when the models cannot be asked any more.
    """
    while batch := list(islice(conversations, size)):
        client.forget()
        yield from client.converse(batch)
        if client.spent.stopped is not None:
            return


def tables_of(options: argparse.Namespace) -> Origin:
    """Return the tables that a command names. Raises `DataError` if there is none."""
    files = list(_table_files(options.tables, options.out))
    if not files:
        raise DataError(f"no table in {options.tables[0]}: it needs {', '.join(_KINDS)} files")
    return Origin(files, partial(_table_sources, files), len(files))


def named_tables(file: Path, readers: Sequence[tuple[str, Callable[[], Table]]]) -> Origin:
    """Return tables by name; all of them belong to the questions in one file."""

    def sources(tick: Callable[[], object]) -> Iterator[TableSource]:
        for name, read in readers:
            yield TableSource(name, read)
            tick()

    return Origin([file], sources, len(readers))


def _table_files(paths: Sequence[Path], out: Path) -> Iterator[Path]:
    """Yield the files with tables, in a folder by name, except the files that are written."""
    for path in paths:
        if not path.exists():
            raise DataError(f"{path} does not exist")
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.suffix.lower() not in _KINDS:
                if file == path:
                    raise DataError(f"{path}: a table must be a file of {', '.join(_KINDS)}")
            elif file != path and file.name.lower() in QUESTION_FILES:
                continue  # the questions of a dataset folder
            elif file.is_file() and real_path(out) not in real_path(file).parents:
                yield file


def _table_sources(files: Sequence[Path], tick: Callable[[], object]) -> Iterator[TableSource]:
    """Yield each table of each file; every sheet of a workbook is a table."""
    for file in files:
        names = [file.name]
        if file.suffix.lower() in {".xlsx", ".xlsm"}:
            with contextlib.suppress(DataError):  # reading the table raises it again
                names = [f"{file.name}#{sheet}" for sheet in sheet_names(file)]
        for name in names:
            # One reader per table, because it caches its content.
            yield TableSource(name, partial(FolderTables(file.parent).table, name))
        tick()


def rule_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.rules import SKILLS, RuleGenerator

    subtasks = chosen_names("subtask", options.subtask, SKILLS)
    maker = RuleGenerator(subtasks=subtasks, **_chosen(options))
    facts = {"way": "rules", **_chosen(options), "subtasks": ",".join(subtasks)}
    first, *rest = write_folder(options, maker, facts)
    by_subtask = dict.fromkeys(subtasks, 0)
    for (subtask, _), count in maker.cells().items():
        by_subtask[subtask] += count
    rejected = [shares("rejected", maker.tally.rejected)] if maker.tally.rejected else []
    return [first, shares("by subtask", by_subtask), *rejected, *rest], 0


def probe_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.probes import ProbeGenerator

    maker = ProbeGenerator(**_chosen(options))
    first, *rest = write_folder(options, maker, {"way": "probes", **_chosen(options)})
    return [first, shares("by kind", maker.tally.recipes), *rest], 0


def twin_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.twins import TwinGenerator

    maker = TwinGenerator(**_chosen(options))
    first, *rest = write_folder(options, maker, {"way": "twins", **_chosen(options)})
    return [first, shares("twins with exchanged", maker.tally.exchanged), *rest], 0


def _chosen(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("seed", "language", "per_table")}


def treb_samples(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.interchange.treb_samples import write_samples

    out: Path = options.out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} is not empty; name a new folder")
    problems: list[str] = []
    questions = list(_read_questions(options.folders, problems))
    if not questions:
        raise DataError("; ".join(["no question was read", *problems[:3]]))
    with writing(f"--out: cannot write into {out}"):
        (out / "csv").mkdir(parents=True, exist_ok=True)
        done = write_samples(questions, out)
    left_out = done.left_out | Counter({"unreadable": len(problems)})
    samples, tables = sum(done.samples.values()), counted(done.tables, "table")
    lines = [f"{out}: {counted(samples, 'sample')} of {tables}"]
    lines += [shares("by subtask", done.samples)]
    lines += [shares("left out", left_out)] if left_out.total() else []
    lines += problems[:10]
    return lines, 0


def _read_questions(
    folders: list[Path], problems: list[str]
) -> Iterator[tuple[str, FolderQuestion]]:
    """Yield the questions of all folders with their dataset's name; record unreadable ones."""
    for folder in folders:
        if not folder.is_dir():
            raise DataError(f"{folder} does not exist")
        dataset = open_folder(folder)
        source = dataset.open(folder)
        problems += map(str, source.problems)
        for question in source.rows():
            yield dataset.name, question
