"""A model proposes questions about a table; others examine each before it is kept.

The examination is by two discriminators (spec: treb.md section 6.2), or by rounds of a generator
and a critic, then independent solvers (section 6.3).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pytest_tablebench.generate.llm.prompts import (
    SOLVERS,
    SUBTASKS,
    About,
    ask_for_attack,
    ask_for_marks,
    ask_for_pairs,
    ask_for_revision,
    ask_solver,
    shown,
    shown_whole,
    yes_no,
)
from pytest_tablebench.generate.llm.replies import (
    FULL,
    Attack,
    Draft,
    new_drafts,
    read_attack,
    read_draft,
    read_drafts,
    read_marks,
    read_solution,
    tolerance_of,
)
from pytest_tablebench.generate.pair import Pair, RejectedError, plain_question, says
from pytest_tablebench.generate.question_maker import (
    LANGUAGES,
    CheckedQuestions,
    Conversation,
    Tally,
    digest_of,
    reply_text,
    shares_of,
    spoken,
    values_of,
)
from pytest_tablebench.metrics.typed_answer import KINDS, typed_answer
from pytest_tablebench.tables.table import Table

_LONGEST = 40_000
"""Characters of the longest table that models receive."""

TURNS = 3
"""Most versions of a question; the critic attacks each."""

COMPARED = {name: about for name, about in SUBTASKS.items() if about["metric"] in KINDS}
"""Subtasks with comparable answers; prose answers allow no majority."""


Kept = tuple[Draft, Mapping[str, str]]
"""An accepted question, and further tags for it."""

Examine = Callable[[About, Draft, Counter[str]], Conversation[Kept]]
"""Examines a proposed question; counts events by name.

