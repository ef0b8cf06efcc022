"""Rounds of a generator and a critic, then independent solvers (spec: treb.md section 6.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_tablebench.generate.llm._prompts import (
    SOLVERS,
    SUBTASKS,
    ask_for_attack,
    ask_for_revision,
    ask_solver,
    yes_no,
)
from pytest_tablebench.generate.llm._proposing import About, Kept, read_question, require_unsaid
from pytest_tablebench.generate.llm.replies import (
    Attack,
    Draft,
    RefusedError,
    read_attack,
    read_drafts,
    read_solution,
    tolerance_of,
)
from pytest_tablebench.generate.question_maker import Conversation, reply_text
from pytest_tablebench.metrics.typed_answer import KINDS, typed_answer

TURNS = 3
"""Most versions of a question; the critic attacks each."""

COMPARED = {name: about for name, about in SUBTASKS.items() if about["metric"] in KINDS}
"""Subtasks with comparable answers; prose answers allow no majority."""


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

    def __call__(self, about: About, draft: Draft, course: Counter[str]) -> Conversation[Kept]:
        """Examine a question."""
        history: list[tuple[Draft, Attack]] = []
        for turn in range(1, TURNS + 1):
            if history:
                draft = yield from self._revised(about, history)
            reply = yield from reply_text(
                ask_for_attack(
                    about.shows, draft, about.language, self.critic, is_last=turn == TURNS
                )
            )
            attack = read_attack(reply)
            if not attack.points:
                kept = yield from self._solved(about, draft, turn, course)
                return kept
            for point in attack.points:
                course[f"found not {point}"] += 1
            history.append((draft, attack))
        raise RefusedError(f"not {history[-1][1].points[0]} after {TURNS} turns")

    def _revised(
        self, about: About, history: Sequence[tuple[Draft, Attack]]
    ) -> Conversation[Draft]:
        step = ask_for_revision(about.shows, about.subtask, about.language, history, self.model)
        reply = yield from reply_text(step)
        pairs = read_drafts(reply)
        if len(pairs) != 1:
            raise RefusedError("revision is not one question")
        return read_question(about, pairs[0])

    def _solved(
        self, about: About, draft: Draft, turn: int, course: Counter[str]
    ) -> Conversation[Kept]:
        """Return a question with the answer of most solvers.

        A solver without a readable reply has no vote. Raises `RefusedError` without a majority.
        """
        outcomes = yield [
            _vote(about, draft, number, model) for number, model in enumerate(self.solvers)
        ]
        votes = [vote for vote in outcomes if not isinstance(vote, Exception)]
        course["solver without a vote"] += len(outcomes) - len(votes)
        for answers in (draft.answers, *votes):
            agree = sum(_same(vote, answers, about.metric) for vote in votes)
            if 2 * agree > len(SOLVERS):
                break
        else:
            raise RefusedError("solvers do not agree")
        if not answers:
            raise RefusedError("solvers find no answer")
        is_own = answers == draft.answers
        draft = replace(draft, answers=answers, tolerance=tolerance_of(answers, about.metric))
        require_unsaid(about, draft)
        course[f"accepted in turn {turn}"] += 1
        course["answer of the solvers"] += not is_own
        return Kept(draft, {"turns": str(turn), "answer_by": "generator" if is_own else "solvers"})


def _vote(about: About, draft: Draft, number: int, model: str) -> Conversation[tuple[str, ...]]:
    """Return the items of the answer of a solver, by its number from 0."""
    step = ask_solver(
        about.table,
        draft.question,
        metric=about.metric,
        language=about.language,
        number=number,
        model=model,
        answers=draft.answers,
    )
    reply = yield from reply_text(step)
    return read_solution(reply, about.metric, yes_no(about.language), is_vote=True)


def _same(items: tuple[str, ...], expected: tuple[str, ...], metric: str) -> bool:
    """Return whether two answers are equal; an empty one means that there is no answer."""
    if not items or not expected:
        return items == expected
    # A looked up text may be a number, which has several spellings.
    kind = None if metric == "text" else metric
    tolerance = tolerance_of(expected, metric)
    # One item per line, so that a comma does not split an item.
    return typed_answer("\n".join(items), expected, kind=kind, tolerance=tolerance).value == 1.0
