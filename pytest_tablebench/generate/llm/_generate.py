"""From a table to questions: a model proposes, two discriminators mark, full marks are kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from pytest_tablebench.errors import ModelError, TableError
from pytest_tablebench.generate.llm._prompts import (
    DISCRIMINATORS,
    SUBTASKS,
    ask_for_marks,
    ask_for_pairs,
    shown,
    yes_no,
)
from pytest_tablebench.generate.llm._replies import (
    FULL,
    Draft,
    RefusedError,
    read_draft,
    read_drafts,
    read_marks,
)
from pytest_tablebench.generate.rules import LANGUAGES, Pair, Plan, Tallying
from pytest_tablebench.generate.rules._generate import plain_question, says
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.tables.table import Table

__all__ = ["LlmGenerator", "Tell"]

Tell = Callable[[Ask], str | None]
"""Gives a model's reply; None: it was not asked yet. Raises `ModelError` where there is none."""

_LONGEST = 40_000
"""Characters of a table, as models are shown it."""

_CHINESE = re.compile(r"[\u4e00-\u9fff]")

_STAND_IN = Draft("?" * 150, ("?" * 30,))
"""A question that is not there yet, where the price of its marks is worked out."""


class LlmGenerator(Tallying):
    """Makes questions of one table after the other, as far as models have been asked.

    It asks nobody: `tell` gives replies. What a table still has to be asked is known when `make`
    has been gone through; then it is asked, and `make` is gone through again.

    Arguments:
        tell: gives the reply to a question.
        model: that proposes. discriminators: those that mark, two of them.
        per_table: most questions of one table, shared by the subtasks.
        language: `en`, `zh`, `both` in turns, or `auto`: that of the table's headings.
        subtasks: those that are asked; all of `SUBTASKS` by default.
    """

    reads_structure = False
    together = 1

    def __init__(
        self,
        tell: Tell,
        *,
        model: str,
        discriminators: Sequence[str],
        per_table: int = 10,
        language: str = "auto",
        subtasks: Sequence[str] = tuple(SUBTASKS),
    ) -> None:
        super().__init__()
        self.further: list[tuple[Ask, int]] = []
        """Marks that may be asked for when pairs are there: a stand-in, and how many of it."""
        self._tell, self._model, self._discriminators = tell, model, tuple(discriminators)
        self._per_table, self._language, self._subtasks = per_table, language, tuple(subtasks)

    def look(self, table: Table) -> None:
        """Go through a table for what has to be asked about it."""
        made = self.make(table, None)
        for _ in made[1] if made is not None else ():
            pass

    def make(self, table: Table, most: int | None) -> tuple[str, Iterable[Pair]] | None:
        """Return a digest of the table and its questions, None for a table that is left out."""
        if not table.rows or not table.header:
            self.skip("too small")
            return None
        try:
            table.require_rectangular("a question")
            shows = shown(table, self._subtasks[0], LANGUAGES[0])
        except TableError:
            self.skip("cannot be shown")
            return None
        if len(shows) > _LONGEST:
            self.skip("too long")
            return None
        content = repr((table.title, table.lines))
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return digest, self._pairs(table, digest, most)

    def _pairs(self, table: Table, digest: str, most: int | None) -> Iterator[Pair]:
        seen, left = set[str](), most
        for place, subtask in enumerate(self._subtasks):
            share = self._share(place)
            if not share:
                continue
            language = self._spoken(table, place)
            for draft in self._accepted(table, subtask, language, share, seen):
                if left == 0:
                    self.tally.rejected["more than asked for"] += 1
                    continue
                left = None if left is None else left - 1
                self.tally.recipes[subtask] += 1
                yield _pair(draft, digest, subtask, language, len(seen))
        self.tally.tables["used"] += 1

    def _accepted(
        self, table: Table, subtask: str, language: str, count: int, seen: set[str]
    ) -> Iterator[Draft]:
        """Yield the drafts of a subtask that have full marks; count why others have not."""
        shows, metric = shown(table, subtask, language), SUBTASKS[subtask]["metric"]
        rejected = self.tally.rejected
        try:
            reply = self._tell(ask_for_pairs(shows, subtask, language, count, self._model))
            if reply is None:
                for number, model in enumerate(self._discriminators):
                    step = ask_for_marks(shows, _STAND_IN, language, number, model)
                    self.further.append((step, count))
                return
            drafts = read_drafts(reply)
        except ModelError as error:
            rejected[f"no reply: {error.reason}"] += 1
            return
        except RefusedError as error:
            rejected[error.reason] += 1
            return
        if len(drafts) > count:
            rejected["more than asked for"] += len(drafts) - count
        for raw in drafts[:count]:
            try:
                draft = read_draft(raw, metric, yes_no(language))
                key = plain_question(draft.question)
                if key in seen:
                    raise RefusedError("duplicate")
                seen.add(key)
                if metric != "yes_no" and any(says(key, answer) for answer in draft.answers):
                    raise RefusedError("answer in question")
                full = self._has_full_marks(shows, draft, language)
            except RefusedError as error:
                rejected[error.reason] += 1
            except ModelError as error:
                rejected[f"no marks: {error.reason}"] += 1
            else:
                if full:
                    yield draft

    def _has_full_marks(self, shows: str, draft: Draft, language: str) -> bool:
        """Whether all discriminators give full marks; False, too, as long as one has not replied.

        Raises `RefusedError` for lower marks, and for those that cannot be read.
        """
        replies = [
            self._tell(ask_for_marks(shows, draft, language, number, model))
            for number, model in enumerate(self._discriminators)
        ]
        told = [read_marks(reply) for reply in replies if reply is not None]
        for marks in told:
            for name, mark in marks.items():
                if mark < FULL:
                    raise RefusedError(f"marked down for {name}")
        return len(told) == DISCRIMINATORS

    def _share(self, place: int) -> int:
        """Return how many questions of a table a subtask is asked for."""
        each, rest = divmod(self._per_table, len(self._subtasks))
        return each + (place < rest)

    def _spoken(self, table: Table, place: int) -> str:
        if self._language == "both":
            return LANGUAGES[place % len(LANGUAGES)]
        if self._language == "auto":
            return "zh" if any(_CHINESE.search(str(name)) for name in table.header) else "en"
        return self._language


def _pair(draft: Draft, digest: str, subtask: str, language: str, number: int) -> Pair:
    about = SUBTASKS[subtask]
    return Pair(
        id=f"{digest[:10]}-{subtask}-{number}",
        plan=Plan(subtask, ()),
        question=draft.question,
        language=language,
        answers=draft.answers,
        metric=about["metric"],
        tolerance=draft.tolerance,
        unit="",
        tags={"skill": about["skill"], "subtask": subtask, "language": language, "made": "llm"},
        # Models are told not to speak of places, and discriminators look for it.
        perturbations=("none", "shuffle_rows", "shuffle_cols"),
        threshold=about.get("threshold", ""),
    )
