"""Excel's number formats, against the text that Excel shows."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.tables._number_formats import shown_text

MOMENT = dt.datetime(2024, 3, 5, 14, 7, 9)


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.5, "0%", "50%"),
        (0.375, "0.0%", "37.5%"),
        (1234.5, '#,##0.00 "euro"', "1,234.50 euro"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (1234.5, "#,##0.00 [$kr-41D]", "1,234.50 kr"),
        (1234.5, "_-* #,##0.00\\ _€_-", "1,234.50"),
        (999999.999, "#,##0.00", "1,000,000.00"),
        (-1200, "#,##0_);(#,##0)", "(1,200)"),
        (1200, r"\$#,##0;(\$#,##0)", "$1,200"),
        (1234567, '#,##0,"k"', "1,235k"),
        (-3, "0.0", "-3.0"),
        (-3.456, "0.00;[Red]-0.00", "-3.46"),
        (0, '0;-0;"-"', "-"),
        (1, ";;;", ""),
        (5, "00000", "00005"),
        (5551234, "000-0000", "555-1234"),
        (1.0, "0.0#", "1.0"),
        (12.5, ".00", "12.50"),
        (2.5, "0", "3"),
        (0, "#", ""),
        (2500, '[>=1000]0.0,"K";0', "2.5K"),
        (12, '[>=1000]0.0,"K";0', "12"),
        (0.00001, "0.00E+00", "1.00E-05"),
        (9.999, "0.00E+00", "1.00E+01"),
        (12345, "##0.0E+0", "12.3E+3"),
        (0.25, "# ?/?", "1/4"),
        (1.5, "# ?/?", "1 1/2"),
        (0.125, "?/8", "1/8"),
        (0.00001, "General", "0.00001"),
        (0.1 + 0.2, "General", "0.3"),
        (123456789012, "General", "1.23457E+11"),
        (1 / 3, "General", "0.333333333"),
        (5, "@", "5"),
        (True, "General", "TRUE"),
        ("x", "0.0", "x"),
        ("x", '"a "@', "a x"),
        (MOMENT, "dd.mm.yyyy", "05.03.2024"),
        (MOMENT, "d mmm yy", "5 Mar 24"),
        (MOMENT, "ddd d/m/yyyy", "Tue 5/3/2024"),
        (MOMENT, "h:mm AM/PM", "2:07 PM"),
        (MOMENT, "mm:ss", "07:09"),
        (MOMENT, "yyyy-mm-dd hh:mm:ss", "2024-03-05 14:07:09"),
        (MOMENT, "[$-409]mmmm d, yyyy;@", "March 5, 2024"),
        (MOMENT, "[$-407]dd.mm.yyyy", "05.03.2024"),
        (dt.date(2024, 3, 5), "yyyy", "2024"),
        (dt.time(14, 7), "hh:mm", "14:07"),
        (dt.timedelta(hours=26, minutes=5), "[h]:mm:ss", "26:05:00"),
    ],
)
def test_a_value_is_shown_as_excel_shows_it(value: object, code: str, text: str) -> None:
    assert shown_text(value, code) == text


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (MOMENT, "mm-dd-yy"),  # the short date of the computer's settings
        (MOMENT, "[$-F800]dddd, mmmm dd, yyyy"),
        (MOMENT, "[$-407]d. mmmm yyyy"),  # März
        (7, "mmm"),
        (12, '0"'),
        (3, "[DBNum1]0"),
        (float("inf"), "0"),
        (1, "0;0;0;0;0"),
        (1, "0" * 600),
        (None, "0"),
    ],
)
def test_an_unknown_format_gives_none(value: object, code: str) -> None:
    assert shown_text(value, code) is None


@given(
    st.one_of(st.floats(), st.integers(), st.datetimes(), st.timedeltas(), st.text(max_size=5)),
    st.text(alphabet='0#?.,%E+-/@;[]<>=$"\\_*ymdhsAP General', max_size=20),
)
def test_no_format_raises_an_error(value: object, code: str) -> None:
    text = shown_text(value, code)
    assert text is None or isinstance(text, str)
