"""Reading WikiTableQuestions, and damaged upstream files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.datasets import Example, Source
from pytest_tablebench.datasets.torr.wikipedia import WikiTQ
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table
from tests.support import upstream

TEST = "data/pristine-unseen-tables.tsv"


def opened(folder: Path, compat: Compat = "fixed") -> Source:
    return WikiTQ().open(folder, compat=compat)


def only(folder: Path, compat: Compat = "fixed") -> Example:
    source = opened(folder, compat)
    [example_id] = source.example_ids(None)
    return source.example(example_id)


def shown(folder: Path, text: str | bytes, *, target: str = "x", compat: Compat = "fixed") -> Table:
    """Return the table of the only question, read from the text of its file."""
    row = f"q-1\tWhich?\tcsv/9-csv/1.csv\t{target}"
    upstream.wikitq(folder, test=[row], tables={"csv/9-csv/1.tsv": text})
    table = only(folder, compat).inputs["table"]
    assert isinstance(table, Table)
    return table


def test_an_example_has_the_content_of_the_files(tmp_path: Path) -> None:
    source = opened(upstream.wikitq(tmp_path))
    assert list(source.example_ids(None)) == ["q-1", "q-2"]
    assert list(source.example_ids(1)) == ["q-1"]
    example = source.example("q-2")
    assert example.question == "How many wheels has the lower mill?"
    assert example.inputs == {
        "question": example.question,
        "table": Table(["Mill", "Wheels"], [["Upper", "2"], ["Lower", "3"]]),
    }
    # The inputs in this order seed the draws.
    assert list(example.inputs) == ["question", "table"]
    # The metric needs table and question.
    assert example.context == {"table": example.inputs["table"], "question": example.question}
    assert (example.references, example.target) == (("3",), "3")
    assert not source.problems
    assert len(source.pool) == 2
    assert source.pool[0].target == "New"
    assert set(source.facts.files) == {TEST, "data/random-split-1-train.tsv"}


@pytest.mark.parametrize("word", ["None", "NaN", "nan", "NA", "N/A", "null", "1e5", "007", r"a\nb"])
def test_targets_are_unchanged_text(tmp_path: Path, word: str) -> None:
    upstream.wikitq(tmp_path, test=[f"q-1\tWhich?\tcsv/1-csv/1.csv\t{word}"])
    assert only(tmp_path).references == (word,)


def test_several_answers_are_split(tmp_path: Path) -> None:
    upstream.wikitq(tmp_path, test=["q-1\tWhich two?\tcsv/1-csv/1.csv\tGull|Tern"])
    example = only(tmp_path)
    assert example.references == ("Gull", "Tern")
    assert example.target == "Gull"  # a demonstration shows only the first


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (" A \t B b\nx y\t  z  \n", [["A", "B b"], ["x y", "z"]]),
        ("A\n5'11\"\n", [["A"], ["5'11\""]]),
        ("A\tA\t\n1\t2\t3\n", [["A", "A", ""], ["1", "2", "3"]]),
        ("A\tB\n", [["A", "B"]]),
        ("A\tB\n1\n2\t3\t4\n", [["A", "B"], ["1"], ["2", "3", "4"]]),
        ("\ufeffA\tB\r\n1\t2\r\n", [["A", "B"], ["1", "2"]]),
    ],
    ids=["blanks", "quote", "headers", "no row", "ragged", "line ends"],
)
def test_cells_are_kept_without_blanks_around_them(
    tmp_path: Path, text: str, rows: list[list[str]]
) -> None:
    assert shown(tmp_path, text) == Table(rows[0], rows[1:])


@pytest.mark.parametrize(
    ("text", "as_written", "published"),
    [
        # A quoted line break, as in files with quoting.
        ('A\t"B\nb"\n1\t2\n', [["A", '"B'], ['b"'], ["1", "2"]], [["A", "B b"], ["1", "2"]]),
        ('A\tB\n"1\t2"\t3\n', [["A", "B"], ['"1', '2"', "3"]], [["A", "B"], ["1\t2", "3"]]),
        # A stray quote joins the following cells.
        ('A\tB\n"1\t2\n3\t4\n', [["A", "B"], ['"1', "2"], ["3", "4"]], [["A", "B"], ["1\t2 3\t4"]]),
        ('A\n"Gull"\n', [["A"], ['"Gull"']], [["A"], ["Gull"]]),
        ('A\n"Gull" x\n""\n', [["A"], ['"Gull" x'], ['""']], [["A"], ["Gull x"], [""]]),
        # The files' escapes of a line break, a bar and a backslash.
        ("A\n1\\n2\\p3\\\\\n", [["A"], ["1\\n2\\p3\\\\"]], [["A"], ["1\\n2\\p3\\\\"]]),
    ],
)  # fmt: skip
def test_only_the_mode_reference_reads_quoting(
    tmp_path: Path, text: str, as_written: list[list[str]], published: list[list[str]]
) -> None:
    rows = {"fixed": as_written, "reference": published}
    for compat in COMPAT_MODES:
        header, *others = rows[compat]
        assert shown(tmp_path, text, compat=compat) == Table(header, others)


def test_quotes_in_questions_and_answers_are_text_in_the_mode_fixed(tmp_path: Path) -> None:
    row = 'q-1\t"Gull" or "Tern"?\tcsv/1-csv/1.csv\t"Gull"|"Tern" (1907)'
    upstream.wikitq(tmp_path, test=[row, 'q-2\t"\tcsv/1-csv/1.csv\t"', row.replace("q-1", "q-3")])
    source = opened(tmp_path)
    assert list(source.example_ids(None)) == ["q-1", "q-2", "q-3"]
    assert source.example("q-1").question == '"Gull" or "Tern"?'
    assert source.example("q-1").references == ('"Gull"', '"Tern" (1907)')
    assert source.example("q-2").references == ('"',)
    assert opened(tmp_path, "reference").example_ids(None)[0] == "q-1"
    assert len(opened(tmp_path, "reference").example_ids(None)) < 3


def test_cells_are_counted_without_quoting(tmp_path: Path) -> None:
    # 101 rows of two cells; with quoting they would be a single cell.
    text = 'A\tB\n"1\t2\n' + "3\t4\n" * 100
    upstream.wikitq(
        tmp_path, test=["q-1\tWhich?\tcsv/9-csv/1.csv\t3"], tables={"csv/9-csv/1.tsv": text}
    )
    assert list(opened(tmp_path).example_ids(None)) == []
    assert list(opened(tmp_path, "reference").example_ids(None)) == ["q-1"]


def test_tables_of_over_200_cells_without_the_header_are_left_out(tmp_path: Path) -> None:
    def table(rows: int, columns: int) -> str:
        return "\n".join("\t".join(["c"] * columns) for _ in range(rows + 1)) + "\n"

    shapes = {"a": (50, 4), "b": (67, 3), "c": (1, 200), "d": (201, 1), "e": (0, 300)}
    upstream.wikitq(
        tmp_path,
        test=[f"q-{name}\tWhich {name}?\tcsv/9-csv/{name}.csv\tc" for name in shapes],
        tables={f"csv/9-csv/{name}.tsv": table(*shape) for name, shape in shapes.items()},
    )
    source = opened(tmp_path)
    assert list(source.example_ids(None)) == ["q-a", "q-c", "q-e"]
    assert not source.problems  # filtering is no problem of the data


def test_records_are_counted_before_the_filter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_tablebench.datasets.torr.wikipedia.SOURCE_LIMIT", 20)
    # 300 cells: filtered out but counted.
    wide = "\t".join(["c"] * 300) + "\n" + "\t".join(["1"] * 300) + "\n"
    rows = [f"q-{n}\tQuestion {n}?\tcsv/9-csv/wide.csv\tGull" for n in range(18)]
    rows += [f"q-{n}\tQuestion {n}?\tcsv/1-csv/1.csv\tGull" for n in range(18, 23)]
    upstream.wikitq(tmp_path, test=rows, train=rows, tables={"csv/9-csv/wide.tsv": wide})
    source = opened(tmp_path)
    assert list(source.example_ids(None)) == ["q-18", "q-19"]
    assert len(source.pool) == 2


# Damaged files


@pytest.mark.parametrize(
    "header", ["id\tutterance\ttargetValue\tcontext", "id,utterance,context,targetValue", "", "x"]
)
def test_a_file_with_another_header_is_refused(tmp_path: Path, header: str) -> None:
    upstream.wikitq(tmp_path, header=header, test=[])
    with pytest.raises(DataError, match=r"first line must be id utterance context targetValue"):
        opened(tmp_path)


GOOD = "q-9\tWhich ship is new?\tcsv/1-csv/1.csv\tTern"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("q-2\tWhich?\tcsv/1-csv/1.csv", ["field 'row'", "has 3 fields, not 4"]),
        ("q-2\tWhich?\tcsv/1-csv/1.csv\tGull\tmore", ["field 'row'", "has 5 fields"]),
        ("\tWhich?\tcsv/1-csv/1.csv\tGull", ["field 'id'", "empty"]),
        ("q-2\t\tcsv/1-csv/1.csv\tGull", ["field 'utterance'", "empty"]),
        ("q-2\tWhich?\t\tGull", ["field 'context'", "empty"]),
        ("q-2\tWhich?\tcsv/1-csv/1.csv\t", ["field 'targetValue'", "empty"]),
        ("q-1\tWhich?\tcsv/1-csv/1.csv\tGull", ["field 'id'", "'q-1'", "second time"]),
        ("q-2\tWhich?\tcsv/1-csv/77.csv\tGull", ["field 'context'", "77.tsv", "does not exist"]),
        ("q-2\tWhich?\t../../etc/passwd\tGull", ["field 'context'", "leads out of"]),
        ("q-2\tWhich?\t/etc/passwd\tGull", ["field 'context'", "leads out of"]),
        ("q-2\tWhich?\tcsv/9-csv/latin.csv\tGull", ["field 'context'", "latin.tsv", "not UTF-8"]),
        ("q-2\tWhich?\tcsv/9-csv/none.csv\tGull", ["field 'context'", "none.tsv", "is empty"]),
        ("q-2\tWhich?\tcsv/9-csv/dir.csv\tGull", ["field 'context'", "dir.tsv"]),
        ("q-2\tWhich?\tcsv/\0.csv\tGull", ["field 'context'"]),
        (f"q-2\tWhich?\t{'a' * 5000}.csv\tGull", ["field 'context'"]),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_kept(
    tmp_path: Path, row: str, words: list[str]
) -> None:
    tables: dict[str, str | bytes] = {"csv/9-csv/latin.tsv": b"A\n\xe4\n", "csv/9-csv/none.tsv": ""}
    upstream.wikitq(tmp_path, test=[upstream.WIKITQ_TEST[0], row, GOOD], tables=tables)
    (tmp_path / "csv/9-csv/dir.tsv").mkdir()
    source = opened(tmp_path)
    assert list(source.example_ids(None)) == ["q-1", "q-9"]
    [problem] = source.problems
    text = str(problem)
    # The third line of the file; the header is the first.
    assert text.startswith(f"{TEST}, row 3, ")
    for word in words:
        assert word in text
    assert "\0" not in text
