"""Writing of questions as TReB's samples, each table as CSV, Markdown and HTML (treb.md 2, 6.4)."""

from __future__ import annotations

import hashlib
import html
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pytest_tablebench.datasets.files import delimited_rows
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from pytest_tablebench.datasets.treb import html_table, markdown_lines
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.generate.folder import text_table
from pytest_tablebench.generate.pair import parse_number, plain_question
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import SameTable, TableFile
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import slug

Lines = Sequence[Sequence[str]]


class Written(NamedTuple):
    """The number of samples by subtask, of tables, and of omitted questions by reason."""

    samples: Counter[str]
    tables: int
    left_out: Counter[str]


@dataclass(frozen=True)
class _Forms:
    """A table in three forms with the same cells."""

    name: str
    header_rows: int
    csv: str
    markdown: str
    html: str


class _LeftOutError(TableBenchError):
    """The table cannot be written; the message is the reason that `Written` counts."""


def write_samples(questions: Sequence[tuple[str, FolderQuestion]], folder: Path) -> Written:
    """Write questions, each with the name of its dataset, as samples, one file per subtask.

    The subtask is the tag `subtask`, or else the dataset's name. Two kinds of questions are
    omitted: repeated questions about the same tables, and questions about a table whose three
    forms are not read back as the same cells.
    """
    left_out, texts, samples = Counter[str](), dict[str, str](), dict[str, list[bytes]]()
    seen: set[tuple[Any, ...]] = set()

    @cache
    def forms_of(key: SameTable) -> _Forms:
        forms = _forms(key.table)
        texts[forms.name] = forms.csv
        return forms

    for dataset, question in questions:
        try:
            tables = [forms_of(SameTable(table)) for table in question.tables]
        except _LeftOutError as error:
            left_out[str(error)] += 1
            continue
        key = (plain_question(question.text), *(forms.name for forms in tables))
        if key in seen:
            left_out["duplicate"] += 1
            continue
        seen.add(key)
        subtask = slug(question.tags.get("subtask", dataset), 60, digest=False) or "Own"
        line = _sample_line(f"{subtask}|{dataset}|{question.id}", question, tables)
        samples.setdefault(subtask, []).append(line)
    for name, text in texts.items():
        write_whole(folder / "csv" / name, text)
    for subtask, lines in samples.items():
        write_whole(folder / f"{subtask}.jsonl", lines)
    counts = Counter({subtask: len(lines) for subtask, lines in samples.items()})
    return Written(counts, len(texts), left_out)


def _sample_line(name: str, question: FolderQuestion, tables: Sequence[_Forms]) -> bytes:
    number = parse_number(question.answers[0]) if len(question.answers) == 1 else None
    sample = {
        "id": name,
        "file_path": [f"csv/{forms.name}" for forms in tables],
        "instruction": "",
        "question": question.text,
        "answer": ", ".join(question.answers),
        "title": [question.title or table.title or "" for table in question.tables],
        "columnslable": [forms.header_rows for forms in tables],
        "Table_markdown": [forms.markdown for forms in tables],
        "Table_html": [forms.html for forms in tables],
        "number_answer": "" if number is None else float(number.value),
    }
    return json.dumps(sample, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _forms(table: Table) -> _Forms:
    if table.captions or table.notes:
        raise _LeftOutError("table with captions or notes")
    rows = [*table.header_rows, table.header, *table.rows]
    plain = text_table(Table(rows[0], rows[1:]))
    texts = [[str(cell) for cell in line] for line in plain.lines]
    header_rows = len(table.header_rows) + 1
    forms = _Forms(
        _name(texts),
        header_rows,
        TableFile(plain).read(".csv").decode("utf-8", "surrogatepass"),
        _markdown(texts),
        _html(texts, header_rows),
    )
    read = {
        "CSV": delimited_rows(forms.csv, ","),
        "Markdown": markdown_lines(forms.markdown),
        "HTML": _html_lines(forms.html),
    }
    for form, back in read.items():
        if back != texts:
            raise _LeftOutError(f"table that changes when written as {form}")
    return forms


def _name(texts: Lines) -> str:
    content = json.dumps(texts).encode("ascii")
    return f"table-{hashlib.sha256(content).hexdigest()[:16]}.csv"


def _markdown(texts: Lines) -> str:
    r"""Return a Markdown table; a bar in a cell becomes `\|`."""
    rows = [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in texts
    ]
    return "\n".join([rows[0], f"|{' --- |' * len(texts[0])}", *rows[1:]])


def _html(texts: Lines, header_rows: int) -> str:
    def row(line: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in line)}</tr>"

    head = "".join(row(line, "th") for line in texts[:header_rows])
    body = "".join(row(line, "td") for line in texts[header_rows:])
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _html_lines(text: str) -> list[list[str]] | None:
    parsed = html_table(text)
    return None if parsed is None else [[str(cell) for cell in line] for line in parsed.lines]
