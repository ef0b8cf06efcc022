"""docs/fidelity.md: each example has its stated scores, and each difference has an example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench import postprocess, score, score_answer
from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics import Score, begin
from pytest_tablebench.metrics.steps import Ask, Execution
from pytest_tablebench.models import Reply
from pytest_tablebench.running.builtins import builtin_registry

PAGE = Path(__file__).parents[2] / "docs/fidelity.md"
CHANGES = ": what the modes change"
DATASETS = builtin_registry().datasets


def sections() -> dict[str, str]:
    """Return the text of each section about the modes, by its benchmark."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return {
        heading.removesuffix(CHANGES): body for heading, body in found if heading.endswith(CHANGES)
    }


def rows(first: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of tables whose first column has this name, each with its section."""
    for heading, body in sections().items():
        inside = False
        for line in body.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) < 3:
                inside = inside and not line  # a table with a gap goes on
            elif cells[0] in {"what", "difference", "class"}:
                inside = cells[0] == first
            elif inside and not set(cells[0]) <= {"-"}:
                yield heading, cells


LINES = list(rows("difference"))


def plain(cell: str) -> str:
    return cell.removeprefix("`").removesuffix("`")


def given(cell: str) -> Any:
    """A text; or JSON, where it begins as a text or list of that."""
    text = plain(cell)
    return json.loads(text) if text[:1] in {'"', "["} and "'" not in text else text


def outcome(name: str, reply: Any, expected: Any, mode: Any, context: dict[str, Any]) -> Score:
    references = expected if isinstance(expected, list) else [expected]
    if name in DATASETS:
        return score_answer(name, reply, references, compat=mode, **context)
    if name not in {"treb", "realhit_chart"}:
        return score(name, reply, references, compat=mode, **context)
    references = [json.dumps(expected)] if isinstance(expected, list) else references
    said, printed = context.pop("judge", ""), context.pop("prints", "")
    values = context.pop("values", None)
    conversation = begin(name, reply, references, compat=mode, **context)
    try:
        step = next(conversation)
        while True:
            asked = isinstance(step, Ask)
            ran = Execution("ok", printed, {"ran": True, "values": values})
            step = conversation.send(Reply(said) if asked else ran)
    except StopIteration as end:
        found: Score = end.value
        return found


@pytest.mark.parametrize("mode", ["reference", "fixed"])
@pytest.mark.parametrize(
    "cells", [pytest.param(one, id=f"{head}: {one[0]}") for head, one in LINES]
)
def test_a_line_of_the_page_has_its_stated_scores(cells: list[str], mode: str) -> None:
    _, reference, fixed, reply, expected, by, context = cells
    wanted = reference if mode == "reference" else fixed
    if ", " in by:  # what reads an answer out of a reply
        step = plain(by.split(", ")[mode == "fixed"])
        assert postprocess(step, given(reply)) == plain(wanted)
        return
    name, _, part = plain(by).partition(".")
    more = json.loads(plain(context)) if context else {}
    try:
        found = outcome(name, given(reply), given(expected), mode, more)
    except NotJudgedError:
        assert wanted == "none"
        return
    value = found.parts.get(part) if part else found.value
    if wanted == "none":
        assert value is None
    else:
        digits = len(wanted.partition(".")[2])
        assert value == pytest.approx(float(wanted), abs=0.5001 * 10**-digits if digits else 1e-12)


def blocks() -> dict[str, dict[str, str]]:
    """Return the text of each code example, by section and name; tests/test_docs.py runs it."""
    return {
        heading: dict(re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", body, re.DOTALL | re.MULTILINE))
        for heading, body in sections().items()
    }


def test_every_difference_has_an_example() -> None:
    shown = {head: set(found) for head, found in blocks().items()}
    for head, cells in LINES:
        shown[head].add(cells[0])
        assert cells[1] != cells[2], cells[0]
    explained: dict[str, set[str]] = {}
    for head, cells in rows("what"):
        explained.setdefault(head, set()).add(cells[0].replace("\\\\", "\\"))
    assert shown == explained


@pytest.mark.parametrize(
    "text",
    [pytest.param(text, id=name) for found in blocks().values() for name, text in found.items()],
)
def test_a_code_example_of_the_page_covers_both_modes(text: str) -> None:
    _, *code = text.split("```python\n")
    assert "assert " in "".join(code)
