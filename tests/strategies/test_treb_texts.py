"""Questions and tables as TReB writes them, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.strategies._tcot import Mode, TableText, table_text


def markdown(rows: int) -> str:
    return "\n".join(["| n |", "|---|", *(f"| {number} |" for number in range(rows))])


def html(rows: int, head: bool = True, body: bool = True) -> str:
    cells = "".join(f"<tr><td>{number}</td></tr>" for number in range(rows))
    inside = f"<tbody>{cells}</tbody>" if body else cells
    return f"<table>{'<thead><tr><th>n</th></tr></thead>' if head else ''}{inside}</table>"


def shown(mode: Mode, given: str, rows: int | None, **more: Any) -> TableText:
    facts: dict[str, Any] = {"header_rows": 1, "context": 4000, **more}
    shape = None if rows is None else (rows, facts.pop("columns", 1))
    return table_text(mode, given, shape=shape, **facts)


@pytest.mark.parametrize("compat", COMPAT_MODES)
@pytest.mark.parametrize(
    ("given", "rows", "expected"),
    [
        (f"title\n{markdown(49)}", 49, TableText(f"title\n{markdown(49)}")),
        (f"title\n{markdown(50)}", 50, TableText(markdown(50))),
        (markdown(51), 51, TableText(markdown(50), cut=True)),
        (markdown(51), None, TableText(markdown(51))),
    ],
)
def test_markdown(compat: Compat, given: str, rows: int | None, expected: TableText) -> None:
    assert shown("TCoT_md", given, rows, compat=compat) == expected


def test_rows_of_the_head_are_kept_beside_the_fifty() -> None:
    assert shown("TCoT_md", markdown(60), 60, header_rows=3).text == markdown(52)
    assert shown("TCoT_md", markdown(60), 60, header_rows=None).text == markdown(50)
    assert shown("TCoT_md", f"title\n{markdown(2)}", 2, columns=20).text == markdown(2)


@pytest.mark.parametrize(
    ("given", "before", "behind"),
    [
        (html(51), "<table>\n<thead><tr><th>n</th></tr></thead>\n<tbody>", "</tbody>\n</table>"),
        (html(51, body=False), "<table>\n<thead><tr><th>n</th></tr></thead>", "</table>"),
        (html(51, head=False, body=False), "<table>", "</table>"),
    ],
)
def test_html(given: str, before: str, behind: str) -> None:
    rows = "\n".join(f"<tr><td>{number}</td></tr>" for number in range(50))
    assert shown("TCoT_html", given, 51) == TableText(f"{before}\n{rows}\n{behind}", cut=True)
    assert shown("TCoT_html", html(5), 5) == TableText(html(5))


def test_fixed_counts_tokens_and_leaves_out_whole_rows() -> None:
    given = "\n".join(["| n |", "|---|", "| a |", "| b |", "| c |"])  # 29 characters

    def lines(text: str) -> int:
        return text.count("\n") + 1

    assert shown("TCoT_md", given, 3, context=58) == TableText(given)
    assert shown("TCoT_md", given, 3, context=16) == TableText(given)  # 8 tokens by its length
    assert shown("TCoT_md", given, 3, context=14).text == given[:23]  # 7 tokens: two rows, 6
    assert shown("TCoT_md", given, 3, context=8, count_tokens=lines).text == given[:23]
    assert shown("TCoT_md", given, 3, context=2, count_tokens=lines).text == given[:11]
    cut = shown("TCoT_md", given, 3, context=40, compat="reference")
    assert cut == TableText(f"{given[:20]}...", cut=True)
    assert shown("TCoT_md", given, 3, context=58, compat="reference") == TableText(given)


@given(
    st.sampled_from(["TCoT_md", "TCoT_html"]),
    st.lists(st.sampled_from(["|", "\n", "<table>", "<tr>", "</tr>", "<thead>", "x"])).map("".join),
    st.none() | st.integers(0, 60),
    st.integers(0, 100),
    st.sampled_from(COMPAT_MODES),
)
def test_any_table_is_written(
    mode: Mode, given: str, rows: int | None, context: int, compat: Compat
) -> None:
    found = shown(mode, given, rows, context=context, compat=compat)
    assert rows is None or found.cut or len(found.text) <= 4 * max(context // 2, 0) + 3
