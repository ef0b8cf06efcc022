"""Tables with structure as text, in the grammar of RealHiTBench's files."""

from __future__ import annotations

import csv
import io
import json
import re
from functools import cache
from typing import Any

import pytest

from pytest_tablebench import Table, serialize
from tests.support.slices import ROOT, needs_slices

TABLE = Table(
    header=["", "2022", "2023"],
    rows=[["North & South", "", ""], ["Hove", 1, None], ["West\nHove", "2_a", 3.5]],
    captions=[["Table 1 <b>", "", ""]],
    header_rows=[["Place", "Visitors", ""]],
    row_headers=1,
    row_levels=[0, 0, 1],
    sections=[0],
    notes=[['"own" count', "", "n"]],
    spans=[(0, 0, 1, 3), (1, 0, 2, 1), (1, 1, 1, 2), (3, 0, 1, 3)],
)

WRITTEN = {
    "latex": r"""% \usepackage{multirow}
\begin{table}[]
\begin{tabular}{lll}
\multicolumn{3}{l}{Table 1 \textless{}b\textgreater{}} \\
\multirow{2}{*}{Place} & \multicolumn{2}{l}{Visitors} \\
 & 2022 & 2023 \\
\multicolumn{3}{l}{North \& South} \\
Hove & 1 &  \\
\begin{tabular}[c]{@{}l@{}}West\\ Hove\end{tabular} & 2\_a & 3.5 \\
"own" count &  & n
\end{tabular}
\end{table}""",
    "html": """<table>
  <thead>
    <tr><td colspan="3">Table 1 &lt;b&gt;</td></tr>
    <tr><th rowspan="2">Place</th><th colspan="2">Visitors</th></tr>
    <tr><th>2022</th><th>2023</th></tr>
  </thead>
  <tbody>
    <tr><th colspan="3">North &amp; South</th></tr>
    <tr><th>Hove</th><td>1</td><td></td></tr>
    <tr><th style="padding-left:9px">West<br>Hove</th><td>2_a</td><td>3.5</td></tr>
  </tbody>
  <tfoot>
    <tr><td>"own" count</td><td></td><td>n</td></tr>
  </tfoot>
</table>""",
    "csv": '''"Table 1 <b>","",""
"Place","Visitors",""
"","2022","2023"
"North & South","",""
"Hove","1",""
"West
Hove","2_a","3.5"
"""own"" count","","n"''',
    "markdown": """|    | Table 1 <b>   |          |      |
|---:|:--------------|:---------|:-----|
|  0 | Place         | Visitors |      |
|  1 |               | 2022     | 2023 |
|  2 | North & South |          |      |
|  3 | Hove          | 1        |      |
|  4 | West          | 2_a      | 3.5  |
|    | Hove          |          |      |
|  5 | "own" count   |          | n    |""",
    "json": '[{"Table 1 <b>": "Place", "Unnamed: 1": "Visitors", "Unnamed: 2": null}, '
    '{"Table 1 <b>": null, "Unnamed: 1": "2022", "Unnamed: 2": "2023"}, '
    '{"Table 1 <b>": "North & South", "Unnamed: 1": null, "Unnamed: 2": null}, '
    '{"Table 1 <b>": "Hove", "Unnamed: 1": "1", "Unnamed: 2": null}, '
    '{"Table 1 <b>": "West\\nHove", "Unnamed: 1": "2_a", "Unnamed: 2": "3.5"}, '
    '{"Table 1 <b>": "\\"own\\" count", "Unnamed: 1": null, "Unnamed: 2": "n"}]',
    "indexed_row_major": "col : Place | Visitors > 2022 | Visitors > 2023 "
    "row 1 : North & South > Hove | 1 | None row 2 : North & South > Hove > West\nHove | 2_a | 3.5",
    "df": 'pd.DataFrame({\n"Place": '
    '["North & South > Hove", "North & South > Hove > West\\nHove"], '
    '"Visitors > 2022": [1, "2_a"], "Visitors > 2023": [NaN, 3.5]},\nindex=[0, 1])',
    "concat": "Place Visitors > 2022 Visitors > 2023 "
    "North & South > Hove 1 None North & South > Hove > West\nHove 2_a 3.5",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_table_with_structure_in_each_format(name: str) -> None:
    assert serialize(TABLE, name) == WRITTEN[name]


def test_a_flat_table_in_latex_needs_no_package() -> None:
    assert serialize(Table(["a#", "b"], [["$1", None]]), "latex") == (
        "\\begin{table}[]\n\\begin{tabular}{ll}\na\\# & b \\\\\n\\$1 & \n"
        "\\end{tabular}\n\\end{table}"
    )


def test_what_latex_would_read_as_a_command_is_escaped() -> None:
    text = serialize(Table(["\\x{}^~|[1]"], [["%&"]]), "latex")
    escaped = (
        r"\textbackslash{}x\{\}\textasciicircum{}\textasciitilde{}\textbar{}{[}1{]}",
        r"\%\&",
    )
    assert text.splitlines()[2:4] == [f"{escaped[0]} \\\\", escaped[1]]


def test_a_cell_merged_both_ways_in_latex() -> None:
    spans = [(0, 0, 2, 2)]
    table = Table(["", "", "b"], [["x", 1, 2]], header_rows=[["", "", "a"]], spans=spans)
    assert serialize(table, "latex").splitlines()[3:6] == [
        r"\multicolumn{2}{l}{\multirow{2}{*}{}} & a \\",
        r"\multicolumn{2}{l}{} & b \\",
        "x & 1 & 2",
    ]


def test_equal_keys_of_json_are_numbered() -> None:
    table = Table(["a", "a", ""], [["1", "2", "3"]], row_headers=1)
    assert json.loads(serialize(table, "json")) == [{"a": "1", "a.1": "2", "Unnamed: 2": "3"}]


def test_a_merged_value_stands_in_each_flat_cell() -> None:
    spans = [(1, 1, 1, 2)]
    table = Table(["d", "m", "e"], [["Mon", "shut", ""]], row_headers=1, spans=spans)
    assert serialize(table, "concat") == "d m e Mon shut shut"


def test_markdown_of_one_huge_cell_is_not_padded() -> None:
    table = Table(["a", "b"], [["x" * 1_000_000, "1"], *[["y", "2"]] * 200], row_headers=1)
    assert len(serialize(table, "markdown")) < 1_010_000


REAL = ROOT / "realhitbench" / "data"
STEMS = sorted(path.stem for path in (REAL / "html").glob("*.html"))
TRIMMED = re.compile(r"\s+")


@cache
def real(stem: str) -> Table:
    return Table.from_html(REAL / "html" / f"{stem}.html", structure=True, marks=False)


def block(text: str) -> list[list[str]]:
    """The cells of a CSV text up to the last one that is filled, white space collapsed."""
    rows: list[list[Any]] = [
        [TRIMMED.sub(" ", cell).strip() for cell in row]
        for row in csv.reader(io.StringIO(text, newline=""))
    ]
    width = max(column for row in rows for column, cell in enumerate(row, 1) if cell)
    height = max(number for number, row in enumerate(rows, 1) if any(row))
    return [row[:width] for row in rows[:height]]


@needs_slices("realhitbench")
@pytest.mark.parametrize("stem", STEMS)
def test_csv_of_a_real_table_is_the_benchmarks_own(stem: str) -> None:
    own = (REAL / "csv" / f"{stem}.csv").read_text(encoding="utf-8")
    assert block(serialize(real(stem), "csv")) == block(own)


@needs_slices("realhitbench")
def test_markdown_of_real_tables_is_the_benchmarks_own() -> None:
    # The others differ in how numbers are shown (227.0 for 227) and in empty lines at the edge.
    equal = [
        stem
        for stem in STEMS
        if serialize(real(stem), "markdown")
        == (REAL / "markdown" / f"{stem}.md").read_text(encoding="utf-8").strip()
    ]
    assert len(equal) >= 12


@needs_slices("realhitbench")
def test_every_real_table_is_written_in_every_format() -> None:
    for stem in STEMS:
        for name in WRITTEN:
            assert serialize(real(stem), name)
