"""Two discriminators mark proposed questions; full marks are required (spec: treb.md 6.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_tablebench.generate.llm._prompts import ask_for_marks
from pytest_tablebench.generate.llm._proposing import About, Kept
from pytest_tablebench.generate.llm.replies import FULL, Draft, RefusedError, read_marks
from pytest_tablebench.generate.question_maker import Conversation, reply_text, values_of


@dataclass(frozen=True)
class MarkedQuestion:
    """Keeps a question with full marks from both discriminators.

    Arguments:
        discriminators: the two models that mark.
    """

    discriminators: Sequence[str]

    def __call__(self, about: About, draft: Draft, _: Counter[str]) -> Conversation[Kept]:
        """Examine a question."""
        replies = yield [
            reply_text(ask_for_marks(about.shows, draft, about.language, number, model))
            for number, model in enumerate(self.discriminators)
        ]
        for reply in values_of(replies):
            for name, mark in read_marks(reply).items():
                if mark < FULL:
                    raise RefusedError(f"marked down for {name}")
        return Kept(draft)
