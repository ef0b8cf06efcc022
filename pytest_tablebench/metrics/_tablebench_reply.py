"""Answers in replies to TableBench and in the output of programs (spec: tablebench.md, Reply)."""

from __future__ import annotations

import re

from pytest_tablebench.metrics._markers import strip_answer_marker

_PUBLISHED = re.compile(r"Final Answer: (.+)")
_MARKER = re.compile(r"final answer\**\s*:\**", re.IGNORECASE)


def tablebench_final_answer(value: object) -> str:
    """Return the rest of the line after the first `Final Answer: `, or "" (`reference`)."""
    match = _PUBLISHED.search(str(value))
    return match[1] if match else ""


def tablebench_printed_answer(value: object) -> str:
    """Return a program's output after `Final Answer: `, or all of it, stripped (`reference`)."""
    return tablebench_final_answer(value) or str(value).strip()


def tablebench_marked_answer(value: object) -> str:
    """Return the line after the first `Final Answer:`, unwrapped, or "" (`fixed`).

    Case, asterisks and blanks in the marker do not matter, and the answer may begin on the next
    line.
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
    """Return a program's marked output, unwrapped, or all of it, stripped (`fixed`)."""
    return tablebench_marked_answer(value) or str(value).strip()
