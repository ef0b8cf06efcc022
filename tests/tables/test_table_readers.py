"""Reading CSV and HTML."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.tables.table import Table

WIKITQ = Path(
    os.environ.get("TABLEBENCH_WIKITQ")
    or Path(__file__).resolve().parents[2].parent / "shared" / "data" / "wikitq"
)

# --- CSV ---------------------------------------------------------------------------------


def test_csv_text_and_file_give_the_same_table(tmp_path):
    text = 'name,"a ""b""",c\r\nx,"1,2",\r\n"two\nlines", y ,"z\r\n"\r\n'
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    expected = Table(
        ["name", 'a "b"', "c"], [["x", "1,2", ""], ["two\nlines", " y ", "z\r\n"]], "title"
    )
    assert Table.from_csv(text, title="title") == expected
    assert Table.from_csv(path, title="title") == expected
    assert Table.from_csv(str(path), title="title") == expected
    assert Table.from_csv(path).name == "t.csv"
    assert Table.from_csv(text).name is None


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
CSV_CELLS = ANY_TEXT | st.text(',"\n\r\\ ', max_size=5)


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(CSV_CELLS, min_size=n, max_size=n), min_size=1)
    )
)
def test_output_of_a_csv_writer_is_read_back(lines):
    buffer = io.StringIO()
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows(lines)
    # A first name with a byte order mark is quoted here, so none of the text is taken for one.
    assert Table.from_csv(buffer.getvalue()) == Table(lines[0], lines[1:])


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(CSV_CELLS, min_size=n, max_size=n), min_size=1)
    )
)
def test_wikitq_escapes_are_read_back(lines):
    def written(cell: str) -> str:
        return '"' + cell.replace("\\", "\\\\").replace('"', '\\"') + '"'

    text = "".join(",".join(map(written, line)) + "\n" for line in lines)
    assert Table.from_csv(text, dialect="wikitq") == Table(lines[0], lines[1:])


def test_wikitq_backslash_before_anything_else_is_a_backslash():
    table = Table.from_csv('"a","b"\n"x\\n","say \\"hi\\" \\\\ C:\\dir"\n', dialect="wikitq")
    assert table.rows == (("x\\n", 'say "hi" \\ C:\\dir'),)


def test_details_of_csv_are_read():
    assert Table.from_csv("a,b\r1,2\r").rows == (("1", "2"),)
    assert Table.from_csv("a\n\n1\n\n\n").rows == (("1",),), "blank lines are no rows"
    assert Table.from_csv('a\n""\n').rows == (("",),), "but a quoted empty cell is one"
    assert Table.from_csv('a,b\n5" pipe,x\n').rows == (('5" pipe', "x"),)
    assert Table.from_csv("a,a,\n1,2,3\n").header == ("a", "a", "")
    assert Table.from_csv("a\n").rows == ()
    assert Table.from_csv("a\x00b\n1\n").header == ("a\x00b",)


def test_a_byte_order_mark_is_dropped(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbf"a",b\n1,\xc3\xa9\n')
    assert Table.from_csv(path) == Table(["a", "b"], [["1", "é"]])
    assert Table.from_csv('\ufeff"a",b\n1,2\n').header == ("a", "b")


def test_a_cell_over_the_csv_modules_limit_is_read_and_the_limit_kept():
    limit = csv.field_size_limit()
    cell = "x" * (limit + 1)
    assert Table.from_csv(f"a\n{cell}\n").rows == ((cell,),)
    with pytest.raises(TableError):
        Table.from_csv(f'a\n"{cell}')
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n3\n", r"row 2 \(ends in line 3\): 1 cell, the header has 2"),
        ('a,b\n"1\n",2\n3,4,5\n', r"row 2 \(ends in line 4\): 3 cells, the header has 2"),
        ('a\n"open\n', r"line 2: unexpected end of data"),
        ('a\n"x"y\n', r"line 2: ',' expected after '\"'"),
        ("", "is empty"),
        ("\n \n"[:1], "is empty"),
    ],
)
def test_bad_csv_is_refused_naming_the_file_and_the_row(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_text(content, encoding="utf-8", newline="")
    with pytest.raises(TableError, match=rf"bad\.csv'.* {message}|bad\.csv' {message}"):
        Table.from_csv(path)


def test_an_unknown_dialect_offers_the_known_ones():
    with pytest.raises(SettingsError, match="did you mean 'wikitq'"):
        Table.from_csv("a\n", dialect="wikitg")


def _unescaped(cell: str) -> str:
    return re.sub(r"\\([np\\])", lambda m: {"n": "\n", "p": "|", "\\": "\\"}[m[1]], cell)


def _wikitq_pairs() -> list[object]:
    paths = sorted(WIKITQ.glob("csv/*/*.csv"))
    if not paths:
        reason = f"no WikiTableQuestions tables at {WIKITQ} (set TABLEBENCH_WIKITQ)"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="no-data")]
    return [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in paths]


