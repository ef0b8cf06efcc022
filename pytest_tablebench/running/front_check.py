"""Find the length from which a server drops the front of a prompt, by asking its model."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import count

from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.util.tokens import count_tokens

LONGEST, SHORTEST = 32_000, 500
"""Tokens of the first prompt, and of the shortest one."""

FRONT, END = "marigold", "sandstone"
"""The words in the first and the last line."""


@dataclass(frozen=True)
class FrontCheck:
    """What the replies show.

    Arguments:
        whole: tokens of the longest prompt whose front was read; None if none was.
        lost: tokens of the shortest prompt whose front was lost; None if none was.
        read: tokens that the server counts of that prompt; None if unknown.
        last: the reply to the last prompt.
    """

    whole: int | None
    lost: int | None
    read: int | None
    last: str

    @property
    def text(self) -> str:
        """One sentence."""
        if self.lost is None:
            return f"the front of a prompt of {self.whole:,} tokens is read"
        if self.whole is None:
            return (
                f"the reply names no word of the first line, even of {self.lost:,} tokens: "
                f"{self.last[:80]!r}"
            )
        counted = "" if self.read is None else f" (of {self.lost:,} tokens {self.read:,} are read)"
        return (
            f"the front of a prompt is lost between {self.whole:,} and {self.lost:,} tokens"
            f"{counted}: give the server a longer context"
        )


def front_check(longest: int = LONGEST) -> Generator[Ask, Reply, FrontCheck]:
    """Ask a prompt of so many tokens, then halves of it until its front is read.

    Prompts have about the tokens of our tokenizer; a model's own count differs by up to a third.
    """
    length, lost, read = longest, None, None
    while True:
        prompt, tokens = prompt_of(length)
        reply = yield Ask((Message("user", prompt),))
        if FRONT in reply.text.lower():
            return FrontCheck(tokens, lost, read, reply.text)
        lost, read = tokens, reply.prompt_tokens
        length //= 2
        if length < SHORTEST:
            return FrontCheck(None, lost, read, reply.text)


def prompt_of(length: int) -> tuple[str, int]:
    """Return a prompt of about so many tokens, and their number."""
    lines, tokens = [], 0
    for number in count(1):
        line = f"Row {number}: {number * 7919 % 1000}"
        tokens += count_tokens(line.encode()) + 1
        if tokens >= length - 60:
            break
        lines.append(line)
    text = "\n".join(
        [
            f"The first word is {FRONT}.",
            *lines,
            f"The last word is {END}.",
            "What is the first word, and what is the last word? Reply with these two words only.",
        ]
    )
    return text, count_tokens(text.encode())
