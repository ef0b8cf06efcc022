"""TreeThinker: the model draws the table's header tree, and answers by it.

Spec: realhitbench.md section 6. The first question depends on the table alone, so that all that
are asked about one table share its answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pytest_tablebench.datasets import Way
from pytest_tablebench.metrics._thinking import after_thinking
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message
from pytest_tablebench.serializers._structured import flattened
from pytest_tablebench.serializers.content import Content
from pytest_tablebench.strategies._base import Conversation, Said, Task, at_least, the_reply
from pytest_tablebench.tables.hierarchy.aligned import aligned
from pytest_tablebench.tables.hierarchy.tree import HeaderTree, read_tree, true_tree
from pytest_tablebench.tables.table import Table

TREE_F1, ALIGN_RECALL = "tree_f1", "align_recall"

TREE = """\
You are an expert in reading the structure of tables. Describe the headers of the table below as a \
tree, in these steps.
1. Say how many levels the column headers and the row headers have. Merged cells, indentation and \
lines that only name what follows tell the levels. Cells such as totals and means sum up others: \
they are headers of rows or columns like the others, and no level above them.
2. Go through the table and write each header cell as a tuple T(t1, t2, t3, t4): t1 is its kind, C \
for columns or R for rows, with its level from 0 (outermost); t2 and t3 are the first and the last \
column (for C, counted from 1 at the left) or row (for R, counted from 1 below the column headers) \
that it reaches over; t4 is its text. An example: (R0, 1, 2, City). Collect all of them in a list L.
3. Check L against the table: no header is missing, no range is too long or too short.
4. Build the tree H of L, level by level, with a ROOT (level -1) for rows and one for columns. The \
parent of a tuple is the nearest tuple of the same kind at a higher level whose range holds its \
own; without one it is ROOT. A tuple below which there is none is a leaf.
Write L with one tuple a line, and then H."""

TASK = "Now do the following task about the table above.\n\n"

REASONING = """\
Work in these steps, all in one reply.
1. Keywords: which words of the task matter?
2. Headers: which headers{of} do they mean?
3. Content: which cells stand under these headers?
4. Thought, Action, Result: think about what to do next, do it yourself, and write down what comes \
of it; as many times as needed. The answer can always be derived from the table: where you do not \
find it, check your steps again.
5. Write as the last line"""
OF_TREE = " of the tree"

FINAL = """ Final Answer: and behind it {ask}. Whatever the task says of the form of the output, \
or of leaving out explanations, is about what stands behind Final Answer: alone."""

BARE = "Answer from the tree. Write as the last line"
PART = "These are the rows and columns whose headers fit the task:\n{part}\n\n"
ABOVE = "(the table above)"

_MARKER = re.compile(r"[*\[]{0,3}Final Answer[*\]]{0,3}\s{0,9}:[*]{0,2}", re.IGNORECASE)


def _switch(value: Any) -> bool:
    if value not in {"on", "off"}:
        raise ValueError("must be on or off")
    return bool(value == "on")


def _share(value: Any) -> float:
    found = float(at_least(0, float)(value))
    if found > 1:
        raise ValueError("must be a number from 0 to 1")
    return found


class TreeThinker:
    """Two questions: for the header tree of the table, and then for the answer by it.

    `tree=off` leaves out the first, `tree_reasoning=off` the steps of the second. `align=THETA`
    shows beside the second the rows and columns whose names the question speaks of. The tree is
    held against the table's own where that has a structure: part `tree_f1`. With `align` the part
    `align_recall` says which share of the cells that hold the answer was shown.
    """

    name = "treethinker"
    way: Way = "line"
    parameters: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "tree": _switch,
        "tree_reasoning": _switch,
        "align": _share,
    }
    measures = (TREE_F1, ALIGN_RECALL)

    def rounds(self, params: Mapping[str, Any]) -> tuple[int, int]:
        """Return the least and the most questions, which are as many."""
        count = 2 if params.get("tree", True) else 1
        return count, count

    def converse(self, task: Task) -> Conversation:
        """Ask for the tree, and then for the answer."""
        parts: dict[str, float] = {}
        tables = task.tables
        flags: tuple[str, ...] = ()
        lines = ""
        if tables and task.params.get("tree", True):
            asked = Message("user", _joined(TREE, *(task.shown(table) for table in tables)))
            drawn = the_reply((yield Ask((asked,)))).text
            tree = read_tree(_after_thoughts(drawn, task))
            flags, lines = () if tree.headers else ("no_tree",), "\n".join(tree.lines())
            if (f1 := _tree_f1(tree, tables)) is not None:
                parts[TREE_F1] = f1
            before: tuple[Message, ...] = (asked, Message("assistant", drawn))
            prompt = _joined(TASK, task.rewritten(lambda _: ABOVE), sep="")
        else:
            before, prompt = (), task.prompt
        part, steps = _part(task, parts), _steps(task, bool(before))
        second = _joined(prompt, "\n\n", part, steps, sep="")
        reply = the_reply((yield Ask((*before, Message("user", second))))).text
        marks = [*_MARKER.finditer(reply)]
        if not marks:
            flags += ("no_final_answer",)
        if task.form.judged == "reply":
            return Said(reply, flags, parts, lines)
        answer = reply[marks[-1].end() :].strip() if marks else _after_thoughts(reply, task)
        return Said(answer, flags, parts, lines)


def _after_thoughts(reply: str, task: Task) -> str:
    return after_thinking(reply) if task.compat == "reference" else reply


def _steps(task: Task, has_tree: bool) -> str:
    """Return how the second question is to be worked on."""
    if has_tree and not task.params.get("tree_reasoning", True):
        return BARE + FINAL.format(ask=task.form.ask)
    return REASONING.format(of=OF_TREE if has_tree else "") + FINAL.format(ask=task.form.ask)


def _part(task: Task, parts: dict[str, float]) -> Content:
    """Return the part of the first table that fits the question, where that is asked for."""
    threshold = task.params.get("align")
    if threshold is None or not task.tables:
        return ""
    table = task.tables[0]
    labels = max(1, table.row_headers)
    whole = flattened(table) if table.is_structured else table
    whole.require_rectangular("alignment")
    found = aligned(whole, task.example.question, threshold, labels=labels)
    recall = found.recall(whole, task.example.references)
    if recall is not None:
        parts[ALIGN_RECALL] = recall
    head, tail = PART.split("{part}")
    return _joined(head, task.shown(found.table), tail, sep="")


def _tree_f1(tree: HeaderTree, tables: tuple[Table, ...]) -> float | None:
    """Return how well a tree fits a table; None where nobody knows the table's own."""
    if len(tables) > 1 or not tables[0].is_structured:
        return None
    return tree.f1(true_tree(tables[0]))


def _joined(*contents: Content, sep: str = "\n\n") -> Content:
    """Return contents one behind the other; a text where all are texts."""
    parts: list[Any] = []
    for content in contents:
        if parts and sep:
            parts.append(sep)
        parts += [content] if isinstance(content, str) else content
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)
    return tuple(part for part in parts if part)
