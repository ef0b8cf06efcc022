"""Runs a tool over tables in the sandbox.

This module is never imported there: its text is the runner of a program, and `job.json` says:

    tool: `rows`, `search` or `query`; arguments: its arguments by name;
    tables: by name, the CSV file and the types of its columns.

It prints the result for the model. A mistake in the arguments ends it with a `ValueError`.
"""

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

MOST = 3_800
"""Characters of rows, so that a result and its last line have less than 4,000."""

COUNTED = 100_000
"""Rows of a query that are counted after those that are shown."""

TYPES = {"integer": "BIGINT", "number": "DOUBLE", "text": "VARCHAR"}


def shown(header: Sequence[str], rows: Iterable[Sequence[Any]], noun: str, most: int = 0) -> str:
    """Return rows as CSV, and a last line that says how many are left out."""
    text, count, written = io.StringIO(), 0, 0
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for count, row in enumerate(rows, start=1):
        if written == count - 1 and text.tell() < MOST:
            writer.writerow(row)
            written = count
        elif count == most:
            break
    if count == written:
        return text.getvalue() if count else f"{text.getvalue()}[no {noun}]"
    total = f"more than {count - 1:,}" if count == most else f"{count:,}"
    return f"{text.getvalue()}[cut: the first {written:,} of {total} {noun} are shown]"


def rows_of(job: Any, table: str) -> tuple[list[str], Iterator[list[str]]]:
    if table not in job["tables"]:
        raise ValueError(f"no table {table!r}; there are {', '.join(job['tables'])}")
    csv.field_size_limit(sys.maxsize)
    file = Path(job["tables"][table]["file"]).open(encoding="utf-8", newline="")  # noqa: SIM115
    reader = csv.reader(file)
    header = ["row", *next(reader)]
    return header, ([str(number), *row] for number, row in enumerate(reader))


def rows(job: Any, table: str, start: int, count: int) -> str:
    """Return rows of a table by their number, from 0."""
    if start < 0 or count < 1:
        raise ValueError("start must be 0 or more, and count 1 or more")
    header, numbered = rows_of(job, table)
    return shown(header, islice(numbered, start, start + count), "rows")


def search(job: Any, table: str, text: str) -> str:
    """Return the rows with a cell that contains a text, whatever its case."""
    part = text.casefold()
    if not part:
        raise ValueError("text is empty")
    header, numbered = rows_of(job, table)
    matches = (row for row in numbered if any(part in cell.casefold() for cell in row[1:]))
    return shown(header, matches, "matching rows")


def query(job: Any, sql: str) -> str:
    """Return the result of a query over the tables."""
    import duckdb

    connection = duckdb.default_connection()  # opened before the walls were set up
    for name, table in job["tables"].items():
        types = {column: TYPES[kind] for column, kind in table["types"].items()}
        source = connection.read_csv(
            table["file"], header=True, columns=types, auto_detect=False, sep=",", quotechar='"',
            escapechar='"', na_values="",
        )  # fmt: skip
        source.create(name)
        del source
    for setting in (
        f"memory_limit = '{job['memory_mib']}MiB'",
        "temp_directory = ''",
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "allow_community_extensions = false",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    answer = connection.execute(sql)
    if not answer.description:
        return "[no rows]"
    fetched = iter(lambda: answer.fetchmany(1000), [])
    header = [column[0] for column in answer.description]
    return shown(header, (row for block in fetched for row in block), "rows", COUNTED)


def main() -> None:
    """Run the tool of the job; print its result, or the error before it ends the program."""
    job = json.loads(Path("job.json").read_text(encoding="utf-8"))
    tools: dict[str, Any] = {"rows": rows, "search": search, "query": query}
    try:
        sys.stdout.write(tools[job["tool"]](job, **job["arguments"]))
    except Exception as error:
        sys.stdout.write(f"{type(error).__name__}: {error}")
        raise


if __name__ == "runner":
    main()
