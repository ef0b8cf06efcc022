"""TReB's subtasks from `subtasks.toml`, and the reader of upstream's samples (treb.md 1, 2)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.files import (
    BadRowError,
    json_lines,
    read_json,
    read_text,
    text_field,
)
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import shortened


@dataclass(frozen=True)
class Subtask:
    """One subtask.

    Arguments:
        name: its name as upstream writes it.
        skill: the short name of its skill.
        form: the name of its answer form, a key of `forms` in `subtasks.toml`.
        wordings: the names of the answer in the prompt, in English and in Chinese.
        modes: the strategies that upstream runs it with.
        scores: the names of its scores.
        main, judged: the main score without a judge, and with one.
        thresholds: the pass threshold of each main score.
        system: the system message that replaces the mode's; "": the mode's.
        remark: the text after the system message.
        titles: whether the tables' titles follow the question.
        order: whether answers name rows or columns by their positions.
        is_listed: whether `subtasks.toml` has an entry for it; without one it uses the defaults.
    """

    name: str
    skill: str
    form: str
    wordings: tuple[str, str]
    modes: tuple[str, ...]
    scores: tuple[str, ...]
    main: str
    judged: str
    thresholds: Mapping[str, float]
    system: str
    remark: str
    titles: bool
    order: bool
    is_listed: bool

    @property
    def has_tables(self) -> bool:
        """Whether its samples have tables; natural language subtasks (NLU) have none."""
        return self.skill != "NLU"


def dataset_name(subtask: str) -> str:
    """Return the name of a subtask's dataset: `treb_` and the subtask in snake case."""
    return "treb_" + re.sub(r"[^a-z0-9]+", "_", subtask.lower()).strip("_")


