"""Replies for each of the three outcomes, and suites as users write them."""

from __future__ import annotations

ALL_THREE = (
    {"match": "How old is Ada?", "text": "36"},
    {"match": "How old is Bo?", "text": "about forty"},
    {"match": "How old is Cy?", "error": "content_filter"},
)
PLAIN = """
import pytest

@pytest.mark.tablebench("toy")
{marks}
def test_toy(case, answer{fixtures}):
    {body}
"""


def plain(body: str, *, marks: str = "", fixtures: str = "") -> str:
    return PLAIN.format(body=body, marks=marks, fixtures=fixtures)
