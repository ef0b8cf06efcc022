"""A model proposes questions about a table; each is examined before it is kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_tablebench.errors import ModelError
from pytest_tablebench.generate._shared import LANGUAGES, digest_of, spoken
from pytest_tablebench.generate.llm._prompts import (
    SUBTASKS,
    ask_for_pairs,
    shown,
    shown_whole,
    yes_no,
)
from pytest_tablebench.generate.llm.replies import Draft, RefusedError, read_draft, read_drafts
from pytest_tablebench.generate.pair import Pair
from pytest_tablebench.generate.question_maker import (
    Conversation,
    Finish,
    QuestionMaker,
    Tally,
    reply_text,
)
from pytest_tablebench.generate.rules.generate import plain_question, says
from pytest_tablebench.tables.table import Table

_LONGEST = 40_000
"""Characters of the longest table that models receive."""


@dataclass(frozen=True)
class About:
    """A table and the kind of questions about it, with both as models receive them in `shows`."""

    table: Table
    subtask: str
    language: str
    shows: str

    @property
    def metric(self) -> str:
        """The kind of answer."""
        return SUBTASKS[self.subtask]["metric"]


@dataclass(frozen=True)
class Kept:
    """An accepted question, and further tags for it."""

    draft: Draft
    tags: Mapping[str, str] = field(default_factory=dict)


Examine = Callable[[About, Draft, Counter[str]], Conversation[Kept]]
"""Examines a proposed question; counts events by name.

Raises `RefusedError` for a rejected question, and `ModelError`.
"""


class ProposedQuestions(QuestionMaker):
    """Lets a model propose questions of one table after the other, and others examine them.

    Arguments:
        examine: the conversation about one proposed question.
        made: the tag for the way in which questions were made.
        model: proposes the questions.
        per_table: most questions of one table, shared by the subtasks.
        language: `en`, `zh`, `both` alternating, or `auto` for the language of the headings.
        subtasks: the requested subtasks.
    """

    def __init__(
        self,
        examine: Examine,
        *,
        made: str,
        model: str,
        subtasks: Collection[str] = SUBTASKS,
        per_table: int = 10,
        language: str = "auto",
    ) -> None:
        super().__init__()
        self._examine, self._made, self._model = examine, made, model
        self._per_table, self._language, self._subtasks = per_table, language, tuple(subtasks)

    def converse(self, table: Table) -> Conversation[Finish]:
        """Let models propose and examine questions about a table."""
        try:
            shown_whole(
                table, lambda candidate: shown(candidate, self._subtasks[0], LANGUAGES[0]), _LONGEST
            )
        except RefusedError as error:
            return self.left_out(error.reason)
        shares = list(self._shares(table))
        replies = yield [
            reply_text(
                ask_for_pairs(about.shows, about.subtask, about.language, count, self._model)
            )
            for about, count in shares
        ]
        tally, seen = Tally(), set[str]()
        drafts = [
            (about, draft)
            for (about, count), reply in zip(shares, replies, strict=True)
            for draft in _drafts(about, count, reply, seen, tally)
        ]
        outcomes = yield [self._examine(about, draft, tally.course) for about, draft in drafts]
        examined = [(*drafted, kept) for drafted, kept in zip(drafts, outcomes, strict=True)]
        digest = digest_of(table.title, table.lines)
        return lambda most: (digest, self._pairs(examined, tally, digest, most))

    def _pairs(
        self,
        examined: Sequence[tuple[About, Draft, Kept | RefusedError | ModelError]],
        tally: Tally,
        digest: str,
        most: int | None,
    ) -> Iterator[Pair]:
        self.tally.add(tally)
        seen = {plain_question(draft.question) for _, draft, _ in examined}
        left = most
        for about, draft, kept in examined:
            if not isinstance(kept, Kept):
                self.tally.reject(kept, "no judgement")
            elif _is_duplicate(kept.draft, draft, seen):
                self.tally.rejected["duplicate"] += 1
            elif left == 0:
                self.tally.rejected["more than asked for"] += 1
            else:
                left = None if left is None else left - 1
                self.tally.recipes[about.subtask] += 1
                yield self._pair(kept, about, digest)
        self.tally.tables["used"] += 1

    def _shares(self, table: Table) -> Iterator[tuple[About, int]]:
        """Yield the subtasks for a table, each with its number of questions."""
        each, rest = divmod(self._per_table, len(self._subtasks))
        for place, subtask in enumerate(self._subtasks):
            if count := each + (place < rest):
                language = spoken(self._language, place, table.header)
                yield About(table, subtask, language, shown(table, subtask, language)), count

    def _pair(self, kept: Kept, about: About, digest: str) -> Pair:
        subtask, about_subtask, draft = about.subtask, SUBTASKS[about.subtask], kept.draft
        tags = {
            "skill": about_subtask["skill"], "subtask": subtask, "language": about.language,
            "made": self._made,
        }  # fmt: skip
        return Pair(
            id=f"{digest[:10]}-{subtask}-{plain_digest(draft.question)}",
            question=draft.question,
            answers=draft.answers,
            metric=about.metric,
            tolerance=draft.tolerance,
            tags={**tags, **kept.tags},
            # The prompt excludes questions about positions.
            perturbations=("none", "shuffle_rows", "shuffle_cols"),
            threshold=about_subtask.get("threshold", ""),
        )


def _drafts(
    about: About, count: int, reply: str | ModelError, seen: set[str], tally: Tally
) -> Iterator[Draft]:
    """Yield the valid new questions of a reply and add them to `seen`; count the others."""
    try:
        if isinstance(reply, ModelError):
            raise reply
        proposed = read_drafts(reply)
    except (RefusedError, ModelError) as error:
        tally.reject(error)
        return
    if len(proposed) > count:
        tally.rejected["more than asked for"] += len(proposed) - count
    for pair in proposed[:count]:
        try:
            draft = read_question(about, pair)
            key = plain_question(draft.question)
            if key in seen:
                raise RefusedError("duplicate")
        except RefusedError as error:
            tally.reject(error)
        else:
            seen.add(key)
            yield draft


def read_question(about: About, pair: object) -> Draft:
    """Read a question with its answer, which it must not contain. Raises `RefusedError`."""
    draft = read_draft(pair, about.metric, yes_no(about.language))
    require_unsaid(about, draft)
    return draft


def _is_duplicate(draft: Draft, proposed: Draft, seen: set[str]) -> bool:
    """Return whether a revised question equals another one of its table; add it to `seen`."""
    key = plain_question(draft.question)
    is_new = key == plain_question(proposed.question) or key not in seen
    seen.add(key)
    return not is_new


def require_unsaid(about: About, draft: Draft) -> None:
    """Raise `RefusedError` if a question contains its answer, other than yes or no."""
    key = plain_question(draft.question)
    if about.metric != "yes_no" and any(says(key, answer) for answer in draft.answers):
        raise RefusedError("answer in question")


def plain_digest(question: str) -> str:
    """Return digits that identify a question among the questions of its table."""
    return hashlib.sha256(plain_question(question).encode()).hexdigest()[:6]