@lru_cache(maxsize=1)
def _data() -> Mapping[str, Any]:
    text = (files(__package__) / "subtasks.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def skills() -> Mapping[str, str]:
    """Return a mapping from the skills' short names to their names, in the paper's order."""
    names: Mapping[str, str] = _data()["skills"]
    return names


def known_subtasks() -> tuple[Subtask, ...]:
    """Return the subtasks with an entry in `subtasks.toml`."""
    return tuple(map(subtask_of, _data()["subtasks"]))


def subtask_of(name: str) -> Subtask:
    """Return the description of a subtask, with the defaults if it has no entry."""
    data = _data()
    entry = data["subtasks"].get(name)
    family = [skill for start, skill in data["families"].items() if name.startswith(start)]
    fields = {**data["defaults"], **({"skill": family[0]} if family else {}), **(entry or {})}
    wordings = data["forms"][fields["form"]]
    fields |= {key: tuple(fields[key]) for key in ("modes", "scores")}
    return Subtask(
        name=name,
        **fields,
        wordings=(wordings[0], wordings[1]),
        thresholds=data["thresholds"],
        is_listed=entry is not None,
    )


_SUFFIXES = (".json", ".jsonl")
_INSTRUCTIONS = "instructions.jsonl"


@dataclass(frozen=True)
class Sample:
    """One sample.

    Arguments:
        id: the folder of its file, and its id without the subtask; unique in its dataset.
        location: its file and row, for messages.
        question, answer: the question and the expected answer as text.
        number: the answer as a number, if the file gives one.
        titles, csv, markdown, html: one text per table, in the same order; lengths may differ.
        header_rows: the number of header lines of each table, unchecked.
        context: further context of the metric.
        fault: the reason why it cannot be used; None if it can.
        folder, compat: where and in which mode its tables are read.
    """

    id: str
    location: str
    question: str
    answer: str
    number: float | None = None
    titles: tuple[str, ...] = ()
    csv: tuple[str, ...] = ()
    markdown: tuple[str, ...] = ()
    html: tuple[str, ...] = ()
    header_rows: tuple[object, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None
    folder: Path = Path()
    compat: Compat = "fixed"

    @property
    def table_count(self) -> int:
        """The number of its tables."""
        return max(map(len, (self.csv, self.markdown, self.html)))


def sample_files(folder: Path) -> list[Path]:
    """Return the files that may contain samples, sorted by name."""
    paths = (path for path in folder.rglob("*") if path.suffix in _SUFFIXES)
    return sorted(
        path
        for path in paths
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def subtask_in(path: Path) -> str | None:
    """Return the subtask that a file is named after; None if the name is not a subtask's."""
    names = {dataset_name(subtask.name): subtask.name for subtask in known_subtasks()}
    return names.get(dataset_name(path.stem))


def samples_in(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield (number from 1, subtask, row) for each row of a file.

    The subtask is taken from the file's name if that is a subtask's. Otherwise it is the first part
    of the sample's id, or the file's name for a row whose id has no such part. Raises `DataError`
    for a file that is not JSON.
    """
    named = subtask_in(path)
    if named is not None:
        yield from ((number, named, row) for number, row in enumerate(_rows(path), start=1))
        return
    facts = path.stat()  # every subtask reads this file: cache its rows until the file changes
    yield from _mixed(path, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=2)
def _mixed(path: Path, *_: int) -> Sequence[tuple[int, str, Any]]:
    rows = []
    for number, row in enumerate(_rows(path), start=1):
        row_id = row.get("id") if isinstance(row, dict) else None
        first, bar, _rest = row_id.partition("|") if isinstance(row_id, str) else ("", "", "")
        rows.append((number, (first.strip() if bar else "") or path.stem, row))
    return rows


def _rows(path: Path) -> Sequence[Any] | Iterator[Any]:
    if path.suffix == ".jsonl":
        return _lines(path)
    content = read_json(path)
    if not isinstance(content, list):
        raise DataError(f"{path}: must contain a list of samples, not a {type(content).__name__}")
    return content


def _lines(path: Path) -> Iterator[Any]:
    for number, row in json_lines(read_text(path)):
        if isinstance(row, ValueError):
            raise DataError(f"{path}, line {number}: not valid JSON: {row}")
        yield row


def sample_of(row: Any, file: Path, opened: Opened, number: int) -> Sample:
    """Return the sample of a row. Raises `BadRowError`.

    A sample without an id has a fault, because later runs could not identify it.
    """
    where = file.relative_to(opened.folder)
    question = text_field(row, "question")
    row_id = row.get("id")
    fault = None
    if isinstance(row_id, str | int) and str(row_id).strip():
        name = str(row_id).partition("|")[2] or str(row_id)
    else:
        name, fault = f"row {number}", "field 'id': is missing"
    parts = [part for part in where.parent.as_posix().split("/") if part != "."]
    answer = row.get("answer")
    if answer is None or not str(answer).strip():
        raise BadRowError("answer", "is missing: there is nothing to compare with")
    return Sample(
        id="|".join([*parts, name]),
        location=f"{shortened(where.as_posix(), 120)}, row {number}",
        question=question,
        answer=str(answer),
        number=_number(row.get("number_answer")),
        titles=_texts(row, "title"),
        csv=_texts(row, "file_path"),
        markdown=_texts(row, "Table_markdown"),
        html=_texts(row, "Table_html"),
        header_rows=tuple(_list(row, "columnslable")),
        fault=fault,
        folder=opened.folder,
        compat=opened.compat,
    )


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | None) else float(value)
    except (TypeError, ValueError):
        return None


def _list(row: Any, name: str) -> list[Any]:
    value = row.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _texts(row: Any, name: str) -> tuple[str, ...]:
    texts = _list(row, name)
    if not all(isinstance(text, str | None) for text in texts):
        raise BadRowError(name, "must be a list of texts")
    return tuple(text or "" for text in texts)


def instructions() -> list[Sample]:
    """Return the project's instructions as samples.

    The context has the rule that checks a reply. The answer is an example that follows the rule.
    """
    text = (files(__package__) / _INSTRUCTIONS).read_text(encoding="utf-8")
    samples = []
    for number, line in enumerate(text.splitlines(), start=1):
        row = parsed_json(line)
        rule = {"rule": row["rule"], "arguments": row["arguments"]}
        location = f"{_INSTRUCTIONS}, row {number}"
        samples.append(Sample(row["id"], location, row["question"], row["answer"], context=rule))
    return samples
