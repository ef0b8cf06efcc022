"""Keywords and alignments: which forms of a reply are read."""

from __future__ import annotations

import time

import pytest

from pytest_tablebench.strategies._treethinker import (
    read_alignment,
    read_keywords,
    share_of_headers,
)
from pytest_tablebench.tables.hierarchy.tree import read_tree


@pytest.mark.parametrize(
    ("reply", "keywords"),
    [
        ("Keywords: wages | Q2, 2020", ("wages", "Q2, 2020")),
        ("keywords: wages, Q2; 2020", ("wages", "Q2", "2020")),
        ("## **Keywords**: 'wages', \"Q2\".", ("wages", "Q2")),
        ("1. Keywords:\n- wages\n* `Q2`\n2. Headers: x", ("wages", "Q2")),
        ("Keywords: a\nno\nKeywords: b | B", ("B",)),
        ("The keywords are wages.", ()),
        ("Keywords:", ()),
        ("Keywords: " + "x" * 300, ()),
    ],
)
def test_keywords_are_those_of_the_last_line_or_list(reply, keywords):
    assert read_keywords(reply) == keywords


def test_an_alignment_is_a_keyword_and_its_headers_a_line():
    reply = "Here:\n- **pay** -> `Wages` | Wages > Net\n2) Bo => Bo\ntotal → None\npay -> other"
    alignment = read_alignment(reply)
    assert alignment == {"pay": ("Wages", "Wages > Net"), "Bo": ("Bo",), "total": ()}


def test_the_share_of_headers_goes_by_the_text_alone():
    tree = read_tree("(C0, 1, 2, Net Wages)(R0, 1, 1, Bo)")
    assert share_of_headers(["net  wages", "BO", "Wages", "Q2"], tree) == 0.5
    assert share_of_headers([], tree) is None
    assert share_of_headers(["Bo"], read_tree("")) == 0


@pytest.mark.parametrize(
    "reply", ["Keywords: " * 20_000, "- " * 100_000, "a" * 200_000, "x -\n" * 50_000]
)
def test_long_replies_are_read_in_linear_time(reply):
    begin = time.process_time()
    read_keywords(reply)
    read_alignment(reply)
    assert time.process_time() - begin < 5
