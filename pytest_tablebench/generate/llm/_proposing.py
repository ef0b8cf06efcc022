"""What all makers share that have a model propose questions about a table."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_tablebench.generate._shared import LANGUAGES, digest_of, spoken
from pytest_tablebench.generate.llm._asking import AskingMaker, Follow, shown_whole
from pytest_tablebench.generate.llm._prompts import SUBTASKS, ask_for_pairs, shown, yes_no
from pytest_tablebench.generate.llm.replies import Draft, RefusedError, read_draft, read_drafts
from pytest_tablebench.generate.rules import Pair
from pytest_tablebench.generate.rules.generate import plain_question, says
from pytest_tablebench.tables.table import Table

_LONGEST = 40_000
"""Characters of a table, as models are shown it."""

STAND_IN = Draft("?" * 150, ("?" * 30,))
"""A question that is not there yet, where the price of what follows it is worked out."""


@dataclass(frozen=True)
class About:
    """What questions are asked of: a table, as models are shown it with the kind of question."""

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
    """A question that is good, and further tags of it."""

    draft: Draft
    tags: Mapping[str, str] = field(default_factory=dict)


class Proposer(AskingMaker):
    """Has a model propose questions of one table after the other, and others examine them.

    Arguments:
        follow: drives conversations.
        model: that proposes.
        per_table: most questions of one table, shared by the subtasks.
        language: `en`, `zh`, `both` in turns, or `auto`: that of the table's headings.
        subtasks: those that are asked; all of `available` by default.
    """

    origin = ""
    """The tag that says how questions came about."""
    available: Collection[str] = SUBTASKS
    """Subtasks that may be asked."""

    def __init__(
        self,
        follow: Follow,
        *,
        model: str,
        subtasks: Sequence[str] = (),
        per_table: int = 10,
        language: str = "auto",
    ) -> None:
        super().__init__(follow)
        self._model = model
        self._per_table, self._language, self._subtasks = (
            per_table,
            language,
            tuple(subtasks or self.available),
        )

    @abstractmethod
    def _expect(self, about: About, count: int) -> None:
        """Note in `further` what so many questions will be asked about that are not there yet."""

    @abstractmethod
    def _examined(self, about: About, draft: Draft, seen: set[str]) -> Kept | None:
        """Return a question that is good; None as long as models have not replied.

        `seen` are the table's questions so far. Raises `RefusedError` for one that is not good,
        and `ModelError`.
        """

    def make(self, table: Table, most: int | None) -> tuple[str, Iterator[Pair]] | None:
        """Return a digest of the table and its questions, None for a table that is left out."""
        try:
            shown_whole(
                table, lambda candidate: shown(candidate, self._subtasks[0], LANGUAGES[0]), _LONGEST
            )
        except RefusedError as error:
            self.skip(error.reason)
            return None
        digest = digest_of(table.title, table.lines)
        return digest, self._pairs(table, digest, most)

    def _pairs(self, table: Table, digest: str, most: int | None) -> Iterator[Pair]:
        seen, left = set[str](), most
        for place, subtask in enumerate(self._subtasks):
            share = self._share(place)
            if not share:
                continue
            language = spoken(self._language, place, table.header)
            about = About(table, subtask, language, shown(table, subtask, language))
            for kept in self._accepted(about, share, seen):
                if left == 0:
                    self.tally.rejected["more than asked for"] += 1
                    continue
                left = None if left is None else left - 1
                self.tally.recipes[subtask] += 1
                yield self._pair(kept, about, digest)
        self.tally.tables["used"] += 1

    def _accepted(self, about: About, count: int, seen: set[str]) -> Iterator[Kept]:
        """Yield the good questions of a subtask; count why others are not."""
        for draft in self._proposed(about, count, seen):
            kept = None
            with self._counted("no judgement"):
                kept = self._examined(about, draft, seen)
            if kept is not None:
                yield kept

    def _proposed(self, about: About, count: int, seen: set[str]) -> list[Draft]:
        """Return what a model proposes of one subtask, as far as it can be taken."""
        step = ask_for_pairs(about.shows, about.subtask, about.language, count, self._model)
        raw: list[object] = []
        with self._counted():
            reply = self._reply_to(step)
            if reply is None:
                self._expect(about, count)
            else:
                raw = read_drafts(reply)
        if len(raw) > count:
            self.tally.rejected["more than asked for"] += len(raw) - count
        drafts = []
        for pair in raw[:count]:
            with self._counted():
                drafts.append(self._read(about, pair, seen))
        return drafts

    def _read(self, about: About, pair: object, seen: set[str]) -> Draft:
        """Read a question, which joins those seen. Raises `RefusedError`."""
        draft = read_draft(pair, about.metric, yes_no(about.language))
        key = plain_question(draft.question)
        if key in seen:
            raise RefusedError("duplicate")
        seen.add(key)
        require_unsaid(about, draft)
        return draft

    def _share(self, place: int) -> int:
        """Return how many questions of a table a subtask is asked for."""
        each, rest = divmod(self._per_table, len(self._subtasks))
        return each + (place < rest)

    def _pair(self, kept: Kept, about: About, digest: str) -> Pair:
        subtask, about_subtask, draft = about.subtask, SUBTASKS[about.subtask], kept.draft
        tags = {
            "skill": about_subtask["skill"], "subtask": subtask, "language": about.language,
            "made": self.origin,
        }  # fmt: skip
        return Pair(
            id=f"{digest[:10]}-{subtask}-{plain_digest(draft.question)}",
            question=draft.question,
            answers=draft.answers,
            metric=about.metric,
            tolerance=draft.tolerance,
            tags={**tags, **kept.tags},
            # Models are told not to speak of places, and it is looked for.
            perturbations=("none", "shuffle_rows", "shuffle_cols"),
            threshold=about_subtask.get("threshold", ""),
        )


def require_unsaid(about: About, draft: Draft) -> None:
    """Raise `RefusedError` where a question says its answer, other than yes or no."""
    key = plain_question(draft.question)
    if about.metric != "yes_no" and any(says(key, answer) for answer in draft.answers):
        raise RefusedError("answer in question")


def plain_digest(question: str) -> str:
    """Return what names a question among those of its table."""
    return hashlib.sha256(plain_question(question).encode()).hexdigest()[:6]