@pytest.mark.parametrize("path", _wikitq_pairs())
def test_csv_files_of_wikitq_have_the_cells_of_their_tsv_files(path):
    # The twins differ in two ways that no reader can undo. The .csv files have a plain blank
    # for each no-break space (25 tables). And a run of blanks that this made is one blank in
    # the .tsv of 203-csv/304, where the .csv kept both.
    lines = path.with_suffix(".tsv").read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    twin = [[_unescaped(cell).replace("\xa0", " ") for cell in line.split("\t")] for line in lines]
    table = Table.from_csv(path, dialect="wikitq")
    cells = [list(table.header), *map(list, table.rows)]
    if (path.parent.name, path.stem) == ("203-csv", "304"):
        assert cells != twin
        cells = [[cell.replace("/  ", "/ ") for cell in line] for line in cells]
    assert cells == twin
    assert table.name == path.name


# --- files that cannot be read -------------------------------------------------------------

READERS = [Table.from_csv, Table.from_html, Table.from_xlsx]


@pytest.mark.parametrize("read", READERS)
def test_a_missing_file_is_named(read, tmp_path):
    for source in (tmp_path / "gone.x", str(tmp_path / "gone.x")):
        with pytest.raises(TableError, match=r"gone\.x' does not exist"):
            read(source)


@pytest.mark.parametrize("read", READERS)
def test_a_folder_is_named(read, tmp_path):
    with pytest.raises(TableError, match=rf"{re.escape(tmp_path.name)}' is a folder"):
        read(tmp_path)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("source", [b"a\n1\n", None, 5, ["a"]], ids=repr)
def test_a_source_that_is_neither_text_nor_path_is_refused(read, source):
    with pytest.raises(TableError, match=rf"not {type(source).__name__}"):
        read(source)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("source", ["", "x\x00y", "y" * 5000], ids=["empty", "nul", "long"])
def test_an_impossible_path_is_refused_harmlessly(read, source):
    with pytest.raises(TableError) as caught:
        read(source)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("read", [Table.from_csv, Table.from_html])
def test_bytes_that_are_not_utf_8_are_named(read, tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"a\nb\xe9\n")
    with pytest.raises(TableError, match=r"latin\.txt', line 2: byte 0xe9 is not UTF-8"):
        read(path)


@pytest.mark.parametrize("read", [Table.from_csv, Table.from_html])
def test_text_of_one_line_is_read_as_a_path_and_the_message_says_so(read):
    with pytest.raises(TableError, match="text instead of a path has a line end"):
        read("a,b,c")


# --- HTML ----------------------------------------------------------------------------------


def test_html_text_and_file_give_the_same_table(tmp_path):
    text = "<table><tr><td>a</td><td>b</td></tr><tr><th>1</th><td>é</td></tr></table>"
    path = tmp_path / "t.html"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert Table.from_html(text) == Table.from_html(path) == Table(["a", "b"], [["1", "é"]])
    assert Table.from_html(path).name == "t.html"
    assert Table.from_html(text.upper()).header == ("A", "B")


