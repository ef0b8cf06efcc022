"""How RealHiTBench's scripts ask again, and read a judge (realhitbench.md, sections 2 and 4)."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pytest_tablebench.metrics.replies import read_reply

_SCORE_MARKERS = ("[Score]:", "Score:")


@dataclass(frozen=True)
class Attempts:
    """How often a model is asked for the form of an answer, and what it is shown.

    Arguments:
        tries: how often it is asked at most.
        shows_reply: whether a failed reply stays in the conversation, with the note at its end;
            else the note goes to the end of what was asked last.
        keeps_last: whether the last reply counts where none has the form; else nothing does.
    """

    tries: int
    shows_reply: bool = False
    keeps_last: bool = True


ATTEMPTS: Mapping[str, Attempts] = MappingProxyType(
    {
        "text_api": Attempts(3),
        "image_api": Attempts(5),
        "text_local": Attempts(3, shows_reply=True, keeps_last=False),
    }
)
"""How the reference implementation asks, by its scripts."""


def attempts(
    messages: Sequence[str], note: str, rule: Attempts
) -> Generator[tuple[str, ...], str, str]:
    """Yield the messages of each attempt, be sent the reply, and return the answer.

    `note` reminds of the answer's form. It is added again at each attempt.
    """
    conversation, reply = tuple(messages), ""
    for attempt in range(rule.tries):
        if attempt:
            *before, last = (*conversation, reply) if rule.shows_reply else conversation
            conversation = (*before, last + note)
        reply = yield conversation
        answer = read_reply(reply).answer
        if answer is not None:
            return answer
    return reply if rule.keeps_last else ""


def score_text(reply: str) -> str:
    """Return what the reference implementation keeps of a judge's reply, a number or not.

    That is the text between the last marker and the first stroke behind it; without a marker it
    is the whole reply.
    """
    for marker in _SCORE_MARKERS:
        _, separator, text = reply.rpartition(marker)
        if separator:
            return text.partition("/")[0].strip()
    return reply
