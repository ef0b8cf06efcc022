"""What can be read back from each text, and that the hand-written rules are the libraries'."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import warnings

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.serializers import SERIALIZERS, serialize
from pytest_tablebench.tables.table import Table

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from(
        [2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**30]
    ),
    st.floats(),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=6))


def texts(exclude: str) -> st.SearchStrategy[str]:
    """Any text without these characters and without surrogates, odd ones more often."""
    usual = st.text(
        st.characters(exclude_characters=exclude, exclude_categories=["Cs"]), max_size=6
    )
    odd = "".join(c for c in ',"\n\r\\|<&> \té\u2028' if c not in exclude)
    return st.one_of(usual, st.text(odd, max_size=4))


@st.composite
def tables(
    draw: st.DrawFn,
    cells: st.SearchStrategy[object],
    names: st.SearchStrategy[str],
    unique: bool = False,
) -> Table:
    width = draw(st.integers(1, 4))
    header = draw(st.lists(names, min_size=width, max_size=width, unique=unique))
    row = st.lists(cells, min_size=width, max_size=width)
    return Table(header, draw(st.lists(row, min_size=1, max_size=5)))


CSV_TEXTS = texts(exclude="\r")


@given(tables(st.one_of(SCALARS.filter(lambda c: "\r" not in str(c)), CSV_TEXTS), CSV_TEXTS))
def test_csv_is_what_the_standard_writer_writes(table):
    # Without carriage returns, which the writer quotes from Python 3.13 on and not before.
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows(table.rows)
    assert serialize(table, "csv") == buffer.getvalue().strip()


@given(tables(CSV_TEXTS, CSV_TEXTS))
def test_csv_can_be_read_back(table):
    # CSV as published cannot hold: a bare carriage return, which is written without quotes and
    # so ends the line; white space at the very start and end, which is stripped (unless
    # quoted); types, as every cell comes back as text.
    # A leading byte order mark, too, is taken for one unless it stands inside quotes.
    first, last = table.header[0], table.rows[-1][-1]
    quoted = set(',"\n')
    assume(first.strip() == first or quoted & set(first))
    assume(not first.startswith("\ufeff") or quoted & set(first))
    assume(last.strip() == last or quoted & set(last))
    assert Table.from_csv(serialize(table, "csv"), dialect="rfc4180") == table


@given(tables(SCALARS, st.text(max_size=4), unique=True))
def test_json_can_be_read_back(table):
    # JSON by column name cannot hold equal names: the last one's cell would win. Numbers,
    # booleans and None keep their type, and NaN and the infinities are Python's dialect.
    rows = json.loads(serialize(table, "json"))
    assert list(rows) == [str(number) for number in range(len(table.rows))]
    assert all(tuple(row) == table.header for row in rows.values())
    assert repr([tuple(row.values()) for row in rows.values()]) == repr(list(table.rows))


def shown(text: str) -> str:
    return re.sub(r"[ \t\n\f]+", " ", html.unescape(text)).strip(" ")


HTML_TEXTS = texts(exclude="\r\x00")


@settings(deadline=None)  # the first call loads the parser
@given(tables(HTML_TEXTS.map(html.escape), HTML_TEXTS.map(html.escape)))
def test_html_can_be_read_back(table):
    # Nothing is escaped, so `<` and `&` survive only where the cell holds them escaped, as
    # here; HTML itself has no bare carriage return and no NUL. All cells come back as text, with
    # the white space of a browser.
    plain = Table(
        [shown(name) for name in table.header],
        [[shown(cell) for cell in row] for row in table.rows],
    )
    assert Table.from_html(serialize(table, "html")) == plain


MARKDOWN_TEXTS = texts(exclude="|\n")


@given(tables(MARKDOWN_TEXTS, MARKDOWN_TEXTS))
def test_markdown_can_be_read_back(table):
    # Pipes and line feeds are not escaped, so cells with them cannot be told apart; types are
    # lost. Everything else, white space included, stands between its pipes as it was.
    lines = serialize(table, "markdown").split("\n")
    split = [tuple(line.removeprefix("|").removesuffix("|").split("|")) for line in lines]
    assert split[1] == ("---",) * len(table.header)
    assert Table(split[0], split[2:]) == table


COLUMN_KINDS = [
    NUMBERS,
    st.integers(),
    st.integers() | st.none(),
    st.floats() | st.none(),
    st.booleans() | st.none(),
    NUMBERS | st.none(),
    st.just(None) | st.just(math.nan),
    st.integers(0, 2**64 - 1) | st.floats(),
    st.integers(-(2**63), 2**64 - 1) | st.none(),
    SCALARS,
    st.lists(st.integers(), max_size=2) | st.none(),
]


@st.composite
def typed_tables(draw: st.DrawFn) -> Table:
    kinds = draw(st.lists(st.sampled_from(COLUMN_KINDS), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*kinds), min_size=1, max_size=5))
    return Table([f"c{number}" for number in range(len(kinds))], rows)


@settings(deadline=None)  # data frames are slow to make on a busy machine
@given(typed_tables())
def test_df_columns_are_those_of_a_real_data_frame(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas 3 announces the end of the option
        option = pd.option_context("future.infer_string", False)  # as pandas 2 infers columns
        with option:
            frame = pd.DataFrame([list(row) for row in table.rows], columns=list(table.header))
    for position, name in enumerate(table.header):
        cells = [row[position] for row in table.rows]
        if PANDAS_3 and None in cells and any(map(_needs_more_than_63_bits, cells)):
            continue  # the one difference to pandas 2: see the next test
        text = serialize(Table([name], [[cell] for cell in cells]), "df")
        index = ", ".join(str(number) for number in range(len(cells)))
        values = json.dumps(frame[name].tolist())
        assert text == f'pd.DataFrame({{\n"{name}": {values}}},\nindex=[{index}])'
        assert f'"{name}": {values}' in serialize(table, "df")


PANDAS_3 = int(pd.__version__.partition(".")[0]) >= 3


def _needs_more_than_63_bits(cell: object) -> bool:
    return type(cell) is int and not -(2**63) <= cell < 2**63


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ([None, 2**64], "[NaN, 1.8446744073709552e+19]"),
        ([2**64, None], "[18446744073709551616, null]"),
        ([None, -1, 2**63], "[NaN, -1.0, 9.223372036854776e+18]"),
        ([-1, 2**63, None], "[-1, 9223372036854775808, null]"),
        ([-1, 2**63, 0.5], "[-1, 9223372036854775808, 0.5]"),
        ([2**63, None], "[9.223372036854776e+18, NaN]"),
        ([math.nan, 2**64], "[NaN, 18446744073709551616]"),
        ([None, -(2**63) - 1], "[NaN, -9.223372036854776e+18]"),
        ([None, 0.5, 10**30], "[NaN, 0.5, 1e+30]"),
    ],
    ids=repr,
)
def test_huge_integers_in_a_df_are_treated_as_by_pandas_2(cells, text):
    # Copied from pandas 2.3.3, which stops looking at the size of integers at the first None.
    assert f'"c": {text}}}' in serialize(Table(["c"], [[cell] for cell in cells]), "df")


def test_an_integer_no_float_can_hold_stays():
    assert str(10**400) in serialize(Table(["c"], [[None], [10**400]]), "df")


@given(
    tables(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
        st.text("ab", max_size=2),
        unique=True,
    )
)
def test_df_text_is_the_source_of_the_same_table(table):
    text = serialize(table, "df")
    columns, index = text.removeprefix("pd.DataFrame({").removesuffix(")").split("},\nindex=")
    # Python's reading of the columns is JSON's, but for the names of null, true and false.
    frame = pd.DataFrame(json.loads(f"{{{columns}}}"), index=json.loads(index))
    assert list(frame.columns) == list(table.header)
    assert list(frame.index) == list(range(len(table.rows)))


def test_equal_names_get_suffixes_and_the_later_column_wins_a_collision():
    assert '{\n"a": [1], "a_1": [2], "a_2": [3]}' in serialize(
        Table(["a", "a", "a"], [[1, 2, 3]]), "df"
    )
    assert '{\n"a": [1], "a_1": [3]}' in serialize(Table(["a", "a", "a_1"], [[1, 2, 3]]), "df")


def test_one_line_formats():
    table = Table(["a", "b"], [[1, None], ["", True]])
    assert serialize(table, "indexed_row_major") == "col : a | b row 1 : 1 | None row 2 :  | True"
    assert serialize(table, "concat") == "a b 1 None  True"


@pytest.mark.parametrize("name", ["json", "df"])
def test_a_surplus_cell_is_named(name):
    with pytest.raises(TableError, match=r"table 't': row 2, column 2: cell 'x' has no column"):
        serialize(Table(["a"], [[1], [2, "x"]], name="t"), name)


def test_a_short_row():
    table = Table(["a", "b"], [[1, 2], [3]])
    assert json.loads(serialize(table, "json"))["1"] == {"a": 3}
    assert '"b": [2.0, NaN]' in serialize(table, "df")
    assert serialize(table, "csv") == "a,b\n1,2\n3"
    assert serialize(table, "markdown").endswith("|1|2|\n|3|")


@pytest.mark.parametrize("name", sorted(set(SERIALIZERS) - {"csv"}))
def test_tables_without_columns_or_rows_are_refused_except_in_csv(name):
    with pytest.raises(TableError, match="table 't': has no columns"):
        serialize(Table([], [[]], name="t"), name)
    with pytest.raises(TableError, match="table 't': has no rows"):
        serialize(Table(["a"], [], name="t"), name)
    assert serialize(Table(["a"], []), "csv") == "a"


@pytest.mark.parametrize("name", ["markdown", "indexed_row_major"])
@pytest.mark.parametrize("cell", [2019, None, 1.5, ["x"]], ids=str)
def test_a_header_that_is_no_text_is_named(name, cell):
    with pytest.raises(TableError, match=r"table 't': header, column 2: .* needs text"):
        serialize(Table(["a", cell], [[1, 2]], name="t"), name)


@pytest.mark.parametrize("name", ["json", "df"])
@pytest.mark.parametrize("cell", [["x"], ("x",), {}], ids=str)
def test_a_header_that_can_be_no_key_is_named(name, cell):
    with pytest.raises(TableError, match=r"table 't': header, column 2: .* needs text or a number"):
        serialize(Table(["a", cell], [[1, 2]], name="t"), name)


@pytest.mark.parametrize("name", ["json", "df"])
def test_a_cell_json_cannot_hold_is_named(name):
    with pytest.raises(TableError, match=r"table 't': row 2, column 1: .* cannot write a object"):
        serialize(Table(["a"], [[1], [object()]], name="t"), name)


def test_an_unknown_serializer_is_a_settings_error_with_the_nearest_name():
    with pytest.raises(SettingsError, match="did you mean 'markdown'"):
        serialize(Table(["a"], [[1]]), "markdwon")
