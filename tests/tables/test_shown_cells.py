"""Cells of HTML have the text that Chromium shows."""

from __future__ import annotations

import re

import pytest

from pytest_tablebench import Table, TableError
from tests.support.shown_cells import cells, page

_PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾₀₁₂₃₄₅₆₇₈₉−", "0123456789+-()0123456789-", "^~")


def comparable(text: str) -> str:
    """Return a text without the allowed differences.

    These are our marks of raised, lowered and struck text, blank lines (Chromium puts one between
    paragraphs), line ends beside a tab (where a cell of an inner table begins with a block), and
    blanks at the start and end of a line.
    """
    lines = re.sub(r"[ \t]*\n[ \t\n]*", _between, text.translate(_PLAIN))
    return lines.strip(" \t\n")


def _between(match: re.Match[str]) -> str:
    return "\t" if "\t" in match[0] else "\n"


def test_a_cell_has_the_text_that_chromium_shows() -> None:
    differing = [
        (cell, text, shown)
        for cell, text in cells()
        if comparable(shown := _read(cell)) != comparable(text)
    ]
    assert differing == []


def _read(cell: str) -> str:
    return str(Table.from_html(page(cell)).header[0])


def test_tables_rows_and_cells_that_are_not_shown_are_left_out() -> None:
    table = Table.from_html(
        "<style>tr.old td { display: none } .folded { visibility: collapse }</style>"
        "<div hidden><table><tr><td>0</table></div><template><table><tr><td>0</table></template>"
        "<noscript><table><tr><td>0</table></noscript><table style='display:none'><tr><td>0</table>"
        "<table><thead><tr><th>n<th hidden>k<th>x<tbody><tr hidden><td>A<td hidden>0<td>4"
        "<tr><td>A<td hidden>0<td>5<tr class=old><td>B<td>6</tr><tr class=folded><td>C<td>7"
        "<tbody style='display:none'><tr><td>D<td>8</tbody><tr><td>E<td>9</table>"
    )
    assert table == Table(["n", "x"], [["A", "5"], ["E", "9"]])


def test_a_hidden_item_without_an_end_tag_hides_no_other() -> None:
    table = Table.from_html(
        "<table><tr><td><ul><li hidden>9<li>20</ul><td><p hidden>9<p>5<td><p hidden>9<div>6</div>"
        "<td><dl><dt hidden>9<dd>7</dl><td><ul><li hidden>9<ul><li>8</ul></ul>7</table>"
    )
    assert table.header == ("20", "5", "6", "7", "7")


def test_missing_tables_are_counted_with_those_that_are_not_shown() -> None:
    with pytest.raises(TableError, match="there are: none, and 1 that browsers do not show"):
        Table.from_html("<table hidden><tr><td>0</table>")


def test_raised_lowered_and_struck_text_stays_apart() -> None:
    texts = {
        "10<sup>2</sup>": "10²",
        "10<sup>\N{MINUS SIGN}6</sup>": "10⁻⁶",
        "12.5<sup>1,2</sup>": "12.5¹,²",
        "12.5<sup>a</sup>": "12.5^a",
        "12.5<sup>[3]</sup>": "12.5[3]",
        "12.5<sup>*</sup>": "12.5*",
        "1<sup>st</sup>": "1st",
        "9<span style='vertical-align:super'>1</span>": "9¹",
        "9<span style='position:relative;top:-3.5pt;vertical-align:baseline'>1</span>": "9¹",
        "9<span style='vertical-align:30%'>1</span>": "9¹",
        "<span style='vertical-align:0px'>9</span>": "9",
        "101<sub>2</sub>": "101₂",
        "2 <sup>1</sup>/<sub>2</sub>": "2 ¹/₂",
        "H<sub>2</sub>O": "H2O",
        "<s>12</s>13": "~~12~~13",
    }
    cells = "".join(f"<td>{cell}" for cell in texts)
    assert Table.from_html(f"<table><tr>{cells}</table>").header == tuple(texts.values())


@pytest.mark.parametrize("span", ["0", "3", "9"])
def test_a_rowspan_ends_with_its_row_group(span: str) -> None:
    table = Table.from_html(
        f"<table><thead><tr><th>n<th>x</thead><tr><td rowspan={span}>A<td>1<tr><td>2"
        "<tbody><tr><td>D<td>5</table>",
        structure=True,
    )
    assert table.lines == (("n", "x"), ("A", "1"), ("", "2"), ("D", "5"))
