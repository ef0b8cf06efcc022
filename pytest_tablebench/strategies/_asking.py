"""The questions of one case: each version of its question, repeated if the form is missing."""

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
from pytest_tablebench.util.entries import parsed_json

PARSED = "parse@1"
"""The part that is 1 if the first reply had the answer form of the dataset."""

UNCLOSED = "unclosed_thinking"
"""The flag of a conversation in which a reply consists of thoughts that do not end."""


def texts_of(reply: str) -> list[str]:
    """Return the answers in the text of several questions, or the text as the only answer."""
    try:
        texts = parsed_json(reply) if reply.startswith("[") else None
    except ValueError:
        texts = None
    if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
        return texts
    return [reply]


def asked_about(
    strategy: Strategy, tasks: Sequence[Task], form: ReplyForm | None = None, retries: int = 0
) -> Generator[Step, Reply | Execution, Said]:
    """Run a strategy on each task of a case, one after the other.

    If a reply lacks the answer form, the last question is repeated with a note at its end, at most
    `retries` times. The last reply counts. The texts of several tasks become one JSON list, and
    each part keeps its lowest number.
    """
    answers = []
    facts: dict[int, Mapping[str, Any]] = {}
    step_count = 0
    for task in tasks:
        replies = _Replies(task.compat)
        answer = yield from _asked_about_one(strategy, task, form, retries, replies)
        facts |= {step_count + step: values for step, values in answer.facts.items()}
        step_count += replies.count
        answers.append(answer)
    if len(answers) == 1:
        return answers[0]
    flags = dict.fromkeys(flag for answer in answers for flag in answer.flags)
    names = dict.fromkeys(name for answer in answers for name in answer.parts)
    parts = {
        name: min(answer.parts[name] for answer in answers if name in answer.parts)
        for name in names
    }
    texts = json.dumps([answer.text for answer in answers], ensure_ascii=False)
    raw = None
    if any(answer.raw is not None for answer in answers):
        raw = json.dumps(
            [answer.text if answer.raw is None else answer.raw for answer in answers],
            ensure_ascii=False,
        )
    return Said(texts, tuple(flags), parts, raw=raw, facts=facts)


def _asked_about_one(
    strategy: Strategy, task: Task, form: ReplyForm | None, retries: int, replies: _Replies
) -> Generator[Step, Reply | Execution, Said]:
    answer, last = yield from _followed(strategy.converse(task), replies)
    if form is not None:
        parsed, text, again = form.is_met(answer.text), answer.text, 0
        while again < retries and last is not None and not form.is_met(text):
            last = _noted(last, form.note(task.example))
            reply = replies.read((yield last))
            text, again = reply.text if isinstance(reply, Reply) else text, again + 1
        flags = (*answer.flags, *(["asked_again"] * bool(again)))
        answer = replace(
            answer, text=text, flags=flags, parts={**answer.parts, PARSED: float(parsed)}
        )
    is_plain = getattr(strategy, "answer_place", "reply") == "reply" or task.form.judged == "reply"
    return replies.marked(answer, is_plain=is_plain)


class _Replies:
    """The replies in one conversation, as a compat mode reads them."""

    def __init__(self, compat: Compat) -> None:
        self._compat = compat
        self._raw: dict[str, str] = {}
        self.count = 0
        self._is_unclosed = False

    def read(self, outcome: Reply | Execution) -> Reply | Execution:
        """Return the reply for the strategy. Raises `ModelError` for a reply without an answer."""
        if not isinstance(outcome, Reply):
            return outcome
        self.count += 1
        reply = as_read(outcome, self._compat)
        if reply.raw is not None and self._compat == "fixed":
            self._raw[reply.text] = reply.raw
            self._is_unclosed |= not split_thoughts(reply.raw).closed
        return reply

    def marked(self, answer: Said, *, is_plain: bool) -> Said:
        """Return the answer with its whole text, and a flag if thoughts never ended."""
        flags = answer.flags
        if self._is_unclosed and UNCLOSED not in flags:
            flags = (*flags, UNCLOSED)
        return replace(answer, flags=flags, raw=self._raw.get(answer.text) if is_plain else None)


def _followed(
    conversation: Conversation, replies: _Replies
) -> Generator[Step, Reply | Execution, tuple[Said, Ask | None]]:
    """Return the answer of a conversation, and its last question."""
    last: Ask | None = None
    try:
        step = next(conversation)
        while True:
            last = step if isinstance(step, Ask) else last
            try:
                outcome = replies.read((yield step))
            except ModelError as error:  # the question was refused, or the reply cut off
                step = conversation.throw(error)
            else:
                step = conversation.send(outcome)
    except StopIteration as end:
        value = end.value
        return value if isinstance(value, Said) else Said(str(value)), last


def _noted(step: Ask, note: str) -> Ask:
    *before, message = step.messages
    content = message.content
    longer = content + note if isinstance(content, str) else (*content, note)
    return replace(step, messages=(*before, replace(message, content=longer)))
