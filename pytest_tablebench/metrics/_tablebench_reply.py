"""Replies to TableBench and what its programs print (spec: tablebench.md, Reply)."""

from __future__ import annotations

import re

from pytest_tablebench.metrics._markers import strip_answer_marker

_PUBLISHED = re.compile(r"Final Answer: (.+)")
_MARKER = re.compile(r"final answer\**\s*:\**", re.IGNORECASE)


def tablebench_final_answer(value: object) -> str:
    """Return the rest of the line behind the first `Final Answer: `, else no text (`reference`)."""
    match = _PUBLISHED.search(str(value))
    return match[1] if match else ""


def tablebench_printed_answer(value: object) -> str:
    """Return the same of what a program printed, else all of it, stripped (`reference`)."""
    return tablebench_final_answer(value) or str(value).strip()


def tablebench_marked_answer(value: object) -> str:
    """Return the line behind the first `Final Answer:`, without what it is wrapped in (`fixed`).

    Case, asterisks and blanks in the marker do not matter, and the answer may begin on the next
    line; else no text.
    """
    text = str(value)
    match = _MARKER.search(text)
    line = text[match.end() :].strip().partition("\n")[0] if match else ""
    # `**Final Answer: 42**` leaves the second pair of asterisks behind.
    line = line.strip()
    if line.count("**") == 1:
        line = line.removesuffix("**")
    return strip_answer_marker(line)


def tablebench_marked_or_printed(value: object) -> str:
    """Return the same of what a program printed, else all of it, stripped (`fixed`)."""
    return tablebench_marked_answer(value) or str(value).strip()
