"""Two discriminators mark what a model proposes; full marks are kept (spec: treb.md 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tablebench.generate.llm._asking import Follow
from pytest_tablebench.generate.llm._prompts import DISCRIMINATORS, ask_for_marks
from pytest_tablebench.generate.llm._proposing import STAND_IN, About, Kept, Proposer
from pytest_tablebench.generate.llm.replies import FULL, Draft, RefusedError, read_marks


class LlmGenerator(Proposer):
    """Keeps the questions that all discriminators give full marks.

    Arguments:
        follow, proposing: see `Proposer`.
        discriminators: those that mark, two of them.
    """

    origin = "llm"

    def __init__(self, follow: Follow, *, discriminators: Sequence[str], **proposing: Any) -> None:
        super().__init__(follow, **proposing)
        self._discriminators = tuple(discriminators)

    def _expect(self, about: About, count: int) -> None:
        for number, model in enumerate(self._discriminators):
            step = ask_for_marks(about.shows, STAND_IN, about.language, number, model)
            self.further.append((step, count))

    def _examined(self, about: About, draft: Draft, seen: set[str]) -> Kept | None:  # noqa: ARG002
        replies = [
            self._reply_to(ask_for_marks(about.shows, draft, about.language, number, model))
            for number, model in enumerate(self._discriminators)
        ]
        all_marks = [read_marks(reply) for reply in replies if reply is not None]
        for marks in all_marks:
            for name, mark in marks.items():
                if mark < FULL:
                    raise RefusedError(f"marked down for {name}")
        return Kept(draft) if len(all_marks) == DISCRIMINATORS else None
