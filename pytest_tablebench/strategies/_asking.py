"""All that is asked about one case: each version of its question, and again without the form."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import ReplyForm
from pytest_tablebench.errors import ModelError
from pytest_tablebench.metrics.steps import Ask, Execution, Step
from pytest_tablebench.models import Reply, as_read
from pytest_tablebench.models.thinking import split_thoughts
from pytest_tablebench.strategies.base import Conversation, Said, Strategy, Task

PARSED = "parse@1"
"""The part that says whether the first reply had the form that a dataset asks for."""

UNCLOSED = "unclosed_thinking"
"""The flag of a conversation in which a reply consists of thoughts that do not end."""


def texts_of(said: str) -> list[str]:
    """Return the answers in the text of a case of several questions; any other text is one."""
    try:
        found = json.loads(said) if said.startswith("[") else None
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and found and all(isinstance(one, str) for one in found):
        return found
    return [said]


def asked_about(
    strategy: Strategy, tasks: Sequence[Task], form: ReplyForm | None = None, retries: int = 0
) -> Generator[Step, Reply | Execution, Said]:
    """Have each of a case's tasks done by a strategy, one after the other.

    A reply that has not the form is asked for again, at most `retries` times: the last question
    of the conversation, with a note at its end each time. The last reply counts. Of several tasks
    the texts are one JSON list, and of each part the lowest number is kept.
    """
    found = []
    facts: dict[int, Mapping[str, Any]] = {}
    asked = 0
    for task in tasks:
        replies = _Replies(task.compat)
        said = yield from _asked_about_one(strategy, task, form, retries, replies)
        facts |= {asked + place: values for place, values in said.facts.items()}
        asked += replies.count
        found.append(said)
    if len(found) == 1:
        return found[0]
    flags = dict.fromkeys(flag for one in found for flag in one.flags)
    names = dict.fromkeys(name for one in found for name in one.parts)
    parts = {name: min(one.parts[name] for one in found if name in one.parts) for name in names}
    texts = json.dumps([one.text for one in found], ensure_ascii=False)
    raw = None
    if any(one.raw is not None for one in found):
        raw = json.dumps(
            [one.text if one.raw is None else one.raw for one in found], ensure_ascii=False
        )
    return Said(texts, tuple(flags), parts, raw=raw, facts=facts)


def _asked_about_one(
    strategy: Strategy, task: Task, form: ReplyForm | None, retries: int, replies: _Replies
) -> Generator[Step, Reply | Execution, Said]:
    said, last = yield from _followed(strategy.converse(task), replies)
    if form is not None:
        parsed, text, again = form.is_met(said.text), said.text, 0
        while again < retries and last is not None and not form.is_met(text):
            last = _noted(last, form.note(task.example))
            reply = replies.read((yield last))
            text, again = reply.text if isinstance(reply, Reply) else text, again + 1
        flags = (*said.flags, *(["asked_again"] * bool(again)))
        said = replace(said, text=text, flags=flags, parts={**said.parts, PARSED: float(parsed)})
    is_plain = getattr(strategy, "way", "reply") == "reply" or task.form.judged == "reply"
    return replies.marked(said, is_plain=is_plain)


class _Replies:
    """The replies in one conversation, as a compat mode reads them."""

    def __init__(self, compat: Compat) -> None:
        self._compat = compat
        self._raw: dict[str, str] = {}
        self.count = 0
        self._is_unclosed = False

    def read(self, found: Reply | Execution) -> Reply | Execution:
        """Return what the strategy receives. Raises `ModelError` for a reply without an answer."""
        if not isinstance(found, Reply):
            return found
        self.count += 1
        reply = as_read(found, self._compat)
        if reply.raw is not None and self._compat == "fixed":
            self._raw[reply.text] = reply.raw
            self._is_unclosed |= not split_thoughts(reply.raw).closed
        return reply

    def marked(self, said: Said, *, is_plain: bool) -> Said:
        """Return the answer with its whole text, and a flag if thoughts never ended."""
        flags = said.flags
        if self._is_unclosed and UNCLOSED not in flags:
            flags = (*flags, UNCLOSED)
        return replace(said, flags=flags, raw=self._raw.get(said.text) if is_plain else None)


def _followed(
    conversation: Conversation, replies: _Replies
) -> Generator[Step, Reply | Execution, tuple[Said, Ask | None]]:
    """Return what a conversation came to, and what it asked last."""
    last: Ask | None = None
    try:
        step = next(conversation)
        while True:
            last = step if isinstance(step, Ask) else last
            try:
                found = replies.read((yield step))
            except ModelError as error:  # of a question that was refused, or a reply cut off
                step = conversation.throw(error)
            else:
                step = conversation.send(found)
    except StopIteration as end:
        value = end.value
        return value if isinstance(value, Said) else Said(str(value)), last


def _noted(step: Ask, note: str) -> Ask:
    *before, message = step.messages
    content = message.content
    longer = content + note if isinstance(content, str) else (*content, note)
    return replace(step, messages=(*before, replace(message, content=longer)))
