"""TreeThinker: the model draws the table's header tree, and then answers with its help.

Spec: realhitbench.md section 6. The first question depends on the table alone, so all cases of one
table share its stored reply. With `align=model` a second question asks the model to align the
keywords of the task with headers of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Literal

from pytest_tablebench.config.papers import filled, placeholders_in
from pytest_tablebench.datasets import AnswerPlace
from pytest_tablebench.metrics.replies import after_thinking
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message
from pytest_tablebench.serializers.content import Content
from pytest_tablebench.serializers.structured import flattened
from pytest_tablebench.strategies.base import Conversation, Said, Task, at_least
from pytest_tablebench.tables.hierarchy.paths import plain
from pytest_tablebench.tables.hierarchy.tree import (
    TREE_PROMPT,
    AlignedPart,
    HeaderTree,
    aligned,
    aligned_with,
    read_tree,
    true_tree,
)
from pytest_tablebench.tables.table import Table

_MOST, _LONGEST = 50, 200  # keywords, and characters of a keyword or header
_KEYWORDS = re.compile(
    r"^[ \t>*#-]{0,9}(?:\d{1,2}[.)][ \t]{0,9})?[*_]{0,3}Keywords[*_]{0,3}[ \t]{0,9}:(.{0,4000})$",
    re.IGNORECASE | re.MULTILINE,
)
_PAIR = re.compile(r"^(.{1,400}?)(?:->|=>|→)(.{0,2000})$", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]{0,9}([-*•]|\d{1,2}(?=[.)]))[.)]?[ \t]{1,9}")
_WRAPPING = " \t\r*_`\"'“”‘’[]."


def read_keywords(reply: str) -> tuple[str, ...]:
    """Return the keywords of the last line that lists them, or of the list below it."""
    marks = list(_KEYWORDS.finditer(reply))
    if not marks:
        return ()
    line = marks[-1][1].strip(_WRAPPING)
    if line:
        return _names(line.split("|") if "|" in line else re.split("[,;]", line))
    below: list[str] = []
    first = None
    for text in reply[marks[-1].end() :].lstrip("\r\n").splitlines()[:_MOST]:
        item = _ITEM.match(text)
        # The next step of a numbered reply is not an item of a list with dashes.
        if not item or item[1].isdigit() != (first or item)[1].isdigit():
            break
        first = first or item
        below.append(text[item.end() :])
    return _names(below)


def read_alignment(reply: str) -> dict[str, tuple[str, ...]]:
    """Return the headers of each keyword in lines `keyword -> header | header`; `none` is none."""
    headers: dict[str, tuple[str, ...]] = {}
    for line in _PAIR.finditer(reply):
        bare = line[1][item.end() :] if (item := _ITEM.match(line[1])) else line[1]
        for word in _names([bare]):
            if len(headers) < _MOST:
                names = _names(line[2].split("|"))
                headers.setdefault(word, tuple(name for name in names if plain(name) != "none"))
    return headers


def share_of_headers(keywords: Iterable[str], tree: HeaderTree) -> float | None:
    """Return the share of keywords that are header texts of a tree; None without a keyword.

    Case and white space do not matter.
    """
    words = [plain(word) for word in keywords]
    texts = {plain(header.text) for header in tree.headers}
    return sum(word in texts for word in words) / len(words) if words else None


def _names(pieces: Iterable[str]) -> tuple[str, ...]:
    names = (" ".join(piece.strip(_WRAPPING).split()) for piece in pieces)
    short = (name for name in names if 0 < len(name) <= _LONGEST)
    return tuple({plain(name): name for name in short}.values())[:_MOST]


TREE_F1, KEYWORD_HEADERS, ALIGN_RECALL = "tree_f1", "keyword_headers", "align_recall"
THRESHOLD = 0.8
"""The likeness of a header and words of the question that is enough with `align=rule`, 0 to 1."""

TASK = "Now do the following task about the table above.\n\n"

STEPS = "Work in these steps, all in one reply.\n"
KEYWORDS = """\
{number}. Write a line that begins with Keywords: and lists the words of the task that matter, \
separated by |.
"""
HEADERS = "{number}. Headers: which headers{of} do they mean?\n"
CONTENT = """\
{number}. Content: which cells stand under these headers?
"""
CYCLES = """\
{number}. Thought, Action, Result: think about what to do next, do it yourself, and write down \
what comes of it; as many times as needed. The answer can always be derived from the table: where \
you do not find it, check your steps again.
"""
LAST = "{number}. Write as the last line"
OF_TREE = " of the tree"

FINAL = """ Final Answer: and behind it {ask}. Whatever the task says of the form of the output, \
or of leaving out explanations, is about what stands behind Final Answer: alone."""

BARE = "Answer from the tree. Write as the last line"
ALIGN = """\
Do not do the task yet. First align it with the table.
1. List the keywords of the task: the words that name something in the table.
2. Go through the headers{of}, and find for each keyword the header or the headers that it means. \
They may say the same in other words.
Write one line for each keyword, and nothing else: keyword -> header | header. Copy each header as \
it is written. A header that occurs under several others has their names before it: 2020 > Q2. A \
keyword that means no header has none: keyword -> none."""
ALIGNED = "Now do the task.\n\n"
PART = "These are the rows and columns whose headers fit the task:\n{part}\n\n"
ABOVE = "(the table above)"

_MARKER = re.compile(r"[*\[]{0,3}Final Answer[*\]]{0,3}\s{0,9}:[*]{0,2}", re.IGNORECASE)


def _switch(value: Any) -> bool:
    if value not in {"on", "off"}:
        raise ValueError("must be on or off")
    return bool(value == "on")


def _alignment(value: Any) -> float | Literal["model"]:
    """Return `model`, or the threshold of the rule."""
    if value == "model":
        return "model"
    if value == "rule":
        return THRESHOLD
    if isinstance(value, str):
        raise ValueError("must be rule, model, or a number from 0 to 1")
    threshold = float(at_least(0, float)(value))
    if threshold > 1:
        raise ValueError("must be rule, model, or a number from 0 to 1")
    return threshold


class TreeThinker:
    """Asks for the header tree of the table, and then for the answer.

    `tree=off` omits the first question, `tree_reasoning=off` the steps of the last. `align=model`
    adds a question between them about the headers that the keywords of the task mean. `align=rule`,
    or `align=THETA`, selects headers by their likeness to the question. With either, the last
    question shows the rows and columns under these headers.

    Parts: `tree_f1` compares the tree with the table's own, if the table has a structure.
    `keyword_headers` is the share of the keywords that are headers of the model's tree.
    `align_recall` is the share of the cells with the answer that were shown.
    """

    name = "treethinker"
    answer_place: AnswerPlace = "line"
    parameters: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "tree": _switch,
        "tree_reasoning": _switch,
        "align": _alignment,
    }
    measures = (TREE_F1, KEYWORD_HEADERS, ALIGN_RECALL)

    def rounds(self, params: Mapping[str, Any]) -> tuple[int, int]:
        """Return the least and the most questions, which are equal."""
        count = 1 + bool(params.get("tree", True)) + (params.get("align") == "model")
        return count, count

    def converse(self, task: Task) -> Conversation:
        """Ask for the tree, for the alignment if it is the model's, and for the answer."""
        notes = _Notes()
        messages: tuple[Message, ...] = ()
        prompt = task.prompt
        words = {} if task.form.words is None else task.form.words(task.example)
        if task.tables and task.params.get("tree", True):
            question = Message("user", _tree_question(task, words.get("tree")))
            drawn = (yield Ask((question,))).text
            notes.read_tree(_after_thoughts(drawn, task), task.tables)
            messages = (question, Message("assistant", drawn))
            prompt = _joined(TASK, task.rewritten(lambda _: ABOVE), sep="")
        part: Content = ""
        if task.tables and task.params.get("align") == "model":
            of = OF_TREE if messages else ""
            question = Message("user", _joined(prompt, "\n\n", ALIGN.format(of=of), sep=""))
            reply = (yield Ask((*messages, question))).text
            notes.read_alignment(_after_thoughts(reply, task), len(messages) // 2)
            part = _part(task, notes)
            messages = (*messages, question, Message("assistant", reply))
            prompt = ALIGNED
        elif task.tables and "align" in task.params:
            part = _part(task, notes)
        last = _joined(prompt, "\n\n" * (prompt != ALIGNED), part, _steps(task, notes), sep="")
        if "task" in words and messages and not task.params:
            last = words["task"]
        reply = (yield Ask((*messages, Message("user", last)))).text
        if notes.alignment is None and _has_steps(task, notes):
            keywords = read_keywords(_after_thoughts(reply, task))
            notes.keep(keywords, len(messages) // 2)
        marks = [*_MARKER.finditer(reply)]
        if not marks:
            notes.flags.append("no_final_answer")
        if task.form.judged == "reply":
            return notes.said(reply)
        return notes.said(
            reply[marks[-1].end() :].strip() if marks else _after_thoughts(reply, task)
        )


class _Notes:
    """Facts from the replies of a conversation, in addition to the answer."""

    def __init__(self) -> None:
        self.flags: list[str] = []
        self.parts: dict[str, float] = {}
        self.tree: HeaderTree | None = None
        self.alignment: dict[str, tuple[str, ...]] | None = None
        self._facts: dict[int, dict[str, Any]] = {}

    def read_tree(self, reply: str, tables: tuple[Table, ...]) -> None:
        self.tree = read_tree(reply)
        if not self.tree.headers:
            self.flags.append("no_tree")
        if len(tables) == 1 and tables[0].is_structured:
            self.parts[TREE_F1] = self.tree.f1(true_tree(tables[0]))

    @property
    def headers(self) -> list[str]:
        """The headers that the keywords mean, each once."""
        names = (self.alignment or {}).values()
        return list(dict.fromkeys(name for group in names for name in group))

    def read_alignment(self, reply: str, step: int) -> None:
        self.alignment = read_alignment(reply)
        self.keep(tuple(self.alignment), step)
        if self.alignment:
            self._facts[step]["headers"] = self.headers

    def keep(self, keywords: tuple[str, ...], step: int) -> None:
        """Keep the keywords in the reply to a question."""
        if not keywords:
            self.flags.append("no_keywords")
            return
        self._facts[step] = {"keywords": list(keywords)}
        if self.tree is not None:
            share = share_of_headers(keywords, self.tree)
            if share is not None:
                self.parts[KEYWORD_HEADERS] = share

    def said(self, text: str) -> Said:
        """Return the answer with the flags, parts and facts that were read."""
        lines = [] if self.tree is None else [*self.tree.lines()]
        if self.alignment:
            lines.append("keywords and the headers that they mean")
            for word, names in self.alignment.items():
                lines.append(f"{word} -> {' | '.join(names) or 'none'}")
        return Said(text, tuple(self.flags), self.parts, "\n".join(lines), facts=self._facts)


def _after_thoughts(reply: str, task: Task) -> str:
    return after_thinking(reply) if task.compat == "reference" else reply


def _tree_question(task: Task, printed: str | None) -> Content:
    """Return the question for the tree: the printed prompt if there is one, else ours."""
    tables = [task.shown(table) for table in task.tables]
    if printed is None or "table" not in placeholders_in(printed):
        return _joined(TREE_PROMPT if printed is None else filled(printed, {}), *tables)
    # The table may be a picture, so the prompt cannot be formatted as one text.
    before, _, after = printed.partition("{table}")
    whole = _joined(*tables)
    return _joined(filled(before, {}), whole, filled(after, {"table": ABOVE}), sep="")


def _has_steps(task: Task, notes: _Notes) -> bool:
    return notes.tree is None or bool(task.params.get("tree_reasoning", True))


def _steps(task: Task, notes: _Notes) -> str:
    """Return the instructions at the end of the last question."""
    final = FINAL.format(ask=task.form.ask)
    if not _has_steps(task, notes):
        return BARE + final
    of = "" if notes.tree is None else OF_TREE
    steps = [CONTENT, CYCLES, LAST]
    if notes.alignment is None:
        steps = [KEYWORDS, HEADERS, *steps]
    numbered = (step.format(number=index, of=of) for index, step in enumerate(steps, start=1))
    return STEPS + "".join(numbered) + final


def _part(task: Task, notes: _Notes) -> Content:
    """Return the part of the first table under the headers that the model or the rule selects."""
    table = task.tables[0]
    whole = flattened(table)
    whole.require_rectangular("alignment")
    labels = max(1, table.row_headers)
    part: AlignedPart | None
    if notes.alignment is None:
        part = aligned(whole, task.example.question, task.params["align"], labels=labels)
    else:
        part = aligned_with(whole, notes.headers, labels=labels)
    if part is None:
        notes.flags.append("no_alignment")
        return ""
    recall = part.recall(whole, task.example.references)
    if recall is not None:
        notes.parts[ALIGN_RECALL] = recall
    head, tail = PART.split("{part}")
    return _joined(head, task.shown(part.table), tail, sep="")


def _joined(*contents: Content, sep: str = "\n\n") -> Content:
    """Return contents joined in order; a text if all are texts."""
    parts: list[Any] = []
    for content in contents:
        if parts and sep:
            parts.append(sep)
        parts += [content] if isinstance(content, str) else content
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)
    return tuple(part for part in parts if part)
