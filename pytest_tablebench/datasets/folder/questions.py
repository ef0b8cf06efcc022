"""Reader of the file of questions: usable questions, and errors for the other rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_tablebench.datasets._example import cluster_name
from pytest_tablebench.datasets.answers import answer_context
from pytest_tablebench.datasets.files import BadRowError, json_lines
from pytest_tablebench.datasets.folder._lines import delimiter_of, numbered_rows
from pytest_tablebench.datasets.folder.tables import FolderTables
from pytest_tablebench.errors import DataError
from pytest_tablebench.generate.pair import OpenQuestion
from pytest_tablebench.metrics.typed_answer import KINDS
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import known_names, shortened

COLUMNS = (
    *("table", "question", "answer"),
    *("id", "metric", "tolerance", "unit", "decimal", "threshold", "aliases", "tags", "title"),
    *("perturbations", "group", "must", "must_not", "in_table"),
)

Raw = Mapping[str, Any]
"""A row of the file, by column: texts from CSV, cells from XLSX, any values from JSON."""


@dataclass(frozen=True)
class FolderQuestion:
    """A usable question.

    Arguments:
        id: its id, unique in the folder; the row's number if the file has none.
        number: the row's number in its file, from 1 for the header.
        files: the names of its tables as the row has them.
        tables: the tables.
        text: the question.
        answers: the items of the answer, all of which are expected.
        context: the metric's context for the answer.
        aliases: other texts that are right, by answer.
        perturbations: the perturbations that keep the answer right; None for all.
        metric: a registered metric; None for `typed_answer`.
        threshold: the pass threshold; None for the dataset's.
        group: the name of its group of dependent questions; None to group by tables.
        cluster: the name of its cluster (see `with_clusters`).
        in_table: whether the answer is expected to be a cell.
        decimal: the decimal sign that its row gives; None to detect the column's.
    """

    id: str
    number: int
    files: tuple[str, ...]
    tables: tuple[Table, ...]
    text: str
    answers: tuple[str, ...]
    context: Mapping[str, Any]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    title: str | None = None
    perturbations: tuple[str, ...] | None = None
    metric: str | None = None
    threshold: float | None = None
    group: str | None = None
    cluster: str | None = None
    in_table: bool = True
    decimal: str | None = None


def raw_questions(tables: FolderTables, file: str) -> Iterator[tuple[int, Raw | BadRowError]]:
    """Yield (number, row) for each row of the file of questions; an unusable row is its error.

    Raises `DataError` for a file that cannot be read at all.
    """
    if file.endswith(".jsonl"):
        yield from _json_lines(tables.text(file))
        return
    if file.endswith(".csv"):
        text = tables.text(file)
        lines: Iterable[tuple[int, list[Any]]] = numbered_rows(text, delimiter_of(text))
    else:
        sheet = tables.question_sheet(file)
        lines = enumerate([list(sheet.header), *map(list, sheet.rows)], start=1)
    yield from _records(file, lines)


def _records(
    file: str, lines: Iterable[tuple[int, list[Any]]]
) -> Iterator[tuple[int, Raw | BadRowError]]:
    header: list[str] | None = None
    for number, cells in lines:
        if header is None:
            header = [str(name).strip().lower() for name in cells]
            _check_header(file, header)
        elif len(cells) != len(header):
            message = f"has {len(cells)} cells, the header has {len(header)}"
            yield number, BadRowError("row", f"{message}; put quotes around text with commas")
        elif any(_text(cell) for cell in cells):
            yield number, dict(zip(header, cells, strict=True))


def _check_header(file: str, header: list[str]) -> None:
    for name in header:
        if name not in COLUMNS:
            label = shortened(name, 40)
            raise DataError(f"{file}: unknown column {label!r}; {known_names(name, COLUMNS)}")
    for name in ("question", "answer"):
        if name not in header:
            raise DataError(f"{file}: the column {name!r} is missing")
    if len(set(header)) < len(header):
        raise DataError(f"{file}: a column occurs twice")


def _json_lines(text: str) -> Iterator[tuple[int, Raw | BadRowError]]:
    for number, row in json_lines(text):
        unknown = [name for name in row if name not in COLUMNS] if isinstance(row, dict) else []
        if isinstance(row, ValueError):
            yield number, BadRowError("row", f"is not JSON: {shortened(str(row), 120)}")
        elif not isinstance(row, dict):
            yield number, BadRowError("row", "must be an object")
        elif unknown:
            label = shortened(unknown[0], 40)
            yield number, BadRowError(label, f"is not a column; {known_names(label, COLUMNS)}")
        else:
            yield number, row


def question_of(tables: FolderTables, number: int, row: Raw | BadRowError) -> FolderQuestion:
    """Return a row as a question with its tables. Raises `BadRowError`; if `row` is one, that."""
    if isinstance(row, BadRowError):
        raise row
    text = _text(row.get("question"))
    if not text:
        raise BadRowError("question", "is empty")
    answers = tuple(_items(_texts(row.get("answer")), "answer"))
    if not answers:
        raise BadRowError("answer", "is empty")
    files = table_files(row)
    try:
        contents = tuple(tables.table(file) for file in files)
    except DataError as error:
        raise BadRowError("table", str(error)) from None
    stated = _facts(row)
    context = answer_context(
        contents,
        answers,
        metric="facts" if stated else _text(row.get("metric")) or None,
        tolerance=_text(row.get("tolerance")) or None,
        unit=_text(row.get("unit")) or None,
        decimal=_text(row.get("decimal")) or None,
    )
    aliases = _aliases(_parsed(row.get("aliases")), answers)
    return FolderQuestion(
        id=_text(row.get("id")) or str(number),
        number=number,
        files=files,
        tables=contents,
        text=text,
        answers=answers,
        context={**context, **stated},
        aliases=_with_stored(aliases, answers, tables, files),
        tags=_tags(_parsed(row.get("tags"))),
        title=_text(row.get("title")) or None,
        perturbations=tuple(_items(_parsed(row.get("perturbations")), "perturbations")) or None,
        metric=None if context["kind"] in KINDS else context["kind"],
        threshold=_threshold(_text(row.get("threshold"))),
        group=_text(row.get("group")) or None,
        in_table=_is_in_table(_text(row.get("in_table"))),
        decimal=_text(row.get("decimal")) or None,
    )


def _is_in_table(text: str) -> bool:
    """Return the value of `in_table`, by default yes. Raises `BadRowError`."""
    if text.lower() in {"", "yes", "true"}:
        return True
    if text.lower() in {"no", "false"}:
        return False
    raise BadRowError("in_table", f"is {shortened(text, 40)!r}; write yes or no")


def with_clusters(dataset: str, questions: Sequence[FolderQuestion]) -> list[FolderQuestion]:
    """Return the questions of a dataset, each with its cluster, for confidence intervals.

    The cluster is the question's group, or else its table. Tables that occur together in a question
    form one cluster, with all questions about them. A question without a table is its own cluster.
    """
    alone = [question for question in questions if question.group is None]
    first: dict[str, str] = {}

    def root(file: str) -> str:
        while first.setdefault(file, file) != file:
            file = first[file] = first[first[file]]
        return file

    for question in alone:
        for file in question.files[1:]:
            earlier, other = sorted((root(question.files[0]), root(file)))
            first[other] = earlier

    def cluster(question: FolderQuestion) -> str:
        if question.group is not None:
            return f"group {question.group}"
        return root(question.files[0]) if question.files else f"question {question.id}"

    return [
        replace(question, cluster=cluster_name(f"{dataset}/{cluster(question)}"))
        for question in questions
    ]


def _facts(row: Raw) -> dict[str, list[str]]:
    """Return the facts in `must` and `must_not`; {} if the row has none. Raises `BadRowError`."""
    stated = {name: _items(_parsed(row.get(name)), name) for name in ("must", "must_not")}
    name = next((name for name, facts in stated.items() if facts), None)
    metric = _text(row.get("metric"))
    if name is not None and metric not in {"", "facts", "free_text"}:
        raise BadRowError(name, f"is for free text; leave out the metric {shortened(metric, 40)!r}")
    if name is None and metric == "facts":
        raise BadRowError("metric", "facts needs the column must or must_not")
    return {} if name is None else stated


def open_question(number: int, row: Raw) -> OpenQuestion:
    """Return a row without an answer as a question. Raises `BadRowError`."""
    text, files = _text(row.get("question")), table_files(row)
    if not text:
        raise BadRowError("question", "is empty")
    if _text(row.get("answer")):
        raise BadRowError("answer", "is not empty; clear it, or remove the row")
    if len(files) != 1:
        raise BadRowError("table", f"must name one table, not {len(files)}")
    threshold = _text(row.get("threshold"))
    _threshold(threshold)
    return OpenQuestion(
        id=_text(row.get("id")) or str(number),
        file=files[0],
        text=text,
        title=_text(row.get("title")) or None,
        metric=_text(row.get("metric")),
        threshold=threshold,
        tags=_tags(_parsed(row.get("tags"))),
        perturbations=tuple(_items(_parsed(row.get("perturbations")), "perturbations")),
    )


def _threshold(text: str) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value <= 1:
        raise BadRowError("threshold", "must be a number from 0 to 1")
    return value


def table_files(row: Raw) -> tuple[str, ...]:
    """Return the names of a row's tables. Raises `BadRowError`."""
    return tuple(_items(_parsed(row.get("table")), "table"))