def test_html_header_is_the_last_row_of_thead():
    table = Table.from_html(
        "<table><thead><tr><th>group</th></tr><tr><th>a</th><th>a</th></tr></thead>"
        "<tr><td>1</td><td>2</td></tr><tfoot><tr><td>3</td><td>4</td></tr></tfoot></table>"
    )
    assert table == Table(["a", "a"], [["1", "2"], ["3", "4"]])


def test_html_cells_are_text_with_the_white_space_of_a_browser():
    table = Table.from_html(
        "<table>\n <tr> <th> a </th>\n\t<th>\n\t\n</th> </tr>\n"
        "<tr><td>1 &lt; 2 &amp; <b>3</b><!-- no --></td><td>x<br>y<br/>z</td></tr>\n</table>\n"
    )
    assert table == Table(["a", ""], [["1 < 2 & 3", "x\ny\nz"]])


def test_html_end_tags_can_be_missing_if_html_allows_it():
    table = Table.from_html(
        "<table><thead><tr><th>a<th>b<tbody><tr><td>1<td>2 <i>x</i><tr><td>3</td>\n<td>4</table>"
    )
    assert table == Table(["a", "b"], [["1", "2 x"], ["3", "4"]])


def test_html_tables_are_counted_from_0_and_inner_ones_count():
    text = (
        "<table><tr><td>a</td></tr><tr><td>x<table><tr><td>in</td></tr></table>y</td></tr></table>"
        "<table><tr><td>b</td></tr></table>"
    )
    assert Table.from_html(text) == Table(["a"], [["x\nin\ny"]])
    assert Table.from_html(text, index=1) == Table(["in"], [])
    assert Table.from_html(text, index=2) == Table(["b"], [])
    for index in (3, -1, True, "0"):
        with pytest.raises(TableError, match=rf"no <table> with index {index!r}; .* 0 to 2"):
            Table.from_html(text, index=index)  # type: ignore[arg-type]


@pytest.mark.parametrize("attribute", ["colspan", "rowspan"])
def test_html_spans_are_refused_and_spans_of_one_are_none(attribute):
    text = "<table><tr><th>a</th></tr><tr><td {}='{}'>cell</td></tr><tr><td>b</td></tr></table>"
    for value in ("2", " 03 ", "0")[: 2 if attribute == "colspan" else 3]:
        with pytest.raises(TableError, match=r"row 2, column 1 is merged over .* flat tables"):
            Table.from_html(text.format(attribute, value))
    for value in ("1", "01", "x", ""):
        assert Table.from_html(text.format(attribute, value)).rows == (("cell",), ("b",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "<table><tr><td>a<td>b</tr><tr></tr><tr><td>1</tr></table>",
            "row 1: 1 cell, the header has 2",
        ),
        ("<table><tr><td>a</tr><tr><td>1</tr><tr><td>1<td>2</tr></table>", "row 2: 2 cells, .* 1"),
        ("<table></table>", "has no rows"),
        ("<table><tr></tr></table>", "has no rows"),
        ("<table><td>x</td></table>", "<td> is outside of any <tr>"),
        ("no\ntable", "no <table> with index 0; there are: none"),
        ("<?xml version='1.0'?>\n<x/>", "no <table>"),
    ],
)
def test_bad_html_is_refused_naming_file_and_row(tmp_path, text, message):
    path = tmp_path / "bad.html"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=rf"bad\.html'.*{message}"):
        Table.from_html(path)


def test_html_nested_thousands_of_levels_deep_is_read():
    table = Table.from_html(f"<table><tr><td>{'<div>' * 5000}x</table>")
    assert table.header == ("x",)


# --- loading -------------------------------------------------------------------------------


def test_reading_csv_loads_no_other_library():
    program = (
        "import sys\n"
        "from pytest_tablebench.tables.table import Table\n"
        "Table.from_csv('a\\n1\\n')\n"
        "print(sorted({'pandas', 'numpy', 'bs4', 'openpyxl'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
