"""Damaged rows of NumericNLG, SciGen and QTSumm are named, and valid rows kept."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.generation_files import (
    N_KEYS,
    N_TEST,
    N_TEST_DESC,
    Q_TEST,
    S_TEST,
    Content,
    ids,
    n_files,
    n_table,
    n_text,
    opened,
    q_files,
    q_row,
    q_table,
    s_files,
    s_row,
)

NAN = math.nan
HTML, NAMES, VALUES = "table_html_clean", "table_column_names", "table_content_values"
FIRST, SECOND = N_KEYS


def tables(row: Any) -> dict[str, Content]:
    test = [n_table(FIRST), row, n_table(SECOND)]
    return n_files(test=test, desc=[n_text(key) for key in (*N_KEYS, *counterpart(row))])


def descriptions(row: Any) -> dict[str, Content]:
    test = [n_table(key) for key in (*counterpart(row), *N_KEYS)]
    return n_files(test=test, desc=[n_text(FIRST), row, n_text(SECOND)])


def counterpart(row: Any) -> list[str]:
    """Return the key that the other file needs so that only the row itself is bad."""
    return ["X"] if isinstance(row, dict) and row["table_id_paper"] == "X" else []


def articles(row: Any) -> dict[str, Content]:
    return s_files(test={"17": s_row("a"), "18": row, "3": s_row("b")})


def queries(row: Any) -> dict[str, Content]:
    return q_files(test=[q_row("e-2"), row, q_row("e-1")])


DATASETS = {
    tables: ("numericnlg", N_TEST, N_KEYS),
    descriptions: ("numericnlg", N_TEST_DESC, N_KEYS),
    articles: ("scigen", S_TEST, ["17", "3"]),
    queries: ("qtsumm", Q_TEST, ["e-2", "e-1"]),
}


@pytest.mark.parametrize(
    ("kind", "row", "field", "words"),
    [
        (tables, None, "row", "must be an object"),
        (tables, n_table("X", table_id_paper=None), "table_id_paper", "is missing"),
        (tables, n_table("X", caption=NAN), "caption", "is not text"),
        (tables, n_table("X", **{HTML: ""}), HTML, "is empty"),
        (tables, n_table("X", **{HTML: "<table></table>"}), HTML, "no <thead>"),
        (tables, n_table("X", **{HTML: "<thead></thead>"}), HTML, "no <tbody>"),
        (tables, n_table(FIRST), "id", f"{FIRST!r} occurs a second time"),
        (tables, n_table("Y"), "table_id_paper", f"'Y' has no description in {N_TEST_DESC}"),
        (descriptions, None, "row", "must be an object"),
        (descriptions, n_text("X", description=" \n"), "description", "is empty"),
        (descriptions, n_text("X", description=None), "description", "is missing"),
        (descriptions, n_text("X", table_id_paper=7), "table_id_paper", "is not text"),
        (descriptions, n_text(FIRST, description="other"), "table_id_paper", "second time"),
        (descriptions, n_text("Y"), "table_id_paper", f"'Y' has no table in {N_TEST}"),
        (articles, None, "row", "must be an object"),
        (articles, s_row("x", table_caption=NAN), "table_caption", "is not text"),
        (articles, s_row("x", text=""), "text", "is empty"),
        (articles, s_row("x", **{NAMES: None}), NAMES, "is missing"),
        (articles, s_row("x", **{NAMES: NAN}), NAMES, "list of texts"),
        (articles, s_row("x", **{NAMES: ["a", 1]}), NAMES, "list of texts"),
        (articles, s_row("x", **{NAMES: "['a', 1]"}), NAMES, "list of texts"),
        (articles, s_row("x", **{VALUES: {"a": 1}}), VALUES, "list of rows"),
        (articles, s_row("x", **{VALUES: ["ab"]}), VALUES, "row 1 must be a list"),
        (articles, s_row("x", **{VALUES: [["a"], [["b"]]]}), VALUES, "row 2 contains list"),
        (articles, s_row("x", **{VALUES: "[[1, 2]"}), VALUES, "not a Python list"),
        (articles, s_row("x", **{VALUES: "__import__('os')"}), VALUES, "not a Python list"),
        (articles, s_row("x", **{VALUES: "[" * 5000}), VALUES, "not a Python list"),
        (articles, s_row("x", **{VALUES: "1+" * 90_000 + "1"}), VALUES, "not a Python list"),
        (articles, s_row("x", **{VALUES: "-" * 90_000 + "1"}), VALUES, "not a Python list"),
        (articles, s_row("x", **{VALUES: "['\0']"}), VALUES, "not a Python list"),
        (articles, s_row("x", **{VALUES: "['\ud800']"}), VALUES, "not a Python list"),
        (articles, s_row("x", **{VALUES: "1" * 5000}), VALUES, "not a Python list"),
        (articles, s_row("x", **{VALUES: "[" + "1," * 150_000}), VALUES, "longer than"),
        (articles, s_row("x", **{VALUES: "{1: 2}"}), VALUES, "list of rows"),
        (articles, s_row("x", **{VALUES: "[[b'a']]"}), VALUES, "row 1 contains bytes"),
        (queries, 7, "row", "must be an object"),
        (queries, q_row("x", example_id=None), "example_id", "is missing"),
        (queries, q_row("x", query=NAN), "query", "is not text"),
        (queries, q_row("x", summary=""), "summary", "is empty"),
        (queries, q_row("x", table=None), "table", "is missing"),
        (queries, q_row("x", table=[["a"]]), "table", "must be an object"),
        (queries, q_row("x", table={}), "table.header", "list of texts"),
        (queries, q_row("x", table=q_table(rows="ab")), "table.rows", "list of rows"),
        (queries, q_row("e-2"), "id", "'e-2' occurs a second time"),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_kept(
    kind: Any, row: Any, field: str, words: str, tmp_path: Path
) -> None:
    name, file, kept = DATASETS[kind]
    source = opened(name, tmp_path, kind(row))
    assert ids(source) == kept
    [problem] = source.problems
    assert str(problem).startswith(f"{file}, row 2, field {field!r}: ")
    assert words in str(problem)