def _text(value: Any) -> str:
    """Return a cell as text: `yes` for True, `3` for 3.0, "" for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).strip()


def _parsed(value: Any) -> Any:
    """Return a cell's content parsed as JSON if it is a list or an object, else unchanged."""
    if isinstance(value, str) and value.strip()[:1] in {"[", "{"}:
        try:
            return parsed_json(value)
        except ValueError:
            return value
    return value


def _texts(value: Any) -> Any:
    """Return a cell's content parsed as JSON if it is a list of texts, else unchanged.

    A list such as `[1]` may itself be an answer.
    """
    parsed = _parsed(value)
    is_list = isinstance(parsed, list) and all(isinstance(item, str) for item in parsed)
    return parsed if is_list else value


def _items(value: Any, name: str) -> list[str]:
    """Return the items of a JSON list, or of a text with `|` between items, without empty ones."""
    if isinstance(value, dict):
        raise BadRowError(name, "must be a text or a list")
    if isinstance(value, list):
        if any(isinstance(item, list | dict) for item in value):
            raise BadRowError(name, "must be a list of texts")
        parts = [_text(item) for item in value]
    else:
        parts = [part.strip() for part in _text(value).split("|")]
    return [part for part in parts if part]


def _aliases(value: Any, answers: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    if isinstance(value, dict):
        for answer in value:
            if answer not in answers:
                raise BadRowError("aliases", f"{shortened(answer, 40)!r} is not one of the answers")
        return {answer: tuple(_items(others, "aliases")) for answer, others in value.items()}
    others = tuple(_items(value, "aliases"))
    if others and len(answers) > 1:
        raise BadRowError(
            "aliases", 'belong to one answer; with several write {"answer": ["alias", ...], ...}'
        )
    return {answers[0]: others} if others else {}


def _with_stored(
    aliases: Mapping[str, tuple[str, ...]],
    answers: tuple[str, ...],
    tables: FolderTables,
    files: tuple[str, ...],
) -> dict[str, tuple[str, ...]]:
    """Return the aliases, with the stored and shown forms of answers that are formatted cells."""
    extended = dict(aliases)
    for file in files:
        stored = tables.stored_values(file)
        if stored is None:
            continue
        for answer in answers:
            others = [text for text in stored.other_forms(answer) if text != answer]
            if others:
                extended[answer] = tuple(dict.fromkeys((*extended.get(answer, ()), *others)))
    return extended


def _tags(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {_text(name): _text(tag) for name, tag in value.items()}
    tags = {}
    for item in _items(value, "tags"):
        name, equals, tag = (part.strip() for part in item.partition("="))
        if not (name and equals and tag):
            raise BadRowError("tags", "are written name=value, with | between them")
        tags[name] = tag
    return tags