Raises `RejectedError` for a rejected question, and `ModelError`.
"""


class ProposedQuestions(CheckedQuestions):
    """Lets a model propose questions of one table after the other, and others examine them.

    Arguments:
        examine: the conversation about one proposed question.
        made: the tag for the way in which questions were made.
        model: proposes the questions.
        per_table: most questions of one table, shared by the subtasks.
        language: `en`, `zh`, `both` alternating, or `auto` for the language of the headings.
        subtasks: the requested subtasks.
    """

    missing = "no judgement"

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

    def propose(
        self, table: Table, tally: Tally
    ) -> Conversation[tuple[str, list[tuple[About, Draft]]]]:
        """Let the model propose questions of each subtask."""
        shown_whole(table, lambda whole: shown(whole, self._subtasks[0], LANGUAGES[0]), _LONGEST)
        digest, seen = digest_of(table.title, table.lines), set[str]()
        counts = shares_of(self._per_table, self._subtasks)
        abouts = []
        for index, subtask in enumerate(counts):
            language = spoken(self._language, index, table.header)
            shows = shown(table, subtask, language)
            abouts.append(About(table, digest, subtask, language, shows, seen))
        replies = yield [
            reply_text(ask_for_pairs(context, counts[context.subtask], self._model))
            for context in abouts
        ]
        return digest, [
            (context, draft)
            for context, reply in zip(abouts, replies, strict=True)
            for draft in new_drafts(
                reply, partial(_read, context), counts[context.subtask], seen, tally
            )
        ]

    def check(self, proposal: tuple[About, Draft], course: Counter[str]) -> Conversation[Kept]:
        """Examine a question."""
        return self._examine(*proposal, course)

    def keep(self, proposal: tuple[About, Draft], checked: Kept) -> Pair:
        """Return the question. Raises `RejectedError` if its revision equals another question."""
        context, proposed = proposal
        (draft, further), subtask = checked, SUBTASKS[context.subtask]
        key = plain_question(draft.question)
        if key != plain_question(proposed.question) and key in context.seen:
            raise RejectedError("duplicate")
        context.seen.add(key)
        tags = {
            "skill": subtask["skill"], "subtask": context.subtask, "language": context.language,
            "made": self._made,
        }  # fmt: skip
        return Pair(
            id=f"{context.digest[:10]}-{context.subtask}-{hashlib.sha256(key.encode()).hexdigest()[:6]}",
            question=draft.question,
            answers=draft.answers,
            metric=context.metric,
            tolerance=draft.tolerance,
            tags={**tags, **further},
            # The prompt excludes questions about positions.
            perturbations=("none", "shuffle_rows", "shuffle_cols"),
            threshold=subtask.get("threshold", ""),
        )


def _read(context: About, reply: str) -> Iterator[Draft | RejectedError]:
    for pair in read_drafts(reply):
        try:
            yield _question(context, pair)
        except RejectedError as error:
            yield error


def _question(context: About, pair: object) -> Draft:
    """Read a question with its answer, which it must not contain. Raises `RejectedError`."""
    draft = read_draft(pair, context.metric, yes_no(context.language))
    _require_unsaid(context, draft)
    return draft


def _require_unsaid(context: About, draft: Draft) -> None:
    """Raise `RejectedError` if a question contains its answer, other than yes or no."""
    key = plain_question(draft.question)
    if context.metric != "yes_no" and any(says(key, answer) for answer in draft.answers):
        raise RejectedError("answer in question")


def marked_question(
    context: About, draft: Draft, _: Counter[str], *, discriminators: Sequence[str]
) -> Conversation[Kept]:
    """Keep a question with full marks from both models that mark."""
    replies = yield [
        reply_text(ask_for_marks(context, draft, number, model))
        for number, model in enumerate(discriminators)
    ]
    for reply in values_of(replies):
        for name, mark in read_marks(reply).items():
            if mark < FULL:
                raise RejectedError(f"marked down for {name}")
    return draft, {}


@dataclass(frozen=True)
class AttackedQuestion:
    """Keeps a question that a critic accepts, with the answer of most solvers.

    Arguments:
        model: proposed the question, and revises it.
        critic: attacks whether the question is answerable and unique, and the answer correct.
        solvers: answer without seeing the proposed answer; one model for each of `SOLVERS`.
    """

    model: str
    critic: str
    solvers: Sequence[str]

    def __call__(self, context: About, draft: Draft, course: Counter[str]) -> Conversation[Kept]:
        """Examine a question."""
        history: list[tuple[Draft, Attack]] = []
        for turn in range(1, TURNS + 1):
            if history:
                draft = yield from self._revised(context, history)
            reply = yield from reply_text(
                ask_for_attack(context, draft, self.critic, is_last=turn == TURNS)
            )
            attack = read_attack(reply)
            if not attack.points:
                kept = yield from self._solved(context, draft, turn, course)
                return kept
            for point in attack.points:
                course[f"found not {point}"] += 1
            history.append((draft, attack))
        raise RejectedError(f"not {history[-1][1].points[0]} after {TURNS} turns")

    def _revised(
        self, context: About, history: Sequence[tuple[Draft, Attack]]
    ) -> Conversation[Draft]:
        reply = yield from reply_text(ask_for_revision(context, history, self.model))
        pairs = read_drafts(reply)
        if len(pairs) != 1:
            raise RejectedError("revision is not one question")
        return _question(context, pairs[0])

    def _solved(
        self, context: About, draft: Draft, turn: int, course: Counter[str]
    ) -> Conversation[Kept]:
        """Return a question with the answer of most solvers.

        A solver without a readable reply has no vote. Raises `RejectedError` without a majority.
        """
        outcomes = yield [
            _vote(context, draft, number, model) for number, model in enumerate(self.solvers)
        ]
        votes = [vote for vote in outcomes if not isinstance(vote, Exception)]
        course["solver without a vote"] += len(outcomes) - len(votes)
        for answers in (draft.answers, *votes):
            agree = sum(_same(vote, answers, context.metric) for vote in votes)
            if 2 * agree > len(SOLVERS):
                break
        else:
            raise RejectedError("solvers do not agree")
        if not answers:
            raise RejectedError("solvers find no answer")
        is_own = answers == draft.answers
        draft = replace(draft, answers=answers, tolerance=tolerance_of(answers, context.metric))
        _require_unsaid(context, draft)
        course[f"accepted in turn {turn}"] += 1
        course["answer of the solvers"] += not is_own
        return draft, {"turns": str(turn), "answer_by": "generator" if is_own else "solvers"}


def _vote(context: About, draft: Draft, number: int, model: str) -> Conversation[tuple[str, ...]]:
    """Return the items of the answer of a solver, by its number from 0."""
    step = ask_solver(
        context.table,
        draft.question,
        metric=context.metric,
        language=context.language,
        number=number,
        model=model,
        answers=draft.answers,
    )
    reply = yield from reply_text(step)
    return read_solution(reply, context.metric, yes_no(context.language), is_vote=True)


def _same(items: tuple[str, ...], expected: tuple[str, ...], metric: str) -> bool:
    """Return whether two answers are equal; an empty one means that there is no answer."""
    if not items or not expected:
        return items == expected
    # A looked up text may be a number, which has several spellings.
    kind = None if metric == "text" else metric
    tolerance = tolerance_of(expected, metric)
    # One item per line, so that a comma does not split an item.
    return typed_answer("\n".join(items), expected, kind=kind, tolerance=tolerance).value == 1.0
